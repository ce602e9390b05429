// What the kernel does not show is learnt: how a program rests that was told as working, or as waiting only after a long
// silence, although it takes input. Kept in `learnt.json` of the state directory, for this user alone; deleting the file
// forgets it. It shortens what is `likely`, and never makes anything certain.

import { stat } from "node:fs/promises";
import { z } from "zod";
import {
	checked,
	FORMAT,
	MAX_BYTES,
	parseJson,
	readCache,
	replaceState,
	type StateFile,
} from "../journal/state-file.ts";
import type { Program } from "../pty/program.ts";

export const LEARNT_FILE = "learnt.json";

/**
 * - `peeks`: no process reads the terminal; the program looks at the keyboard between two sleeps
 * - `loop`: it polls the terminal with a short timeout
 */
const RESTS = ["peeks", "loop"] as const;
export type Rest = (typeof RESTS)[number];

/** It took input at rest and answered, this many times in a row. */
const RIGHT_NEEDED = 3;
/** Known no more after as many mistakes, until the file is deleted or the program changes. */
const MOST_WRONG = 3;
const MAX_ENTRIES = 200;
const SAVE_MS = 1000;

const text = z.string().max(4096);
const count = z.int().min(0);
const entry = z.object({
	path: text,
	version: text,
	arguments: text,
	rest: z.enum(RESTS),
	right: count,
	wrong: count,
});
const schema = z.object({ programs: z.array(entry) });
type Entry = Readonly<z.output<typeof entry>>;

const keyOf = (program: Program, rest: Rest) =>
	JSON.stringify([program.path, program.version, program.arguments, rest]);

const fileAt = (path: string): StateFile<readonly Entry[]> => ({
	path,
	maxBytes: MAX_BYTES.learnt,
	parse: (content) => checked(schema, parseJson(content)).programs,
});

/** What is in the file; null where there is none. */
export const readLearnt = (path: string): Promise<readonly Entry[] | null> => readCache(fileAt(path));

export class Learnt implements AsyncDisposable {
	readonly #path: string;
	/** The one that was used last is last. */
	readonly #entries = new Map<string, Entry>();
	/** The file was there when we last read or wrote it. */
	#exists: boolean;
	#timer: NodeJS.Timeout | null = null;
	#saving: Promise<void> = Promise.resolve();

	private constructor(path: string, entries: readonly Entry[] | null) {
		this.#path = path;
		this.#exists = entries !== null;
		for (const one of entries ?? []) this.#put(one, one.rest, one);
	}

	static async load(path: string): Promise<Learnt> {
		return new Learnt(path, await readLearnt(path));
	}

	knows(program: Program, rest: Rest): boolean {
		const { right = 0, wrong = 0 } = this.#entries.get(keyOf(program, rest)) ?? {};
		return right >= RIGHT_NEEDED && wrong < MOST_WRONG;
	}

	/** It rested like this, took input and answered. */
	right(program: Program, rest: Rest): void {
		const { right = 0, wrong = 0 } = this.#entries.get(keyOf(program, rest)) ?? {};
		this.#put(program, rest, { right: Math.min(right + 1, RIGHT_NEEDED), wrong });
		this.#saveSoon();
	}

	/** It looked like that and was at work: learnt anew from the beginning. */
	wrong(program: Program, rest: Rest): void {
		const { wrong = 0 } = this.#entries.get(keyOf(program, rest)) ?? {};
		this.#put(program, rest, { right: 0, wrong: Math.min(wrong + 1, MOST_WRONG) });
		this.#saveSoon();
	}

	/** Forgets everything if the file was deleted meanwhile. */
	async forgetDeleted(): Promise<void> {
		if (!this.#exists) return;
		const gone = await stat(this.#path).then(
			() => false,
			({ code }: NodeJS.ErrnoException) => code === "ENOENT",
		);
		if (!gone || !this.#exists) return;
		this.#exists = false;
		this.#entries.clear();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#timer !== null) this.#saveNow();
		await this.#saving;
	}

	#put(
		{ path, version, arguments: words }: Program,
		rest: Rest,
		{ right, wrong }: Pick<Entry, "right" | "wrong">,
	): void {
		const key = keyOf({ path, version, arguments: words }, rest);
		this.#entries.delete(key);
		this.#entries.set(key, { path, version, arguments: words, rest, right, wrong });
		const [oldest] = this.#entries.keys();
		if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
	}

	#saveSoon(): void {
		this.#timer ??= setTimeout(() => this.#saveNow(), SAVE_MS).unref();
	}

	#saveNow(): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		this.#saving = this.#saving.then(() => this.#save()).catch(() => {}); // a full disk: learnt until the daemon ends
	}

	async #save(): Promise<void> {
		await this.forgetDeleted();
		const content = JSON.stringify({ format: FORMAT, programs: [...this.#entries.values()] }, null, "\t");
		await replaceState(this.#path, `${content}\n`);
		this.#exists = true;
	}
}
