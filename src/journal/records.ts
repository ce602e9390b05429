// What is recorded of each session beside its output: `meta.json` in its
// directory, replaced atomically (R4.6), and a copy of it, for when that one is damaged.

import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { type ExitFacts, STATUSES, type Status } from "../protocol/answer.ts";
import {
	CorruptState,
	checked,
	FORMAT,
	MAX_BYTES,
	parseJson,
	parseObject,
	readCache,
	readState,
	replaceState,
	type StateFile,
} from "./state-file.ts";

const FILE = "meta.json";
const COPY = "meta.copy.json";

/** What a confined program may see and reach. Paths are absolute and resolved. */
export interface SandboxRecord {
	readonly workspace: string;
	readonly ro: readonly string[];
	readonly rw: readonly string[];
	readonly network: "none" | "host" | { readonly allow: readonly string[] };
}

/** Where a program runs that is not on this system, and what is run there (session/program-place.ts). */
export interface PlaceRecord {
	/** `ssh:me@host`, `docker:web`: as the caller wrote it. */
	readonly in: string;
	/** A line for the shell there, or a program and its arguments; both null: a shell. */
	readonly command: string | null;
	readonly argv: readonly string[] | null;
	/** The directory there; null: where the tool puts it. */
	readonly cwd: string | null;
	/** The variables it has there, beside its own. */
	readonly env: Readonly<Record<string, string>>;
}

export interface SessionRecord {
	readonly id: string;
	readonly name: string;
	/** The requested command, as a person would write it; `argv` is what was executed. */
	readonly command: string;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly state: Status;
	readonly pid: number | null;
	/** When that process started, so that another one of its number is not taken for it; null where that is not known. */
	readonly born: string | null;
	/** Its holder; null while it is being started, and in records of older versions. */
	readonly holder: { readonly pid: number; readonly born: string | null } | null;
	readonly exit: ExitFacts | null;
	/** Why it failed or was lost, where an exit code is not enough. */
	readonly reason: string | null;
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	readonly updatedAt: number;
	/** When it reached a final state. */
	readonly resolvedAt: number | null;
	readonly bytesOut: number;
	/** Null where they could not be counted. */
	readonly linesOut: number | null;
	readonly lastLine: string;
	/** Memory did not hold all output. */
	readonly truncated: boolean;
	/** The agent conversation that opened it. */
	readonly parent: string | null;
	readonly owner: string | null;
	/** The boot in which it ran: pids are meaningless after the next one. */
	readonly bootId: string;
	/** The holder protocol it was started with. */
	readonly protocol: number;
	readonly cols: number;
	readonly rows: number;
	/** Never ended for being idle. */
	readonly keep: boolean;
	/** The idle time it was started with; null: the daemon's. */
	readonly idleMs: number | null;
	/** What was added to the environment, and the limits, so that it can be started again as it was. */
	readonly env: Readonly<Record<string, string>>;
	/** What it inherited of its caller's environment; null: what the options said. */
	readonly inherit: "none" | "safe" | "all" | null;
	readonly limits: Readonly<Record<string, number | undefined>>;
	/** The name under which `run` uses it; null for any other program. */
	readonly shell: string | null;
	/** What confines it; null: nothing. */
	readonly sandbox: SandboxRecord | null;
	/** Where `argv` runs the program; null: here. */
	readonly place: PlaceRecord | null;
	/** The ids of the sessions from inside which it was started, the outermost first. */
	readonly within: readonly string[];
	/** Something of it may run: the program, or what it left in the background, on its terminal or not. */
	readonly terminalOpen: boolean;
}

