// The ended sessions in order: id, name and size on disk, one line each in `ended.jsonl`.
// With it a starting daemon reads only the records that may still be running, and costs
// do not grow with the number of ended sessions.
//
// A cache, never authoritative: a missing entry is read from its record again, and an
// entry without a directory is dropped. Of those that were removed by age or by size, the last
// are remembered, for who asks what became of them.

import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { MAX_BYTES, readCache, replaceState } from "./state-file.ts";

const FILE = "ended.jsonl";
/** Stale lines are cheap; the file is compacted once most of it is stale and reading it takes time. */
const MIN_LINES_TO_COMPACT = 1000;

export interface EndedEntry {
	readonly id: string;
	readonly name: string;
	/** Null where it is not known: in entries of older versions too. */
	readonly owner: string | null;
	/** Milliseconds since the epoch; null in entries of older versions. */
	readonly endedAt: number | null;
	/** Bytes of its directory. */
	readonly bytes: number;
}

/** Which limit an ended session was removed for. */
export type RemovedBecause = "age" | "size";

export interface RemovedEntry extends EndedEntry {
	readonly removed: { readonly at: number; readonly because: RemovedBecause };
}

const REMOVED_KEPT = 1000;
/** The last that a date can be. */
const MAX_TIME = 8.64e15;

export class EndedIndex {
	readonly #path: string;
	readonly #entries = new Map<string, EndedEntry>();
	/** By name, the oldest first. */
	readonly #names = new Map<string, string[]>();
	/** The last that were removed, oldest first. */
	readonly #removed = new Map<string, RemovedEntry>();
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
			if (entry === null) continue;
			if (!ids.has(entry.id)) {
				if (isRemoved(entry)) index.#rememberRemoved(entry);
				continue;
			}
			// A later line of the same session has its newer size, or name.
			if (index.has(entry.id)) index.#replace(entry);
			else index.#put(entry);
		}
		const current = index.#entries.size + index.#removed.size;
		if (lines.length > MIN_LINES_TO_COMPACT && lines.length > 2 * current) await index.#compact();
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
		const { id, name, owner, endedAt } = session;
		if (this.#entries.has(id)) return this.#writing;
		this.#put({ id, name, owner, endedAt, bytes: 0 });
		return this.#write(async () => {
			const bytes = await measure();
			const before = this.#entries.get(id);
			if (before === undefined) return; // removed meanwhile
			const entry = { ...before, bytes };
			this.#resize(entry);
			await this.#append(entry);
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
			await this.#append(measured);
		});
	}

	/** It is found by another name, if it is here. */
	rename(id: string, name: string): void {
		const entry = this.#entries.get(id);
		if (entry === undefined) return;
		this.#replace({ ...entry, name });
		void this.#write(async () => {
			const renamed = this.#entries.get(id); // it may have been measured, or removed, since
			if (renamed !== undefined) await this.#append(renamed);
		});
	}

	delete(id: string): void {
		const entry = this.#entries.get(id);
		if (entry === undefined) return;
		this.#entries.delete(id);
		this.#totalBytes -= entry.bytes;
		this.#forgetName(entry);
	}

	/** Its files were removed for a limit. */
	noteRemoved(entry: EndedEntry, because: RemovedBecause): Promise<void> {
		const removed = { ...entry, removed: { at: Date.now(), because } };
		this.#rememberRemoved(removed);
		return this.#write(() => this.#append(removed));
	}

	/** What was removed under this id, or, last, under this name; with `owner`, of that owner's names. */
	removed(reference: string, owner?: string): RemovedEntry | null {
		const isMeant = (entry: RemovedEntry) => entry.name === reference && (owner === undefined || entry.owner === owner);
		return this.#removed.get(reference) ?? [...this.#removed.values()].findLast(isMeant) ?? null;
	}

	/** Settles when everything that was added is written. */
	settled(): Promise<void> {
		return this.#writing;
	}

	#resize(entry: EndedEntry): void {
		this.#totalBytes += entry.bytes - (this.#entries.get(entry.id)?.bytes ?? 0);
		this.#entries.set(entry.id, entry);
	}

	#replace(entry: EndedEntry): void {
		const before = this.#entries.get(entry.id);
		this.#resize(entry);
		if (before === undefined || before.name === entry.name) return;
		this.#forgetName(before);
		this.#name(entry);
	}

	#put(entry: EndedEntry): void {
		this.#entries.set(entry.id, entry);
		this.#totalBytes += entry.bytes;
		this.#name(entry);
	}

	#forgetName({ id, name }: EndedEntry): void {
		const rest = this.#names.get(name)?.filter((other) => other !== id) ?? [];
		if (rest.length === 0) this.#names.delete(name);
		else this.#names.set(name, rest);
	}

	#name(entry: EndedEntry): void {
		const same = this.#names.get(entry.name);
		if (same === undefined) this.#names.set(entry.name, [entry.id]);
		else same.push(entry.id);
	}

	#rememberRemoved(entry: RemovedEntry): void {
		this.#removed.set(entry.id, entry);
		for (const id of this.#removed.keys()) {
			if (this.#removed.size <= REMOVED_KEPT) break;
			this.#removed.delete(id);
		}
	}

	#append(entry: EndedEntry): Promise<void> {
		return appendFile(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
	}

	#compact(): Promise<void> {
		const text = [...this.#removed.values(), ...this.#entries.values()]
			.map((entry) => `${JSON.stringify(entry)}\n`)
			.join("");
		return this.#write(() => replaceState(this.#path, text));
	}

	#write(write: () => Promise<void>): Promise<void> {
		// A full disk, or the home was removed: the records are authoritative.
		this.#writing = this.#writing.then(write).catch(() => {});
		return this.#writing;
	}
}

const isRemoved = (entry: EndedEntry): entry is RemovedEntry => "removed" in entry;

function parse(line: string): EndedEntry | RemovedEntry | null {
	try {
		const { id, name, owner, endedAt, bytes, removed } = JSON.parse(line) as Partial<RemovedEntry>;
		if (typeof id !== "string" || typeof name !== "string") return null;
		if (!Number.isSafeInteger(bytes) || bytes! < 0) return null;
		const known = typeof owner === "string" ? owner : null;
		const at = typeof endedAt === "number" && endedAt > 0 ? endedAt : null;
		const entry = { id, name, owner: known, endedAt: at, bytes: bytes! };
		if (removed === undefined) return entry;
		const isKnown = removed.because === "age" || removed.because === "size";
		return isKnown && Number.isInteger(removed.at) && Math.abs(removed.at) <= MAX_TIME ? { ...entry, removed } : null;
	} catch {
		return null; // the last line of a daemon that was killed, or not ours
	}
}
