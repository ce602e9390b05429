// The last event of other hosts that was told here, kept for the next daemon: it goes on from there. What was told in the
// moment before a kill may be told again.

import { rm } from "node:fs/promises";
import { z } from "zod";
import { checked, MAX_BYTES, parseObject, readCache, replaceState } from "../journal/state-file.ts";
import type { Seen } from "./stream-watch.ts";

const SAVE_MS = 250;
const kept = z.object({ seq: z.int().min(1), nanos: z.string().regex(/^\d{1,20}$/) });

export class HeardTo implements AsyncDisposable {
	readonly #path: string;
	#last: Seen | null = null;
	#timer: NodeJS.Timeout | null = null;
	#saving: Promise<void> = Promise.resolve();

	constructor(path: string) {
		this.#path = path;
	}

	/** Null: nothing was told. */
	get last(): Seen | null {
		return this.#last;
	}

	/** What the daemon before has kept. */
	async load(): Promise<void> {
		const parse = (text: string) => checked(kept, parseObject(text));
		const found = await readCache({ path: this.#path, maxBytes: MAX_BYTES.asked, parse });
		if (found !== null) this.#last ??= [found.seq, BigInt(found.nanos)];
	}

	note(seen: Seen): void {
		this.#last = seen;
		this.#timer ??= setTimeout(() => this.#save(), SAVE_MS).unref();
	}

	/** For another fleet. */
	async forget(): Promise<void> {
		this.#last = null;
		this.#save();
		await this.#saving;
	}

	#save(): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		const last = this.#last;
		const write = () =>
			last === null
				? rm(this.#path, { force: true })
				: replaceState(this.#path, JSON.stringify({ seq: last[0], nanos: String(last[1]) }));
		this.#saving = this.#saving.then(write).catch(() => {}); // a full disk: the next daemon tells more again
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#timer !== null) this.#save();
		await this.#saving;
	}
}
