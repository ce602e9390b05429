// The `turns` file: what happened around a session's output. Who typed how much and why the call
// returned, the commands of a shell, states, drivers, signals, approvals. Never what was typed.
//
// JSON lines that are only appended to, the first of them a header with the format and the number of the
// entry after it. Past its size the file becomes `turns.old`, and what was that is dropped; the numbers say how
// many entries are missing. A line that is cut off or not ours is skipped.

import { rename } from "node:fs/promises";
import { join } from "node:path";
import type { RecordedDriver } from "../protocol/timeline.ts";
import { CorruptState, FORMAT, openRegular, openToAppend, setAside } from "./state-file.ts";

const TURN_FILES = { newest: "turns", older: "turns.old" } as const;
/** Of each of the two files: some 15,000 entries, and a few tens of milliseconds to read. */
const MAX_BYTES = 2 << 20;
/** More than we write ourselves; the rest is not ours. */
const MAX_LINE_CHARS = 4096;

export type Typist = { readonly by: "agent" | "person"; readonly who: string };

/** `at`: milliseconds since the epoch. `offset`: how much output there was. */
export type TurnEntry = { readonly at: number; readonly offset: number } & (
	| ({
			readonly kind: "turn";
			readonly keys: number;
			readonly lines: number;
			/** The program asked for a secret: then not even the number of keys is kept. */
			readonly secret?: boolean;
			/** The name by which it was typed. */
			readonly named?: string;
			readonly returned: string | null;
			readonly tookMs: number | null;
	  } & Typist)
	/** `offset`: where its output began. */
	| { readonly kind: "command"; readonly to: number; readonly exitCode: number | null; readonly command?: string }
	| { readonly kind: "state"; readonly state: string }
	| { readonly kind: "driver"; readonly driver: RecordedDriver; readonly note?: string }
	| { readonly kind: "signal"; readonly signal: string; readonly who: string }
	/** A person has decided about what an agent wanted to do there. */
	| { readonly kind: "approval"; readonly approved: boolean; readonly who: string; readonly note?: string }
);

export interface Turns {
	/** In the order in which they were written. */
	readonly entries: readonly TurnEntry[];
	/** Entries that are no longer kept, or cannot be read. */
	readonly dropped: number;
}

/** Everything that is kept of a session's turns; nothing where there is none. */
export async function readTurns(directory: string): Promise<Turns> {
	const newest = await readFileOf(join(directory, TURN_FILES.newest));
	const older = await readFileOf(join(directory, TURN_FILES.older));
	// The file may have been put aside between the two reads.
	const files = [
		...(older === null || older.first === newest?.first ? [] : [older]),
		...(newest === null ? [] : [newest]),
	];
	const entries = files.flatMap((file) => file.entries);
	return {
		entries,
		dropped: (files[0]?.first ?? 0) + files.reduce((sum, { count, entries: read }) => sum + count - read.length, 0),
	};
}

interface TurnsFile {
	/** The number of its first entry. */
	readonly first: number;
	/** How many entries it has, readable or not. */
	readonly count: number;
	readonly entries: readonly TurnEntry[];
}

/** Null where there is none that we can read. */
async function readFileOf(path: string): Promise<TurnsFile | null> {
	const text = await readText(path).catch(() => null); // recordings are shown without it
	return text === null ? null : parseTurns(text);
}

async function readText(path: string): Promise<string | null> {
	const file = await openRegular(path);
	if (file === null) return null;
	try {
		// A file that another program has made large is read as far as ours would go.
		const bytes = Buffer.alloc(Math.min((await file.stat()).size, 2 * MAX_BYTES));
		const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
		return bytes.toString("utf8", 0, bytesRead);
	} finally {
		await file.close();
	}
}

/** Null for a format that is newer than ours. */
export function parseTurns(text: string): TurnsFile | null {
	const [head = "", ...lines] = text.split("\n");
	const header = objectIn(head);
	const { format, first } = header ?? {};
	if (typeof format === "number" && format > FORMAT) return null;
	const isHeader = format === FORMAT && isCount(first);
	// The last line is empty, or was cut off by the end of the daemon.
	const whole = (isHeader ? lines : [head, ...lines]).slice(0, -1).filter((line) => line !== "");
	const entries = whole.flatMap((line) => parseEntry(line) ?? []);
	return { first: isHeader ? first : 0, count: whole.length, entries };
}

