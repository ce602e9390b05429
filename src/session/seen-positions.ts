// What each caller has seen of a session, kept in `seen.json`, so that after a
// daemon restart or crash nothing already read is reported as new.

import { closeSync, fstatSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { checked, FORMAT, MAX_BYTES, parseJson, readCache } from "../journal/state-file.ts";
import type { Position } from "../terminal/screen-diff.ts";
import { limits } from "./options.ts";

const FILE = "seen.json";
/** Overwriting a page is never seen half done, also by a kill; a new file costs a millisecond on a busy disk. */
const PAGE = 4096;

const count = z.int().min(0);
const hashes = z.array(z.number());
const position = z.object({
	version: z.literal(1),
	offset: count,
	end: count,
	first: count,
	hashes,
	clears: count,
	prompt: z.object({ line: count, text: z.string() }).nullable().default(null),
	screen: z.object({ id: count, cols: count, hashes }).nullable(),
});
const schema = z.object({
	seen: z.array(z.tuple([z.string(), position])),
	raw: z.array(z.tuple([z.string(), count])).default([]),
});

export class SeenPositions implements Disposable {
	readonly #path: string | null;
	readonly #positions: Map<string, Position>;
	/** The offsets up to which callers have read the output as it came. */
	readonly #raw: Map<string, number>;
	/** The ends of the output when callers were last answered; after a restart, what they have seen. */
	readonly #answered = new Map<string, number>();
	#due: NodeJS.Immediate | null = null;
	/** The positions are of a screen that numbered its lines otherwise. */
	#foreign: boolean;
	/** When a caller was last answered, in ms since 1970, as far as an earlier daemon has saved it. */
	readonly savedAt: number | null;
	readonly #relocated = new Map<string, Position>();

	/** Without a directory they are kept in memory only. */
	constructor(
		directory: string | null = null,
		{ seen, raw }: Partial<z.output<typeof schema>> = {},
		{ foreign = false, savedAt = null }: { foreign?: boolean; savedAt?: number | null } = {},
	) {
		this.savedAt = savedAt;
		this.#path = directory && join(directory, FILE);
		this.#positions = new Map(seen);
		this.#raw = new Map(raw);
		this.#foreign = foreign;
	}

	static async load(directory: string, options: { foreign: boolean }): Promise<SeenPositions> {
		const path = join(directory, FILE);
		const savedAt = await lstat(path).then(
			({ mtimeMs }) => mtimeMs,
			() => null, // no caller was answered yet
		);
		const saved = await readCache({
			path,
			maxBytes: MAX_BYTES.seen,
			parse: (text) => checked(schema, parseJson(text)),
		});
		return saved === null ? new SeenPositions(directory) : new SeenPositions(directory, saved, { ...options, savedAt });
	}

	get(owner: string): Position | null {
		return this.#foreign ? null : (this.#positions.get(owner) ?? null);
	}

	set(owner: string, position: Position): void {
		setNewest(this.#positions, owner, position);
		this.#save();
	}

	/** The offsets up to which callers have read. */
	offsets(): readonly number[] {
		return [...this.#positions.values()].map(({ offset }) => offset);
	}

	/** Null for a caller that has not asked for it. */
	getRaw(owner: string): number | null {
		return this.#raw.get(owner) ?? null;
	}

	setRaw(owner: string, offset: number): void {
		setNewest(this.#raw, owner, offset);
		this.#save();
	}

	answeredTo(owner: string): number {
		return this.#answered.get(owner) ?? this.get(owner)?.offset ?? 0;
	}

	answered(owner: string, offset: number): void {
		setNewest(this.#answered, owner, offset);
	}

	/** After the answer. If the daemon is killed between the two, the caller is told once more. */
	#save(): void {
		if (this.#path !== null) this.#due ??= setImmediate(() => this.#write(this.#path!));
	}

	/** What is due is written now. */
	[Symbol.dispose](): void {
		if (this.#due !== null) this.#write(this.#path!);
	}

	#write(path: string): void {
		if (this.#due !== null) clearImmediate(this.#due);
		this.#due = null;
		try {
			const json = Buffer.from(JSON.stringify({ format: FORMAT, seen: [...this.#positions], raw: [...this.#raw] }));
			const bytes = json.length < PAGE ? Buffer.concat([json, Buffer.alloc(PAGE - json.length, " ")]) : json;
			if (bytes.length === PAGE && overwritePage(path, bytes)) return;
			writeFileSync(`${path}.tmp`, bytes, { mode: 0o600 });
			renameSync(`${path}.tmp`, path);
		} catch {
			// A full disk, or the session was removed: after a restart callers are told more than is new to them, never less.
		}
	}

	/** The offsets below this one whose positions have to be found on a new screen, ascending. */
	toRelocate(below: number): readonly number[] {
		if (!this.#foreign) return [];
		const offsets = [...this.#positions.values()].map(({ offset }) => offset).filter((offset) => offset < below);
		return [...new Set(offsets)].sort((a, b) => a - b);
	}

	/**
	 * A screen that numbers its lines anew has drawn all output up to this position. At the last one, callers whose
	 * position was not found (what they saw last is not drawn any more) have seen nothing.
	 */
	relocate(position: Position, { last }: { last: boolean }): void {
		if (!this.#foreign) return;
		for (const [owner, { offset }] of this.#positions) {
			if (offset === position.offset || (last && offset > position.offset)) this.#relocated.set(owner, position);
		}
		if (!last) return;
		this.#foreign = false;
		this.#positions.clear();
		for (const [owner, found] of this.#relocated) this.#positions.set(owner, found);
		this.#relocated.clear();
	}
}

/** False where the file is not there, or is not one page. */
function overwritePage(path: string, page: Uint8Array): boolean {
	let file: number;
	try {
		file = openSync(path, "r+");
	} catch {
		return false; // it is written as a new one
	}
	try {
		return fstatSync(file).size === PAGE && writeSync(file, page, 0, PAGE, 0) === PAGE;
	} finally {
		closeSync(file);
	}
}

/** The newest is last; the first one is evicted. */
function setNewest<T>(byOwner: Map<string, T>, owner: string, value: T): void {
	byOwner.delete(owner);
	byOwner.set(owner, value);
	const [oldest] = byOwner.keys();
	if (byOwner.size > limits.ownersSeen && oldest !== undefined) byOwner.delete(oldest);
}
