// Finds the shell's own marks in raw output: where a prompt is, where a command
// began, where it ended and how.
//
// A mark is OSC 133 with a nonce of the session, so text that merely looks like
// one (a log, a spoofing program) is ignored; and marks are numbered, so a
// replayed one is ignored too. session/shell/ acts on them, and judges each before it counts.

export type MarkKind = "A" | "B" | "C" | "D" | "E";

export interface Mark {
	/** A: a prompt begins. B: it ends. C: a command begins. D: it ended. E: one of its streams ended. */
	readonly kind: MarkKind;
	/** Absolute offset of the mark's first byte, where the output before it ends. */
	readonly offset: number;
	/** Absolute offset after its last byte, where the output after it begins. */
	readonly end: number;
	/** The run it belongs to; null for what a person typed. */
	readonly run: string | null;
	/** D, and B where the shell reports it there: the exit code. */
	readonly exitCode: number | null;
	/** D: the code of each part of the last pipe. */
	readonly pipeStatus: readonly number[];
	/** D: the new working directory. */
	readonly cwd: string | null;
	/** E: 1 or 2. */
	readonly stream: number | null;
}

const ESC = 0x1b;
const BEL = 0x07;
const BACKSLASH = 0x5c;
const PREFIX = Uint8Array.from("\x1b]133;", (char) => char.charCodeAt(0));
// A path has at most 4096 bytes, three times that when percent-encoded. A longer "mark" is not ours.
const MAX_BODY_BYTES = 16_384;
/** Marks that may be missing between two: without a bound, a single forged one would make all that follow count as old. */
const MAX_MISSING = 1000;
/** The least that a mark with a number takes, of what a gap has swallowed. */
const MIN_MARK_BYTES = 40;

export interface Nonces {
	readonly aid: string;
	/** Of the marks that end a stream. */
	readonly end: string;
}

/** Whether a mark counts. `isOld`: its number was used before, so it does not. */
export type Judge = (mark: Mark, isOld: boolean) => boolean;

/** An incremental scanner; feed it every byte once, in order. */
export class MarkScanner {
	readonly #nonces: Nonces;
	readonly #judge: Judge;
	#next = -1;
	#start = 0;
	/** How much of the prefix has matched; then the body so far. */
	#matched = 0;
	#body: number[] = [];
	#escape = false;
	#count = 0;
	/** How many numbers may be missing before the next mark. */
	#missing = MAX_MISSING;

	constructor(nonces: Nonces, judge: Judge = () => true) {
		this.#nonces = nonces;
		this.#judge = judge;
	}

	/** Each mark before the next one is judged; to be read to the end. */
	*feed(bytes: Uint8Array, offset: number): Generator<Mark> {
		// A mark cut off by a gap is dropped.
		if (offset !== this.#next) {
			this.#matched = 0;
			this.#missing += Math.ceil(Math.abs(offset - this.#next) / MIN_MARK_BYTES);
		}
		this.#next = offset + bytes.length;
		let at = 0;
		while (at < bytes.length) {
			if (this.#matched === 0) {
				at = bytes.indexOf(ESC, at);
				if (at < 0) break;
				this.#begin(offset + at);
				at++;
			} else if (this.#matched < PREFIX.length) {
				if (bytes[at] === PREFIX[this.#matched]) {
					this.#matched++;
					at++;
				} else this.#matched = 0;
			} else if (this.#take(bytes[at]!, offset + at)) {
				const mark = this.#read(offset + at + 1);
				this.#matched = 0;
				at++;
				if (mark) yield mark;
			} else at++;
		}
	}

	#begin(offset: number): void {
		this.#start = offset;
		this.#matched = 1;
		this.#body = [];
		this.#escape = false;
	}

	/** One byte of the body; true when the mark is complete. */
	#take(byte: number, offset: number): boolean {
		if (this.#escape) {
			if (byte === BACKSLASH) return true;
			// An escape inside cancels the mark, and may begin another.
			this.#begin(offset - 1);
			if (byte === PREFIX[1]) this.#matched = 2;
			else if (byte === ESC) this.#begin(offset);
			else this.#matched = 0;
			return false;
		}
		if (byte === BEL) return true;
		if (byte === ESC) this.#escape = true;
		else if (byte < 0x20 || this.#body.length >= MAX_BODY_BYTES) this.#matched = 0;
		else this.#body.push(byte);
		return false;
	}

	#read(end: number): Mark | null {
		const [kind, ...fields] = decoder.decode(Uint8Array.from(this.#body)).split(";");
		if (!isKind(kind)) return null;
		const named = new Map<string, string>();
		for (const field of fields) {
			const equals = field.indexOf("=");
			named.set(equals < 0 ? "" : field.slice(0, equals), field.slice(equals + 1));
		}
		if (named.get("aid") !== (kind === "E" ? this.#nonces.end : this.#nonces.aid)) return null;
		const count = integer(named.get("n"));
		if (count !== null && count > this.#count + this.#missing) return null;
		const mark = {
			kind,
			offset: this.#start,
			end,
			run: named.get("r") ?? null,
			exitCode: kind === "D" ? integer(named.get("")) : integer(named.get("s")),
			pipeStatus: (named.get("pipe") ?? "").split(",").flatMap((status) => integer(status) ?? []),
			cwd: unescaped(named.get("cwd")),
			stream: kind === "E" ? integer(named.get("")) : null,
		};
		const isOld = count !== null && count <= this.#count;
		if (!this.#judge(mark, isOld) || isOld) return null;
		if (count !== null) {
			this.#count = count;
			this.#missing = MAX_MISSING;
		}
		return mark;
	}
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

const isKind = (kind: string | undefined): kind is MarkKind => kind !== undefined && /^[A-E]$/.test(kind);
const integer = (digits: string | undefined): number | null =>
	digits !== undefined && /^\d{1,9}$/.test(digits) ? Number(digits) : null;

function unescaped(path: string | undefined): string | null {
	if (!path) return null;
	const bytes: number[] = [];
	for (const [, hex, plain] of path.matchAll(/%([0-9A-Fa-f]{2})|([^%]+|%)/g)) {
		if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
		else bytes.push(...encoder.encode(plain));
	}
	return decoder.decode(Uint8Array.from(bytes));
}
