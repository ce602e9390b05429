// The audit log on disk, as anybody can read and check it: files of JSON lines, each line with the hash of the one
// before. `audit-head.json` beside their directory says how far it went, so that lines missing at the end, or all of
// them, are noticed too.

import { createHash } from "node:crypto";
import {
	closeSync,
	constants,
	existsSync,
	fstatSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

export const AUDIT_DIRECTORY = "audit";
/** In the state directory: whoever removes the log does not remove it with it. */
export const HEAD_FILE = "audit-head.json";
/** Before the first line there is none. */
export const NO_HASH = "0".repeat(64);
const FILE = /^\d{6}\.jsonl$/;

/** One line. */
export interface AuditLine {
	readonly n: number;
	/** ISO 8601, UTC. */
	readonly at: string;
	readonly do: string;
	readonly prev: string;
	readonly owner?: string;
	readonly session?: string;
	readonly name?: string;
	readonly [field: string]: unknown;
}

/** How far the log goes. */
export interface Head {
	readonly n: number;
	readonly hash: string;
}

export interface Verified {
	readonly lines: number;
	readonly files: number;
	/** Lines that were cut short when the daemon was killed; the log says so itself. */
	readonly torn: number;
	/** Lines that could not be written, as the log says itself. */
	readonly lost: number;
	/** Where it is not as it was written; null where all of it is. */
	readonly broken: {
		readonly file: string;
		readonly line: number;
		readonly problem: string;
		/** Its beginning is missing: the lines that are sound come after this place, not before it. */
		readonly beginning?: true;
	} | null;
}

export const hashOfLine = (text: string): string => createHash("sha256").update(text).digest("hex");

export const fileName = (index: number): string => `${String(index).padStart(6, "0")}.jsonl`;

/** The oldest first. */
export function auditFiles(directory: string): readonly string[] {
	if (!existsSync(directory)) return [];
	return readdirSync(directory)
		.filter((name) => FILE.test(name))
		.sort();
}

/** Throws where it is no regular file: a pipe would keep us waiting. */
export function readRegular(path: string, tailBytes = Number.POSITIVE_INFINITY): string {
	const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const stat = fstatSync(fd);
		if (!stat.isFile()) throw new Error(`${path} is not a file`);
		if (stat.size <= tailBytes) return readFileSync(fd, "utf8");
		const buffer = Buffer.alloc(tailBytes);
		return buffer.toString("utf8", 0, readSync(fd, buffer, 0, tailBytes, stat.size - tailBytes));
	} finally {
		closeSync(fd);
	}
}

/** The whole file or the one before. */
export function replaceFile(path: string, text: string): void {
	const draft = `${path}.draft`;
	rmSync(draft, { force: true });
	writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
	renameSync(draft, path);
}

/** Null where it is no line of ours. */
export function parseLine(text: string): AuditLine | null {
	try {
		const line = JSON.parse(text) as AuditLine | null;
		return typeof line?.n === "number" && typeof line.do === "string" && typeof line.prev === "string" ? line : null;
	} catch {
		return null;
	}
}

/** Every line that can be read. */
export function* auditLines(directory: string): Generator<AuditLine> {
	for (const file of auditFiles(directory)) {
		for (const text of readRegular(join(directory, file)).split("\n")) {
			const line = parseLine(text);
			if (line !== null) yield line;
		}
	}
}

export const headPath = (directory: string): string => join(dirname(directory), HEAD_FILE);

export function readHead(directory: string): Head | null {
	try {
		const { n, hash } = JSON.parse(readRegular(headPath(directory))) as Head;
		return typeof n === "number" && typeof hash === "string" ? { n, hash } : null;
	} catch {
		return null; // missing or damaged, which is the same to a reader
	}
}

export function verify(directory: string): Verified {
	return new Check(directory).run();
}

class Check {
	readonly #directory: string;
	readonly #found = { lines: 0, files: 0, torn: 0, lost: 0 };
	#last: Head | null = null;
	/** Of that line. */
	#place: { readonly file: string; readonly line: number } | null = null;
	/** Of the line before the first that is kept. */
	#base: Head | null = null;
	readonly #removed = new Map<number, string>();
	readonly #head: Head | null;
	#headHash: string | null = null;

