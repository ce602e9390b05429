// What each caller has seen of a session, kept in `seen.json`, so that after a
// daemon restart or crash nothing already read is reported as new.

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Position } from "../terminal/screen-diff.ts";

const FILE = "seen.json";
const VERSION = 1;
// Agents come and go under new names; an evicted one sees everything as new, which is safe.
const MAX_OWNERS = 64;
/** The first change is written at once, because an agent reads once a turn; bursts are written this often. */
const WRITE_EVERY_MS = 250;

export class SeenPositions implements AsyncDisposable {
	readonly #path: string | null;
	readonly #positions: Map<string, Position>;
	#timer: NodeJS.Timeout | null = null;
	#changed = false;
	#writing: Promise<void> = Promise.resolve();

	/** Without a directory, in memory only. */
	constructor(directory: string | null = null, positions: readonly (readonly [string, Position])[] = []) {
		this.#path = directory && join(directory, FILE);
		this.#positions = new Map(positions);
	}

	static async load(directory: string): Promise<SeenPositions> {
		try {
			const { version, seen } = JSON.parse(await readFile(join(directory, FILE), "utf8"));
			return new SeenPositions(directory, version === VERSION ? seen : []);
		} catch {
			return new SeenPositions(directory); // no reads yet
		}
	}

	get(owner: string): Position | null {
		return this.#positions.get(owner) ?? null;
	}

	set(owner: string, position: Position): void {
		this.#positions.delete(owner); // newest last: the first one is evicted
		this.#positions.set(owner, position);
		const [oldest] = this.#positions.keys();
		if (this.#positions.size > MAX_OWNERS && oldest !== undefined) this.#positions.delete(oldest);
		this.#changed = true;
		if (this.#path === null || this.#timer !== null) return;
		void this.#write(this.#path);
		this.#timer = setTimeout(() => {
			this.#timer = null;
			if (this.#path !== null) void this.#write(this.#path);
		}, WRITE_EVERY_MS);
		this.#timer.unref();
	}

	/** Writes pending changes. */
	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		if (this.#path !== null) await this.#write(this.#path);
	}

	#write(path: string): Promise<void> {
		this.#writing = this.#writing.then(async () => {
			if (!this.#changed) return;
			this.#changed = false;
			try {
				const text = JSON.stringify({ version: VERSION, seen: [...this.#positions] });
				await writeFile(`${path}.tmp`, text, { mode: 0o600 });
				await rename(`${path}.tmp`, path);
			} catch {
				// A full disk: after a restart these callers see some output again, never less.
			}
		});
		return this.#writing;
	}
}