/** Writes one session's record; of several changes at once only the last is written. */
export class RecordFile {
	readonly #directory: string;
	#next: SessionRecord | null = null;
	#writing: Promise<void> | null = null;
	#closed = false;

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** Settles when this record, or a newer one, is safe on disk. */
	write(record: SessionRecord): Promise<void> {
		if (this.#closed) return Promise.resolve();
		this.#next = record;
		this.#writing ??= this.#drain();
		return this.#writing;
	}

	/** Stops writing; settles when the last write is done. */
	close(): Promise<void> {
		this.#closed = true;
		return this.settled();
	}

	/** Settles when nothing is being written. */
	async settled(): Promise<void> {
		await this.#writing?.catch(() => {}); // reported to the caller of that write
	}

	async #drain(): Promise<void> {
		// The end of a session and the closing of its terminal come in one turn of the loop: one write for both.
		await setImmediate();
		try {
			while (this.#next !== null) {
				const record = this.#next;
				this.#next = null;
				await writeRecord(this.#directory, record);
			}
		} finally {
			// In the same turn as the last check of #next, so that no record falls between.
			this.#writing = null;
		}
	}
}

/** Replaces `meta.json` so that a reader or a crash sees the old one or the new one, never a partial one. */
export async function writeRecord(directory: string, record: SessionRecord): Promise<void> {
	const temporary = join(directory, `${FILE}.${randomBytes(6).toString("hex")}.tmp`);
	const text = `${JSON.stringify({ format: FORMAT, ...record })}\n`;
	try {
		const file = await open(temporary, "wx", 0o600);
		try {
			await file.writeFile(text);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(temporary, join(directory, FILE));
	} catch (error) {
		await rm(temporary, { force: true });
		throw error;
	}
	await syncDirectory(directory);
	await replaceState(join(directory, COPY), text).catch(() => {}); // a full disk: the record itself is safe
}

const recordFile = (directory: string, name: string): StateFile<SessionRecord> => ({
	path: join(directory, name),
	maxBytes: MAX_BYTES.record,
	parse: (text) => recordOf(text, basename(directory)),
});

/** Null where there is none. A corrupt one is set aside; its CorruptState is thrown. Any other error: it cannot be read now. */
export const readRecord = (directory: string): Promise<SessionRecord | null> => readState(recordFile(directory, FILE));

/** The last one that was written, or the one before; null where there is none. */
export const readCopy = (directory: string): Promise<SessionRecord | null> => readCache(recordFile(directory, COPY));

/** The part of a record that says whose session it is and what may run, also of a newer version's; null where there is none. */
export async function readSummary(directory: string): Promise<Partial<SessionRecord> | null> {
	const parse = (text: string) => checked(summary, parseObject(text)) as Partial<SessionRecord>;
	for (const name of [FILE, COPY]) {
		const found = await readCache({ ...recordFile(directory, name), parse });
		if (found !== null) return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
	}
	return null;
}

/** `toISOString` throws beyond it. */
const MAX_TIME_MS = 8.64e15;
const MAX_CELLS = 100_000;
const time = z.number().min(0).max(MAX_TIME_MS);
const count = z.int().min(0);
const cells = z.int().min(1).max(MAX_CELLS);
const optionalText = z.string().nullable().default(null);

/** With defaults for what a record of an older version lacks. */
const schema = z.object({
	id: z.string(),
	name: z.string(),
	command: z.string(),
	argv: z.array(z.string()),
	cwd: z.string(),
	state: z.enum(STATUSES),
	pid: count.nullable().default(null),
	born: optionalText,
	holder: z.object({ pid: count, born: z.string().nullable() }).nullable().default(null),
	exit: z.object({ code: z.int().nullable(), signal: z.string().nullable() }).nullable().default(null),
	reason: optionalText,
	createdAt: time,
	updatedAt: time.default(0),
	resolvedAt: time.nullable().default(null),
	bytesOut: count.default(0),
	linesOut: count.nullable().default(null),
	lastLine: z.string().default(""),
	truncated: z.boolean().default(false),
	parent: optionalText,
	owner: optionalText,
	bootId: z.string().default(""),
	protocol: count.default(1),
	cols: cells.default(80),
	rows: cells.default(24),
	keep: z.boolean().default(false),
	idleMs: count.nullable().default(null),
	env: z.record(z.string(), z.string()).default({}),
	inherit: z.enum(["none", "safe", "all"]).nullable().default(null),
	limits: z.record(z.string(), z.number().optional()).default({}),
	shell: optionalText,
	sandbox: z
		.object({
			workspace: z.string(),
			ro: z.array(z.string()),
			rw: z.array(z.string()),
			network: z.union([z.enum(["none", "host"]), z.object({ allow: z.array(z.string()) })]),
		})
		.nullable()
		.default(null),
	place: z
		.object({
			in: z.string(),
			command: z.string().nullable(),
			argv: z.array(z.string()).nullable(),
			cwd: z.string().nullable(),
			env: z.record(z.string(), z.string()),
		})
		.nullable()
		.default(null),
	within: z.array(z.string()).default([]),
	terminalOpen: z.boolean().optional(),
});

const maybe = <T extends z.ZodType>(type: T) => z.exactOptional(type).catch(undefined as never);
const summary = z.object({
	name: maybe(z.string()),
	owner: maybe(z.string().nullable()),
	command: maybe(z.string()),
	cwd: maybe(z.string()),
	state: maybe(z.enum(STATUSES)),
	pid: maybe(count.nullable()),
	born: maybe(z.string().nullable()),
	holder: maybe(z.object({ pid: count, born: z.string().nullable() }).nullable()),
	createdAt: maybe(time),
	updatedAt: maybe(time),
	bootId: maybe(z.string()),
	shell: maybe(optionalText),
	terminalOpen: maybe(z.boolean()),
});

function recordOf(text: string, id: string): SessionRecord {
	const record = checked(schema, parseJson(text));
	if (record.id !== id) throw new CorruptState("bad-content", `it is the record of ${record.id}`);
	return {
		...record,
		terminalOpen: record.terminalOpen ?? (record.state === "starting" || record.state === "running"),
	};
}

async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r");
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}