	constructor(directory: string) {
		this.#directory = directory;
		this.#head = readHead(directory);
	}

	run(): Verified {
		const files = auditFiles(this.#directory);
		let broken: Verified["broken"] = null;
		for (const [at, file] of files.entries()) {
			const expected = fileName(Number.parseInt(files[0]!, 10) + at);
			broken = file === expected ? this.#file(file) : { file: expected, line: 1, problem: "this file is missing" };
			if (broken !== null) break;
		}
		return { ...this.#found, broken: broken ?? this.#ends(files) };
	}

	#file(file: string): Verified["broken"] {
		this.#found.files++;
		const texts = readRegular(join(this.#directory, file)).split("\n");
		const isCut = texts.pop() !== ""; // after the last newline is nothing, unless the last line was cut short
		if (isCut) this.#found.torn++;
		for (const [at, text] of texts.entries()) {
			const line = parseLine(text);
			const next = line === null ? parseLine(texts[at + 1] ?? "") : null;
			if (next?.do === "torn" && next.bytes === Buffer.byteLength(text)) this.#found.torn++;
			else {
				const problem = line === null ? "this is not a line of the log" : this.#problemOf(line);
				if (problem !== null) return { file, line: at + 1, problem };
				if (this.#last !== null && line!.prev !== this.#last.hash) return this.#changed(file, texts, at);
				this.#take(line!, text);
				this.#place = { file, line: at + 1 };
			}
		}
		return null;
	}

	#problemOf({ n, prev, do: kind }: AuditLine): string | null {
		if (this.#last === null) {
			this.#base = { n: n - 1, hash: prev };
			return null;
		}
		if (kind === "cut") return "lines were missing or changed before it when the daemon started";
		return n === this.#last.n + 1 ? null : `it has the number ${n} instead of ${this.#last.n + 1}`;
	}

	/** A line has another hash than that of the line before it: that one was changed, unless the one after does not know this one either. */
	#changed(file: string, texts: readonly string[], at: number): Verified["broken"] {
		const after = parseLine(texts[at + 1] ?? "");
		if (after !== null && after.prev !== hashOfLine(texts[at]!))
			return { file, line: at + 1, problem: "this line was changed, or the one before it" };
		this.#found.lines--;
		return { ...this.#place!, problem: "this line was changed" };
	}

	#take(line: AuditLine, text: string): void {
		const hash = hashOfLine(text);
		this.#last = { n: line.n, hash };
		this.#found.lines++;
		if (line.do === "gap" && typeof line.lost === "number") this.#found.lost += line.lost;
		if (line.do === "removed") this.#removed.set(Number(line.upTo), String(line.hash));
		if (line.n === this.#head?.n) this.#headHash = hash;
	}

	/** Whether nothing is missing at the beginning and at the end. */
	#ends(files: readonly string[]): Verified["broken"] {
		const at = { file: files.at(-1) ?? fileName(1), line: this.#found.lines };
		const first = { file: files[0] ?? fileName(1), line: 1, beginning: true } as const;
		const [head, last, base] = [this.#head, this.#last, this.#base];
		if (base !== null && base.n > 0 && this.#removed.get(base.n) !== base.hash)
			return {
				...first,
				problem: `the ${base.n === 1 ? "line before it is" : `${base.n} lines before it are`} missing`,
			};
		if (base !== null && base.n === 0 && base.hash !== NO_HASH)
			return { ...first, problem: "it is not the first line" };
		if (head === null) {
			const problem = `${HEAD_FILE} is missing or damaged: lines may be missing at the end`;
			return files.length === 0 ? null : { ...at, problem };
		}
		if (files.length === 0 && head.n > 0)
			return { ...at, problem: `the whole log is missing: it had ${head.n} ${head.n === 1 ? "line" : "lines"}` };
		const missing = head.n - (last?.n ?? 0);
		if (missing > 0)
			return { ...at, problem: `${missing} ${missing === 1 ? "line is" : "lines are"} missing at the end` };
		if (head.n > (base?.n ?? 0) && this.#headHash !== head.hash)
			return { ...at, problem: `line ${head.n} is not the one that was written` };
		return null;
	}
}
