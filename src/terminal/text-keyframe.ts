// The normal screen at rest as text alone: what the renderer of a transcript goes on from after
// a restart. Unlike keyframe.ts it keeps no colours and nothing of the alternate screen, and it
// keeps every row exactly.

import type { Emulator } from "./emulator.ts";

/** Plain JSON. */
export interface TextKeyframe {
	readonly cols: number;
	readonly rows: number;
	/** All rows, those above the screen included: `+` continues the row before, `-` does not; then the text. */
	readonly content: readonly string[];
	readonly x: number;
	readonly y: number;
	readonly scrollTop: number;
	readonly scrollBottom: number;
	readonly savedX: number;
	readonly savedY: number;
	readonly alternate: boolean;
	readonly wraparound: boolean;
	readonly insert: boolean;
	readonly origin: boolean;
	readonly joining: number;
}

/** Null in the middle of a sequence or a character, and with unusual tab stops or character sets, which are not kept. */
export function takeTextKeyframe(emulator: Emulator): TextKeyframe | null {
	if (!emulator.settled || !emulator.drawsPlainText) return null;
	const { cols, rows, alternate, normal, state, joining } = emulator;
	const { x, y, scrollTop, scrollBottom, savedX, savedY } = normal;
	const content: string[] = [];
	for (let i = 0; i < normal.lines.length; i++) {
		const row = normal.lines.get(i)!;
		content.push(`${row.isWrapped ? "+" : "-"}${row.translateToString(true)}`);
	}
	const { wraparound, origin } = state.coreService.decPrivateModes;
	const { insertMode: insert } = state.coreService.modes;
	const cursor = { x, y, scrollTop, scrollBottom, savedX, savedY };
	return { cols, rows, content, ...cursor, alternate, wraparound, insert, origin, joining };
}

/** Into a new emulator of the same size. */
export function applyTextKeyframe(emulator: Emulator, keyframe: TextKeyframe): void {
	const { content, x, y, scrollTop, scrollBottom, savedX, savedY, alternate, wraparound, insert, origin, joining } =
		keyframe;
	const encoder = new TextEncoder();
	const { decPrivateModes, modes } = emulator.state.coreService;
	decPrivateModes.wraparound = false;
	content.forEach((row, i) => {
		const top = i < emulator.rows ? i : emulator.rows - 1;
		if (i >= emulator.rows) emulator.scrollAway(1);
		emulator.write(encoder.encode(`\x1b[${top + 1}H${row.slice(1)}`));
		if (row.startsWith("+")) emulator.continueRow(top);
	});
	Object.assign(emulator.normal, { x, y, scrollTop, scrollBottom });
	if (alternate) emulator.write(encoder.encode("\x1b[?1049h"));
	Object.assign(emulator.normal, { savedX, savedY });
	Object.assign(decPrivateModes, { wraparound, origin });
	modes.insertMode = insert;
	emulator.joining = joining;
}
