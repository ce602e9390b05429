// What plain rows cannot show, in words: where the cursor is and what stands out.
// Rows and columns are counted from 1 here, as people and status lines count.

import { clean } from "../../src/protocol/clean.ts";
import type { Highlight } from "../../src/terminal/highlights.ts";
import type { Cursor } from "../../src/terminal/screen-diff.ts";

export interface Shown {
	readonly buffer: "normal" | "alternate";
	readonly cursor: Cursor;
	readonly highlights: readonly Highlight[];
}

/** A few short lines for a model; none for plain line output. */
export function notesOn({ buffer, cursor, highlights }: Shown): string[] {
	const notes: string[] = [];
	if (buffer === "alternate" && cursor.visible)
		notes.push(`cursor: row ${cursor.row + 1}, column ${cursor.column + 1}`);
	const byRow = new Map<number, string[]>();
	for (const { row, text } of highlights) byRow.set(row, [...(byRow.get(row) ?? []), clean(text).text]);
	for (const [row, texts] of byRow) notes.push(`highlighted: row ${row + 1}: ${texts.join(" | ")}`);
	return notes;
}
