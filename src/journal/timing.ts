// The `timing` file: script(1)'s advanced format, as the holder writes it.
//
// `O seconds bytes` · `S seconds SIGWINCH ROWS=n COLS=n` · `H seconds NAME value`, each time counted from the
// line before. A truncated last line is ignored.

import { join } from "node:path";
import { CorruptState, openRegular } from "./state-file.ts";

/** A century: the sum of all delays stays a finite number. */
const MAX_DELAY_US = 100 * 366 * 86_400 * 1e6;
/** The holder's lines are shorter; what is longer is not one of them. */
const MAX_LINE_CHARS = 64 * 1024;

export type TimingEntry = { readonly afterUs: number } & (
	| { readonly kind: "output"; readonly bytes: number }
	| { readonly kind: "resized"; readonly cols: number; readonly rows: number }
	| { readonly kind: "header"; readonly name: string; readonly value: string }
);

/** One line without its newline; null for an unknown line. */
export function parseTimingLine(line: string): TimingEntry | null {
	const [kind, seconds = "", ...rest] = line.split(" ");
	const afterUs = Math.round(Number(seconds) * 1e6);
	if (seconds === "" || !(afterUs >= 0 && afterUs <= MAX_DELAY_US)) return null;
	switch (kind) {
		case "O": {
			const bytes = Number(rest[0]);
			return rest.length === 1 && Number.isSafeInteger(bytes) && bytes >= 0 ? { afterUs, kind: "output", bytes } : null;
		}
		case "S": {
			const size = /^SIGWINCH ROWS=(\d{1,5}) COLS=(\d{1,5})$/.exec(rest.join(" "));
			return size ? { afterUs, kind: "resized", rows: Number(size[1]), cols: Number(size[2]) } : null;
		}
		case "H": {
			const [name = "", ...value] = rest.filter((word, i) => i > 0 || word !== "");
			return name === "" ? null : { afterUs, kind: "header", name, value: value.join(" ").trim() };
		}
		default:
			return null;
	}
}

/** A script(1) timing line for an entry. */
export function timingLine(entry: TimingEntry): string {
	const after = (entry.afterUs / 1e6).toFixed(6);
	switch (entry.kind) {
		case "output":
			return `O ${after} ${entry.bytes}\n`;
		case "resized":
			return `S ${after} SIGWINCH ROWS=${entry.rows} COLS=${entry.cols}\n`;
		case "header":
			return `H ${after} ${entry.name} ${entry.value}\n`;
	}
}

/** The entries of a session's timing file, as far as it goes. */
export async function* readTiming(directory: string): AsyncGenerator<TimingEntry> {
	let rest = "";
	// Without a timing file there are no times; the bytes are still replayed.
	const file = await openRegular(join(directory, "timing")).catch((error: unknown) => {
		if (error instanceof CorruptState) return null;
		throw error;
	});
	if (file === null) return;
	try {
		for await (const text of file.createReadStream({ encoding: "latin1", highWaterMark: 1 << 18, autoClose: false })) {
			const lines = (rest + text).split("\n");
			rest = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS);
			for (const line of lines) {
				const entry = parseTimingLine(line);
				if (entry !== null) yield entry;
			}
		}
	} finally {
		await file.close();
	}
}
