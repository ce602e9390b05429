// The records of one host, as the text that came, which is a third of the size of objects. A host is trusted with them, and
// not with the memory of those that list them: what no honest one writes is left out.

import { options } from "../session/options.ts";
import { MOST_VALUE_BYTES } from "./buckets.ts";

/** A host lists no more. */
const MOST_RECORDS = options.maxSessions.max + options.rememberEnded.max;
/** Of all of them: a record has about 400. */
const MOST_CHARS = 32 << 20;

export class HostRecords {
	/** By owner and id. */
	readonly #texts = new Map<string, string>();
	#chars = 0;

	get size(): number {
		return this.#texts.size;
	}

	keys(): IterableIterator<string> {
		return this.#texts.keys();
	}

	get(key: string): string | undefined {
		return this.#texts.get(key);
	}

	set(key: string, value: Uint8Array): void {
		this.delete(key);
		if (value.length > MOST_VALUE_BYTES || this.size >= MOST_RECORDS || this.#chars > MOST_CHARS) return;
		// A string of its own: the bytes are a part of all that arrived with them.
		const text = Buffer.from(value).toString();
		this.#texts.set(key, text);
		this.#chars += text.length;
	}

	delete(key: string): void {
		this.#chars -= this.#texts.get(key)?.length ?? 0;
		this.#texts.delete(key);
	}

	clear(): void {
		this.#texts.clear();
		this.#chars = 0;
	}
}
