// The TCP connections of the server: how many there may be, and which one is closed
// when there are too many. One that has shown a token outranks one that has not, and
// one at work outranks an idle one, so that a client with a token always gets in.

import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionLimits {
	readonly httpConnections: number;
	readonly httpStrangers: number;
}

export class Connections {
	readonly #max: number;
	readonly #maxStrangers: number;
	/** Every connection, with the number of its requests and streams in progress. */
	readonly #open = new Map<Socket, number>();
	/** Those that have shown no token, the oldest first. */
	readonly #strangers = new Set<Socket>();
	/** Their responses, in the order of the requests. */
	readonly #responses = new WeakMap<Socket, Set<ServerResponse>>();
	/** Those that have, and are without work, the longest idle first. */
	readonly #idle = new Set<Socket>();

	constructor({ httpConnections, httpStrangers }: ConnectionLimits) {
		// The other half is for sessions, logs and the daemon's own socket.
		this.#max = Math.min(httpConnections, Math.floor(descriptorLimit() / 2));
		this.#maxStrangers = Math.min(httpStrangers, Math.ceil(this.#max / 2));
	}

	/** A new connection, silent so far. */
	accept(socket: Socket): void {
		// From its first moment to its last: node removes its own listener on an upgrade, and a reset would be thrown.
		socket.on("error", () => {}); // a peer that is gone; "close" follows
		socket.once("close", () => this.#forget(socket));
		this.#open.set(socket, 0);
		this.#strangers.add(socket);
		if (this.#strangers.size > this.#maxStrangers) this.#close(first(this.#strangers));
		if (this.#open.size > this.#max) this.#close(first(this.#strangers, socket) ?? first(this.#idle) ?? socket);
	}

	/** A request with a valid token begins; the result says that it is over. */
	begin(socket: Socket): () => void {
		const requests = this.#open.get(socket);
		if (requests === undefined) return () => {}; // closed meanwhile
		this.#open.set(socket, requests + 1);
		this.#strangers.delete(socket);
		this.#idle.delete(socket);
		return () => {
			const left = this.#open.get(socket);
			if (left === undefined) return;
			this.#open.set(socket, left - 1);
			if (left === 1) this.#idle.add(socket);
		};
	}

	/**
	 * A response closes with its connection: node says so only to the first of several pipelined requests, and the others
	 * would go on for a client that is gone.
	 */
	queue(socket: Socket, response: ServerResponse): void {
		const waiting = this.#responses.get(socket) ?? new Set();
		if (!this.#responses.has(socket)) {
			this.#responses.set(socket, waiting);
			socket.once("close", () => {
				for (const one of [...waiting]) one.destroy().emit("close");
			});
		}
		waiting.add(response);
		response.once("close", () => waiting.delete(response));
	}

	closeAll(): void {
		for (const socket of [...this.#open.keys()]) this.#close(socket);
	}

	#close(socket: Socket | undefined): void {
		if (socket === undefined) return;
		this.#forget(socket);
		socket.destroy();
	}

	#forget(socket: Socket): void {
		this.#open.delete(socket);
		this.#strangers.delete(socket);
		this.#idle.delete(socket);
	}
}

function first(sockets: ReadonlySet<Socket>, except?: Socket): Socket | undefined {
	for (const socket of sockets) if (socket !== except) return socket;
	return undefined;
}

/** How many descriptors this process may have; the usual default where the kernel does not tell. */
function descriptorLimit(): number {
	try {
		return Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]) || Infinity;
	} catch {
		return 1024; // no /proc
	}
}
