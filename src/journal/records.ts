// What is remembered of each session beside its output: `meta.json` in its
// directory, swapped atomically, and the scan that finds them all again (R4.6).

import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type ExitFacts, STATUSES, type Status } from "../protocol/answer.ts";

const FILE = "meta.json";

export interface SessionRecord {
	readonly id: string;
	readonly name: string;
	/** What was asked for, as a person would write it; `argv` is what was executed. */
	readonly command: string;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly state: Status;
	readonly pid: number | null;
	readonly exit: ExitFacts | null;
	/** Why it failed or was lost, where there is more to say than an exit code. */
	readonly reason: string | null;
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	readonly updatedAt: number;
	/** When it reached a final state. */
	readonly resolvedAt: number | null;
	readonly bytesOut: number;
	readonly linesOut: number;
	readonly lastLine: string;
	/** The agent conversation that opened it. */
	readonly parent: string | null;
	readonly owner: string | null;
	/** The boot in which it ran: process numbers mean nothing after the next one. */
	readonly bootId: string;
	/** The holder protocol it was started with. */
	readonly protocol: number;
	readonly cols: number;
	readonly rows: number;
	/** It outlives whoever started it. */
	readonly keep: boolean;
}

/** A session directory as found on disk. */
export type Found =
	| { readonly id: string; readonly directory: string; readonly record: SessionRecord }
	| { readonly id: string; readonly directory: string; readonly record: null; readonly problem: string };

/** Writes one session's record; when several changes come at once the last one is what stays. */
export class RecordFile {
	readonly #directory: string;
	#next: SessionRecord | null = null;
	#writing: Promise<void> | null = null;

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** Settles when this record, or a newer one, is safe on disk. */
	write(record: SessionRecord): Promise<void> {
		this.#next = record;
		this.#writing ??= this.#drain();
		return this.#writing;
	}

	async #drain(): Promise<void> {
		try {
			while (this.#next !== null) {
				const record = this.#next;
				this.#next = null;
				await writeRecord(this.#directory, record);
			}
		} finally {
			// In the same breath as the last look at #next, so that no record falls between.
			this.#writing = null;
		}
	}
}

/** Swaps `meta.json` so that a reader or a crash sees the old one or the new one, never half of one. */
export async function writeRecord(directory: string, record: SessionRecord): Promise<void> {
	const temporary = join(directory, `${FILE}.${randomBytes(6).toString("hex")}.tmp`);
	try {
		const file = await open(temporary, "wx", 0o600);
		try {
			await file.writeFile(`${JSON.stringify(record)}\n`);
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
}

export async function readRecord(directory: string): Promise<SessionRecord> {
	return recordOf(JSON.parse(await readFile(join(directory, FILE), "utf8")));
}

/** Makes a session's directory, which only its owner may enter. */
export async function makeSessionDirectory(sessions: string, id: string): Promise<string> {
	const directory = join(sessions, id);
	await mkdir(sessions, { recursive: true, mode: 0o700 });
	await mkdir(directory, { mode: 0o700 });
	return directory;
}

/** Every session directory, newest first; what cannot be read is told, and stops nothing. */
export async function scanSessions(sessions: string): Promise<readonly Found[]> {
	const entries = await readdir(sessions, { withFileTypes: true }).catch(() => []);
	const found = await Promise.all(
		entries
			.filter((entry) => entry.isDirectory())
			.map(async ({ name: id }): Promise<Found> => {
				const directory = join(sessions, id);
				try {
					const record = await readRecord(directory);
					if (record.id !== id) throw new Error(`its record is that of ${record.id}`);
					return { id, directory, record };
				} catch (error) {
					return { id, directory, record: null, problem: (error as Error).message };
				}
			}),
	);
	return found.sort((a, b) => (b.record?.createdAt ?? 0) - (a.record?.createdAt ?? 0));
}

type Check = (value: unknown) => boolean;
const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number";
const REQUIRED: Readonly<Partial<Record<keyof SessionRecord, Check>>> = {
	id: text,
	name: text,
	command: text,
	argv: (value) => Array.isArray(value) && value.every(text),
	cwd: text,
	state: (value) => STATUSES.includes(value as Status),
	createdAt: number,
};

/** What a record of an older version may lack. */
const ABSENT = {
	pid: null,
	exit: null,
	reason: null,
	updatedAt: 0,
	resolvedAt: null,
	bytesOut: 0,
	linesOut: 0,
	lastLine: "",
	parent: null,
	owner: null,
	bootId: "",
	protocol: 1,
	cols: 80,
	rows: 24,
	keep: false,
} satisfies Partial<SessionRecord>;

function recordOf(json: unknown): SessionRecord {
	if (typeof json !== "object" || json === null) throw new Error("the record is no object");
	for (const [field, right] of Object.entries(REQUIRED))
		if (!right((json as Record<string, unknown>)[field])) throw new Error(`the record's "${field}" is not right`);
	return { ...ABSENT, ...(json as SessionRecord) };
}

async function syncDirectory(path: string): Promise<void> {
	const directory = await open(path, "r");
	try {
		await directory.sync();
	} finally {
		await directory.close();
	}
}
