// What the clients of one way in share, and how much of it each may have. The socket and the links of a fleet have one
// each: however many links there are, and whatever they ask, they close, refuse and delay no client of this machine.

import type { Duplex } from "node:stream";
import type { Connections } from "../pty/connections.ts";
import { limits } from "../session/options.ts";
import { HalfMessages } from "./half-messages.ts";
import type { SharedQueue } from "./request-queue.ts";
import { Turns } from "./turns.ts";

export interface ClientPoolParts {
	/** Null: whoever brings them bounds how many there are. */
	readonly connections: Connections | null;
	readonly callsPerConnection: number;
}

export class ClientPool {
	readonly #parts: ClientPoolParts;
	readonly clients = new Set<Duplex>();
	readonly halves = new HalfMessages();
	readonly queue: SharedQueue = { turns: new Turns(), quick: 0 };
	/** Calls and streams that are open, of all its clients. */
	open = 0;

	constructor(parts: ClientPoolParts) {
		this.#parts = parts;
	}

	accept(connection: Duplex): void {
		this.#parts.connections?.accept(connection);
		this.clients.add(connection);
		connection.on("close", () => this.clients.delete(connection));
	}

	/** An admitted request begins; the result says that it is over. */
	begin(connection: Duplex): () => void {
		return this.#parts.connections?.begin(connection) ?? (() => {});
	}

	/** How many calls and streams one client may have open: less where all together have too many. */
	get mostOpen(): number {
		const { callsPerConnection } = this.#parts;
		const total = limits.openClients * callsPerConnection;
		if (this.open < total) return callsPerConnection;
		return Math.min(callsPerConnection, Math.max(limits.openLeast, Math.floor(total / this.clients.size)));
	}
}
