// Where a transcript goes on (text.json): how much of the log is rendered, the index of its text, and the renderer's screen.

import { join } from "node:path";
import { z } from "zod";
import { checked, FORMAT, MAX_BYTES, parseJson, readCache, replaceState } from "../journal/state-file.ts";

const FILE = "text.json";

const count = z.int().min(0);
const cells = z.int().min(0).max(100_000);
const schema = z.object({
	raw: count,
	sealed: z.boolean(),
	log: z.object({ line: count, text: count, index: z.array(count).readonly(), segments: z.array(count).readonly() }),
	marks: z.array(z.tuple([count, z.object({ line: count, blank: z.boolean() })])),
	begun: z.string().optional(),
	screen: z
		.object({
			cols: cells.min(2).max(1000),
			rows: cells.min(1).max(500),
			content: z.array(z.string()).readonly(),
			x: cells,
			y: cells,
			scrollTop: cells,
			scrollBottom: cells,
			savedX: cells,
			savedY: cells,
			alternate: z.boolean(),
			wraparound: z.boolean(),
			insert: z.boolean(),
			origin: z.boolean(),
			joining: count,
		})
		.refine(
			({ cols, rows, x, y, scrollTop, scrollBottom, content }) =>
				x <= cols && y < rows && scrollTop <= scrollBottom && scrollBottom < rows && content.length >= rows,
			"a cursor outside of the screen",
		),
});
export type TranscriptState = z.output<typeof schema>;

/** Null where there is none, or none that can be used. */
export function readState(directory: string): Promise<TranscriptState | null> {
	return readCache<TranscriptState>({
		path: join(directory, FILE),
		maxBytes: MAX_BYTES.transcript,
		parse: (text) => checked(schema, parseJson(text)),
	});
}

/** False on a full disk, or where the session was removed. */
export async function writeState(directory: string, state: TranscriptState): Promise<boolean> {
	try {
		await replaceState(join(directory, FILE), JSON.stringify({ format: FORMAT, ...state }));
		return true;
	} catch {
		return false;
	}
}
