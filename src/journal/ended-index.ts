// The ended sessions in order: id, name and size on disk, one line each in `ended.jsonl`.
// With it a starting daemon reads only the records that may still be running, and costs
// do not grow with the number of ended sessions.
//
// A cache, never authoritative: a missing entry is read from its record again, and an
// entry without a directory is dropped.

import { appendFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MAX_BYTES, readCache } from "./state-file.ts";

const FILE = "ended.jsonl";
/** Stale lines are cheap; the file is compacted once most of it is stale and reading it takes time. */
const MIN_LINES_TO_COMPACT = 1000;

export interface EndedEntry {
	readonly id: string;
	readonly name: string;
	/** Null where it is not known: in entries of older versions too. */
	readonly owner: string | null;
	/** Bytes of its directory. */
	readonly bytes: number;
}

export class EndedIndex {
	readonly #path: string;
	readonly #entries = new Map<string, EndedEntry>();
	/** By name, the oldest first. */
	readonly #names = new Map<string, string[]>();
	#totalBytes = 0;
	/** Serializes appends, so that they are in the order of the ends. */
	#writing: Promise<void> = Promise.resolve();

	private constructor(path: string) {
		this.#path = path;
	}

	/** The index of those sessions that have a directory. */
	static async load(sessions: string, ids: ReadonlySet<string>): Promise<EndedIndex> {
		const index = new EndedIndex(join(sessions, FILE));
		// Missing or unreadable: every record is read instead, and the index is rebuilt.
		const file = { path: index.#path, maxBytes: MAX_BYTES.index, parse: (text: string) => text };
		const text = (await readCache(file)) ?? "";
		const lines = text.split("\n").filter((line) => line !== "");
		for (const line of lines) {
			const entry = parse(line);
			if (entry === null || !ids.has(entry.id)) continue;
			// A later line of the same session has its newer size.
			if (index.has(entry.id)) index.#resize(entry);
			else index.#put(entry);
		}
		if (lines.length > MIN_LINES_TO_COMPACT && lines.length > 2 * index.#entries.size) await index.#compact();
		return index;
	}

	get size(): number {
		return this.#entries.size;
	}

	get totalBytes(): number {
		return this.#totalBytes;
	}

	has(id: string): boolean {
		return this.#entries.has(id);
	}

	/** The session of this name that ended last; with `owner`, of that owner's. */
	newestNamed(name: string, owner?: string): string | undefined {
		const ids = this.#names.get(name);
		return owner === undefined ? ids?.at(-1) : ids?.findLast((id) => this.#entries.get(id)?.owner === owner);
	}

	/** Up to two ids with this prefix: enough to know whether it is unique; with `owner`, of that owner's. */
	withPrefix(prefix: string, owner?: string): readonly string[] {
		const found: string[] = [];
		for (const [id, entry] of this.#entries) {
			if (id.startsWith(prefix) && (owner === undefined || entry.owner === owner)) found.push(id);
			if (found.length === 2) break;
		}
		return found;
	}

	/** The one that ended first. */
	oldest(): EndedEntry | undefined {
		return this.#entries.values().next().value;
	}

	/** The last ones that ended, oldest first. */
	newest(count: number): readonly string[] {
		return count === 0 ? [] : [...this.#entries.keys()].slice(-count);
	}

	/** Findable by id and name at once; settles when its size has been measured and written. */
	add(session: Omit<EndedEntry, "bytes">, measure: () => Promise<number>): Promise<void> {
		const { id, name, owner } = session;
		if (this.#entries.has(id)) return this.#writing;
		this.#put({ id, name, owner, bytes: 0 });
		return this.#write(async () => {
			const entry = { id, name, owner, bytes: await measure() };
			if (!this.#entries.has(id)) return; // removed meanwhile
			this.#resize(entry);
			await appendFile(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
		});
	}

	/** Measures it again, if it is here; its place in the order stays. */
	update(id: string, measure: () => Promise<number>): Promise<void> {
		return this.#write(async () => {
			const bytes = await measure();
			const entry = this.#entries.get(id);
			if (entry === undefined || entry.bytes === bytes) return;
			const measured = { ...entry, bytes };
			this.#resize(measured);
			await appendFile(this.#path, `${JSON.stringify(measured)}\n`, { mode: 0o600 });
		});
	}

	delete(id: string): void {
		const entry = this.#entries.get(id);
		if (entry === undefined) return;
		this.#entries.delete(id);
		this.#totalBytes -= entry.bytes;
		const rest = this.#names.get(entry.name)?.filter((other) => other !== id) ?? [];
		if (rest.length === 0) this.#names.delete(entry.name);
		else this.#names.set(entry.name, rest);
	}

	/** Settles when everything that was added is written. */
	settled(): Promise<void> {
		return this.#writing;
	}

	#resize(entry: EndedEntry): void {
		this.#totalBytes += entry.bytes - (this.#entries.get(entry.id)?.bytes ?? 0);
		this.#entries.set(entry.id, entry);
	}

	#put(entry: EndedEntry): void {
		this.#entries.set(entry.id, entry);
		this.#totalBytes += entry.bytes;
		const same = this.#names.get(entry.name);
		if (same === undefined) this.#names.set(entry.name, [entry.id]);
		else same.push(entry.id);
	}

	#compact(): Promise<void> {
		const text = [...this.#entries.values()].map((entry) => `${JSON.stringify(entry)}\n`).join("");
		return this.#write(async () => {
			await writeFile(`${this.#path}.tmp`, text, { mode: 0o600 });
			await rename(`${this.#path}.tmp`, this.#path);
		});
	}

	#write(write: () => Promise<void>): Promise<void> {
		// A full disk, or the home was removed: the records are authoritative.
		this.#writing = this.#writing.then(write).catch(() => {});
		return this.#writing;
	}
}

function parse(line: string): EndedEntry | null {
	try {
		const { id, name, owner, bytes } = JSON.parse(line) as Partial<EndedEntry>;
		if (typeof id !== "string" || typeof name !== "string" || typeof bytes !== "number") return null;
		const known = typeof owner === "string" ? owner : null;
		return Number.isSafeInteger(bytes) && bytes >= 0 ? { id, name, owner: known, bytes } : null;
	} catch {
		return null; // the last line of a daemon that was killed, or not ours
	}
}
