// Writes the audit log: in order, in batches, never in the way of a call. Lines reach the kernel within a moment and so
// survive the death of this process; they are not synced to the disk one by one, so a loss of power may take the last
// seconds. What the disk does not take is counted, and the count is written when it does again.

import { constants, existsSync, mkdirSync, statSync, unlinkSync } from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	auditFiles,
	fileName,
	type Head,
	hashOfLine,
	headPath,
	NO_HASH,
	parseLine,
	readHead,
	readRegular,
} from "./audit-chain.ts";

export interface AuditLimits {
	/** Of one file. */
	readonly maxBytes: number;
	readonly maxFiles: number;
	readonly maxAgeMs: number;
}

const LIMITS: AuditLimits = { maxBytes: 4 << 20, maxFiles: 25, maxAgeMs: 365 * 24 * 3_600_000 };
/** More than this in memory, and lines are counted as lost: the disk does not answer. */
const MAX_QUEUED = 10_000;
const BATCH = 500;
/** The longest line is far shorter. */
const TAIL_BYTES = 256 << 10;

/** What is done, by whom, and whatever describes it. */
export type AuditEntry = { readonly do: string } & Readonly<Record<string, unknown>>;

interface Current {
	readonly file: FileHandle;
	readonly index: number;
	size: number;
	head: Head;
	/** An incomplete last line of so many bytes, left by a daemon that was killed. */
	torn: number;
	/** The log does not go as far as it had, or ends with another line. */
	cut: Head | null;
}

/** In a home that is there. */
export function makeAuditDirectory(directory: string): void {
	if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
}

export class AuditLog {
	readonly directory: string;
	readonly #limits: AuditLimits;
	readonly #queue: (AuditEntry & { readonly at: string })[] = [];
	#current: Current | null = null;
	#writing: Promise<void> | null = null;
	#lost = 0;
	#problem: string | null = null;
	#closed = false;

	constructor(directory: string, limits: Partial<AuditLimits> = {}) {
		this.directory = directory;
		this.#limits = { ...LIMITS, ...limits };
	}

	/** Why lines are being lost now; null while they are written. */
	get problem(): string | null {
		return this.#problem === null ? null : `${this.#lost} lines could not be written (${this.#problem})`;
	}

