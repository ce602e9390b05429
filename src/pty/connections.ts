// The connections of a server: how many there may be, and which one is closed when
// there are too many. One that has made an admitted request outranks one that has not,
// and one at work outranks an idle one, so that an honest client always gets in.

import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";

export interface ConnectionLimits {
	readonly connections: number;
	/** Of these, how many that have made no admitted request yet. */
	readonly strangers: number;
}

export class Connections {
	readonly #max: number;
	readonly #maxStrangers: number;
	/** Every connection, with the number of its requests and streams in progress. */
	readonly #open = new Map<Duplex, number>();
	/** Those that have made no admitted request, the oldest first. */
	readonly #strangers = new Set<Duplex>();
	/** Those that have, and are without work, the longest idle first. */
	readonly #idle = new Set<Duplex>();

	constructor({ connections, strangers }: ConnectionLimits) {
		// Two servers leave half for sessions, logs and state files.
		this.#max = Math.min(connections, Math.floor(descriptorLimit() / 4));
		this.#maxStrangers = Math.min(strangers, Math.ceil(this.#max / 2));
	}

	/** A new connection, silent so far. */
	accept(socket: Duplex): void {
		// From its first moment to its last: node removes its own listener on an upgrade, and a reset would be thrown.
		socket.on("error", () => {}); // a peer that is gone; "close" follows
		socket.once("close", () => this.#forget(socket));
		this.#open.set(socket, 0);
		this.#strangers.add(socket);
		if (this.#strangers.size > this.#maxStrangers) this.#close(first(this.#strangers));
		if (this.#open.size > this.#max) this.#close(first(this.#strangers, socket) ?? first(this.#idle) ?? socket);
	}

	/** It has made no admitted request. */
	isStranger(socket: Duplex): boolean {
		return this.#strangers.has(socket);
	}

	/** An admitted request begins; the result says that it is over. */
	begin(socket: Duplex): () => void {
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

	closeAll(): void {
		for (const socket of [...this.#open.keys()]) this.#close(socket);
	}

	#close(socket: Duplex | undefined): void {
		if (socket === undefined) return;
		this.#forget(socket);
		socket.destroy();
	}

	#forget(socket: Duplex): void {
		this.#open.delete(socket);
		this.#strangers.delete(socket);
		this.#idle.delete(socket);
	}
}

function first(sockets: ReadonlySet<Duplex>, except?: Duplex): Duplex | undefined {
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
