// A recording as an agent would have read it: each read, one after the other.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Screen } from "../../src/terminal/screen.ts";
import type { Position } from "../../src/terminal/screen-diff.ts";
import { notesOn } from "./notes.ts";

const golden = join(import.meta.dirname, "golden");

export interface Recording {
	readonly name: string;
	readonly bytes: Uint8Array;
	readonly cols: number;
	readonly rows: number;
	readonly reads: readonly { readonly offset: number; readonly after: string }[];
}

export const recordings: readonly Recording[] = readdirSync(golden)
	.filter((file) => file.endsWith(".json"))
	.map((file) => {
		const name = file.replace(".json", "");
		return {
			name,
			bytes: readFileSync(join(golden, `${name}.bytes`)),
			...JSON.parse(readFileSync(join(golden, file), "utf8")),
		};
	});

/** Feeds the bytes up to each read in pieces of the given sizes, and returns what was read. `between` may replace the screen after a read. */
export function transcript(
	{ bytes, cols, rows, reads }: Recording,
	nextSize: () => number,
	between: (screen: Screen) => Screen = (screen) => screen,
): string {
	let screen = new Screen({ cols, rows });
	let position: Position | null = null;
	let at = 0;
	const lines: string[] = [];
	for (const { offset, after } of reads) {
		while (at < offset) {
			const end = Math.min(offset, at + Math.max(1, nextSize()));
			screen.feed(bytes.subarray(at, end));
			at = end;
		}
		const diff = screen.diffSince(position);
		position = JSON.parse(JSON.stringify(diff.position)) as Position;
		const missed = diff.missed ? ` · missed ${diff.missed.lines} lines` : "";
		lines.push(`──── ${after} → ${diff.kind}${missed}`, diff.text, ...notesOn(diff).map((note) => `(${note})`));
		screen = between(screen);
	}
	lines.push("──── the screen at the end", screen.snapshot().text);
	screen.dispose();
	return `${lines.join("\n")}\n`;
}