function parseEntry(line: string): TurnEntry | null {
	const entry = line.length > MAX_LINE_CHARS ? null : objectIn(line);
	if (entry === null || !isCount(entry.at) || !isCount(entry.offset)) return null;
	const { at, offset } = entry;
	switch (entry.kind) {
		case "turn": {
			const { by, who, keys, lines, returned, tookMs, secret, named } = entry;
			if ((by !== "agent" && by !== "person") || typeof who !== "string" || !isCount(keys) || !isCount(lines))
				return null;
			const why = typeof returned === "string" ? returned : null;
			const ms = isCount(tookMs) ? tookMs : null;
			const hidden = secret === true && { secret, ...(typeof named === "string" && { named }) };
			return { kind: "turn", at, offset, by, who, keys, lines, returned: why, tookMs: ms, ...hidden };
		}
		case "command": {
			const { to, exitCode, command } = entry;
			if (!isCount(to)) return null;
			const code = Number.isSafeInteger(exitCode) ? (exitCode as number) : null;
			return { kind: "command", at, offset, to, exitCode: code, ...(typeof command === "string" && { command }) };
		}
		case "state":
			return typeof entry.state === "string" ? { kind: "state", at, offset, state: entry.state } : null;
		case "driver": {
			const { kind, who } = (entry.driver ?? {}) as Readonly<Record<string, unknown>>;
			const note = typeof entry.note === "string" && { note: entry.note };
			if (kind === "agent") return { kind: "driver", at, offset, driver: { kind }, ...note };
			if (kind !== "person" || typeof who !== "string") return null;
			return { kind: "driver", at, offset, driver: { kind, who }, ...note };
		}
		case "signal": {
			const { signal, who } = entry;
			return typeof signal === "string" && typeof who === "string" ? { kind: "signal", at, offset, signal, who } : null;
		}
		case "approval": {
			const { approved, who } = entry;
			const note = typeof entry.note === "string" && { note: entry.note };
			if (typeof approved !== "boolean" || typeof who !== "string") return null;
			return { kind: "approval", at, offset, approved, who, ...note };
		}
		default:
			return null;
	}
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function objectIn(line: string): Readonly<Record<string, unknown>> | null {
	try {
		const value: unknown = JSON.parse(line);
		return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
	} catch {
		return null; // cut off, or not ours
	}
}

interface WrittenFile {
	/** The numbers of its first entry, and of the next one. */
	readonly first: number;
	readonly next: number;
	readonly size: number;
}

/** Appends to a session's turns: one writer at a time, of several entries at once in one write. */
export class TurnsWriter {
	readonly #directory: string;
	readonly #maxBytes: number;
	#pending: TurnEntry[] = [];
	#writing: Promise<void> | null = null;
	/** The file as this writer left it; null before its first write. */
	#file: WrittenFile | null = null;
	/** A newer version's file is left alone. */
	#refused = false;

	constructor(directory: string, { maxBytes = MAX_BYTES }: { readonly maxBytes?: number } = {}) {
		this.#directory = directory;
		this.#maxBytes = maxBytes;
	}

	/** What both files have on disk, at most. */
	get bytes(): number {
		return this.#file === null ? 0 : this.#file.size + (this.#file.first === 0 ? 0 : this.#maxBytes);
	}

	append(entry: TurnEntry): void {
		if (this.#refused) return;
		this.#pending.push(entry);
		this.#writing ??= this.#drain().finally(() => {
			this.#writing = null;
		});
	}

	/** Settles when everything is written. */
	async settled(): Promise<void> {
		await this.#writing;
	}

	async #drain(): Promise<void> {
		while (this.#pending.length > 0) {
			const entries = this.#pending;
			this.#pending = [];
			// A full disk, or the session was removed: these entries are lost, and the numbers do not say so.
			await this.#write(entries).catch(() => {});
		}
	}

	async #write(entries: readonly TurnEntry[]): Promise<void> {
		const path = join(this.#directory, TURN_FILES.newest);
		const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
		const found = this.#file ?? (await this.#find(path));
		if (found === null) return;
		const isFull = found.size > 0 && found.size + text.length > this.#maxBytes;
		if (isFull) await rename(path, join(this.#directory, TURN_FILES.older));
		const file = await openToAppend(path);
		try {
			const header = isFull || found.size === 0 ? `${JSON.stringify({ format: FORMAT, first: found.next })}\n` : "";
			// An earlier writer may have been cut off in the middle of a line.
			const bytes = Buffer.from(header !== "" || this.#file !== null ? header + text : `\n${text}`);
			await file.writeFile(bytes);
			const before = isFull ? { first: found.next, size: 0 } : found;
			this.#file = { first: before.first, next: found.next + entries.length, size: before.size + bytes.length };
		} finally {
			await file.close();
		}
	}

	/** What an earlier daemon left; null where it is not for us to write. */
	async #find(path: string): Promise<WrittenFile | null> {
		const text = await readText(path).catch(async (error: unknown) => {
			if (error instanceof CorruptState) await setAside(path, error);
			return null;
		});
		if (text === null) return { first: 0, next: 0, size: 0 };
		const file = parseTurns(text);
		this.#refused = file === null;
		return file && { first: file.first, next: file.first + file.count, size: Buffer.byteLength(text) };
	}
}
