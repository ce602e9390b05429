// The bodies of requests: each bounded, and all that are being received together.

import type { IncomingMessage } from "node:http";
import { Fault } from "../protocol/fault.ts";
import { hasAtMostValues } from "../protocol/json-size.ts";
import { type WaitScope, wait } from "../pty/wait.ts";
import { limits } from "../session/options.ts";

// A write of 1 MiB, escaped in JSON, with a margin.
const MAX_BODY_BYTES = 4 << 20;

export class Bodies {
	readonly #maxTotal: number;
	#receiving = 0;

	constructor(maxTotal: number) {
		this.#maxTotal = maxTotal;
	}

	/**
	 * Fails when it is larger than allowed, or costs too much to parse. Read from the socket: a web stream would cost as
	 * much as the call itself.
	 */
	async read(incoming: IncomingMessage): Promise<Buffer> {
		if (Number(incoming.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
		const body = await this.#receive(incoming);
		if (!hasAtMostValues(body, limits.bodyValues))
			throw new Fault("too_large", { what: "The body", limit: limits.bodyValues, unit: "JSON values" });
		return body;
	}

	#receive(incoming: IncomingMessage): Promise<Buffer> {
		const start = ({ settle, fail, own }: WaitScope<Buffer>) => {
			const chunks: Buffer[] = [];
			let size = 0;
			let counted = 0;
			own(() => {
				this.#receiving -= counted;
			});
			incoming.on("data", (chunk: Buffer) => {
				size += chunk.length;
				if (size > MAX_BODY_BYTES) return;
				if (this.#receiving + chunk.length > this.#maxTotal) {
					size = Infinity; // the rest is read and dropped
					chunks.length = 0;
					return fail(new Fault("too_many_requests", { what: "request bodies" }));
				}
				this.#receiving += chunk.length;
				counted += chunk.length;
				chunks.push(chunk);
			});
			incoming.on("end", () => {
				if (size > MAX_BODY_BYTES) fail(tooLarge());
				else settle(Buffer.concat(chunks));
			});
			incoming.on("close", () => fail(new Fault("bad_input", { problems: ["the request was cut off"] })));
		};
		return wait([{ start }]);
	}
}

const tooLarge = () => new Fault("too_large", { what: "The body", limit: MAX_BODY_BYTES });