	/** After the end nothing is written: a home that was removed must not come back. */
	add(entry: AuditEntry): void {
		if (this.#closed) return;
		if (this.#queue.length >= MAX_QUEUED) {
			this.#lost++;
			return;
		}
		this.#queue.push({ at: new Date().toISOString(), ...entry });
		this.#writing ??= this.#drain().finally(() => {
			this.#writing = null;
		});
	}

	/** When all that was added is written, or lost. */
	async flushed(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.flushed();
		this.#closed = true;
		await this.#current?.file.close();
		this.#current = null;
	}

	async #drain(): Promise<void> {
		await null; // what is added in the same moment is one batch
		while (this.#queue.length > 0) {
			const batch = this.#queue.splice(0, BATCH);
			try {
				await this.#write(batch);
				this.#lost = 0;
				this.#problem = null;
			} catch (error) {
				this.#lost += batch.length;
				this.#problem = (error as NodeJS.ErrnoException).code ?? String(error);
			}
		}
	}

	async #write(batch: readonly AuditEntry[]): Promise<void> {
		const current = await this.#ready();
		const own: AuditEntry[] = [];
		const at = new Date().toISOString();
		if (current.size === 0)
			own.push({ at, do: "file", after: current.index === 1 ? null : fileName(current.index - 1) });
		if (current.size === 0) own.push(...this.#removeOld(current).map((entry) => ({ at, ...entry })));
		if (current.torn > 0) own.push({ at, do: "torn", bytes: current.torn });
		if (current.cut !== null) own.push({ at, do: "cut", at_line: current.head.n, was: current.cut.n });
		if (this.#lost > 0) own.push({ at, do: "gap", lost: this.#lost, because: this.#problem });
		let { n, hash } = current.head;
		let text = current.torn > 0 ? "\n" : "";
		for (const entry of [...own, ...batch]) {
			const line = JSON.stringify({ n: ++n, ...entry, prev: hash });
			hash = hashOfLine(line);
			text += `${line}\n`;
		}
		const bytes = Buffer.from(text);
		try {
			for (let from = 0; from < bytes.length; ) from += (await current.file.write(bytes, from)).bytesWritten;
		} catch (error) {
			// A part of it may be there. Where even this fails, the next attempt finds an incomplete line.
			await current.file.truncate(current.size).catch(() => {});
			this.#current = null;
			await current.file.close();
			throw error;
		}
		Object.assign(current, { size: current.size + bytes.length, head: { n, hash }, torn: 0, cut: null });
		try {
			await this.#writeHead(current.head);
		} catch {
			// The disk is full. A head that lags behind is no contradiction.
		}
	}

	/** The file to write to. */
	async #ready(): Promise<Current> {
		const { maxBytes } = this.#limits;
		let current = this.#current;
		if (current !== null) {
			const { size, nlink } = await current.file.stat();
			// Another daemon of this home wrote to it, and its line is the last; or somebody removed it.
			if (size !== current.size || nlink === 0) {
				await current.file.close();
				current = this.#current = null;
			}
		}
		current ??= await this.#opened();
		if (current.size >= maxBytes && current.torn === 0) {
			await current.file.close();
			const index = current.index + 1;
			current = { file: await this.#open(index), index, size: 0, head: current.head, torn: 0, cut: current.cut };
		}
		this.#current = current;
		return current;
	}

	async #opened(): Promise<Current> {
		makeAuditDirectory(this.directory);
		const files = auditFiles(this.directory);
		if (files.length === 0 && readHead(this.directory) === null) await this.#writeHead({ n: 0, hash: NO_HASH });
		const newest = files.at(-1);
		const index = newest === undefined ? 1 : Number.parseInt(newest, 10);
		const file = await this.#open(index);
		const { size } = await file.stat();
		const { head, torn } = lastOf(this.directory, files);
		const known = readHead(this.directory);
		const isCut = known !== null && (known.n > head.n || (known.n === head.n && known.hash !== head.hash));
		return { file, index, size, head, torn, cut: isCut ? known : null };
	}

	#open(index: number): Promise<FileHandle> {
		const flags =
			constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
		return open(join(this.directory, fileName(index)), flags, 0o600);
	}

	/**
	 * Lags behind the file where this process dies in between, which is no contradiction. Not synchronously: beside a
	 * program that fills the disk it takes 3 ms, and 30 now and then (measured), of every call's time.
	 */
	async #writeHead(head: Head): Promise<void> {
		const path = headPath(this.directory);
		const draft = `${path}.draft`;
		await rm(draft, { force: true });
		await writeFile(draft, JSON.stringify(head), { mode: 0o600, flag: "wx" });
		await rename(draft, path);
	}

	/** Removes what is too much or too old, and says so: what is missing without a word was removed by somebody else. */
	#removeOld({ index, head }: Current): readonly AuditEntry[] {
		const { maxFiles, maxAgeMs } = this.#limits;
		const before = auditFiles(this.directory).filter((name) => name !== fileName(index));
		const isOld = (name: string) => statSync(join(this.directory, name)).mtimeMs < Date.now() - maxAgeMs;
		const recent = before.findIndex((name) => !isOld(name));
		const count = Math.max(before.length + 1 - maxFiles, recent < 0 ? before.length : recent);
		if (count <= 0) return [];
		const kept = before[count];
		const first = kept === undefined ? null : parseLine(readRegular(join(this.directory, kept)).split("\n", 1)[0]!);
		const removed = before.slice(0, count);
		for (const name of removed) unlinkSync(join(this.directory, name));
		return [
			{ do: "removed", files: removed, upTo: first === null ? head.n : first.n - 1, hash: first?.prev ?? head.hash },
		];
	}
}

/** The last good line, and how much of an incomplete one is behind it. */
function lastOf(directory: string, files: readonly string[]): { readonly head: Head; readonly torn: number } {
	let torn = 0;
	for (const name of files.toReversed()) {
		const texts = readRegular(join(directory, name), TAIL_BYTES).split("\n");
		const rest = texts.pop() ?? "";
		if (name === files.at(-1)) torn = Buffer.byteLength(rest);
		for (const text of texts.toReversed()) {
			const line = parseLine(text);
			if (line !== null) return { head: { n: line.n, hash: hashOfLine(text) }, torn };
		}
	}
	return { head: { n: 0, hash: NO_HASH }, torn };
}
