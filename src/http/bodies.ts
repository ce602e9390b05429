// The bodies of requests: each bounded, and all that are being received together.

import type { IncomingMessage } from "node:http";
import { Fault } from "../protocol/fault.ts";

// A write of 1 MiB, escaped in JSON, with a margin.
export const MAX_BODY_BYTES = 4 << 20;

export class Bodies {
	readonly #maxTotal: number;
	#receiving = 0;

	constructor(maxTotal: number) {
		this.#maxTotal = maxTotal;
	}

	/** Null when it is larger than allowed. Read from the socket: a web stream would cost as much as the call itself. */
	read(incoming: IncomingMessage): Promise<Buffer | null> {
		if (Number(incoming.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return Promise.resolve(null);
		return new Promise((resolve, reject) => {
			const chunks: Buffer[] = [];
			let size = 0;
			let counted = 0;
			const release = () => {
				this.#receiving -= counted;
				counted = 0;
			};
			incoming.on("data", (chunk: Buffer) => {
				size += chunk.length;
				if (size > MAX_BODY_BYTES) return;
				if (this.#receiving + chunk.length > this.#maxTotal) {
					size = Infinity; // the rest is read and dropped
					chunks.length = 0;
					release();
					return reject(new Fault("too_many_requests", { what: "request bodies" }));
				}
				this.#receiving += chunk.length;
				counted += chunk.length;
				chunks.push(chunk);
			});
			incoming.once("end", () => {
				release();
				resolve(size > MAX_BODY_BYTES ? null : Buffer.concat(chunks));
			});
			incoming.once("close", () => {
				release();
				reject(new Fault("bad_input", { problems: ["the request was cut off"] }));
			});
		});
	}
}
