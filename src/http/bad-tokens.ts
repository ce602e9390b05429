// How many requests may show a token that is not valid. Beyond that they are refused with 429 instead of
// 401, after the same work: neither the answer nor its time tells anything about a token. Valid ones are served all
// the while, so nobody is locked out by the guesses of others.

import type { Socket } from "node:net";
import { Fault } from "../protocol/fault.ts";

const WINDOW_MS = 10_000;
/** Peers that are remembered; when there are more, the oldest are forgotten. */
const MAX_PEERS = 1000;
/** On one connection; then it is closed. */
const PER_CONNECTION = 10;

export class BadTokens {
	readonly #limit: number;
	readonly #peers = new Map<string, { readonly since: number; count: number }>();
	readonly #connections = new WeakMap<Socket, number>();

	constructor(limit: number) {
		this.#limit = limit;
	}

	/** Counts one. The fault to answer with, where there were too many; `close`: this connection has tried enough. */
	count(socket: Socket): { readonly fault: Fault<"too_many_bad_tokens"> | null; readonly close: boolean } {
		const onThis = (this.#connections.get(socket) ?? 0) + 1;
		this.#connections.set(socket, onThis);
		const close = onThis >= PER_CONNECTION;
		const peer = peerOf(socket);
		const now = performance.now();
		const known = this.#peers.get(peer);
		if (known === undefined || now - known.since >= WINDOW_MS) {
			this.#peers.delete(peer);
			this.#peers.set(peer, { since: now, count: 1 });
			for (const oldest of this.#peers.keys()) {
				if (this.#peers.size <= MAX_PEERS) break;
				this.#peers.delete(oldest);
			}
			return { fault: null, close };
		}
		known.count++;
		if (known.count <= this.#limit) return { fault: null, close };
		return { fault: new Fault("too_many_bad_tokens", { seconds: WINDOW_MS / 1000 }), close };
	}
}

/** Every process of this machine is the same peer: which user's it is, TCP does not tell. */
function peerOf({ remoteAddress = "" }: Socket): string {
	const address = remoteAddress.replace(/^::ffff:/, "");
	return address === "::1" || address.startsWith("127.") ? "loopback" : address;
}
