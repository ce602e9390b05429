// A recording told as an agent would have read it: each look, one after the other.

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
	readonly hashes: readonly { readonly offset: number; readonly after: string }[];
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

/** Feeds the bytes up to each look in pieces of the given sizes, and tells what was read. `between` may exchange the screen after a look. */
export function meta(
	{ bytes, cols, rows, hashes }: Recording,
	nextSize: () => number,
	between: (screen: Screen) => Screen = (screen) => screen,
): string {
	let screen = new Screen({ cols, rows });
	let position: Position | null = null;
	let at = 0;
	const told: string[] = [];
	for (const { offset, after } of hashes) {
		while (at < offset) {
			const end = Math.min(offset, at + Math.max(1, nextSize()));
			screen.feed(bytes.subarray(at, end));
			at = end;
		}
		const look = screen.diffSince(position);
		position = JSON.parse(JSON.stringify(look.position)) as Position;
		const missed = look.missed ? ` · missed ${look.missed.lines} lines` : "";
		told.push(`──── ${after} → ${look.kind}${missed}`, look.text, ...notesOn(look).map((note) => `(${note})`));
		screen = between(screen);
	}
	told.push("──── the screen at the end", screen.snapshot().text);
	screen.dispose();
	return `${told.join("\n")}\n`;
}
