// Serializes a screen and restores it: for hibernated sessions, and for the exact screen
// after a restart (keyframe, then the tail of the journal).
//
// The serializer emits escape sequences and omits some state (the pen, a hidden cursor, the
// mouse encoding, margins, the saved cursor), which is stored beside it. Tab stops and
// character sets other than the default are lost.

import { SerializeAddon } from "@xterm/addon-serialize/lib/addon-serialize.mjs";
import type { Emulator } from "./emulator.ts";
import type { Grid } from "./grid.ts";

export interface Keyframe {
	readonly cols: number;
	readonly rows: number;
	readonly content: string;
	/** The number of the cursor's logical line in the normal buffer. */
	readonly cursorLine: number;
	readonly droppedRows: number;
	readonly cursorHidden: boolean;
	readonly mouse: { readonly protocol: string; readonly encoding: string };
	/** The emulator's modes, by its own names. */
	readonly modes: object;
	readonly privateModes: object;
	readonly pen: { readonly fg: number; readonly bg: number };
	readonly normal: Margins;
	readonly alternate: Margins;
}

interface Margins {
	readonly scrollTop: number;
	readonly scrollBottom: number;
	readonly savedX: number;
	readonly savedY: number;
	/** The serializer misplaces a cursor that waits behind the last column. */
	readonly x: number;
}

const marginsOf = ({ scrollTop, scrollBottom, savedX, savedY, x }: Grid): Margins => ({
	scrollTop,
	scrollBottom,
	savedX,
	savedY,
	x,
});

// Serializing takes a microsecond for each cell of another colour than the one before. This is 120 × 40 and a thousand
// lines above it; of larger screens fewer lines are kept, and one that is larger by itself is drawn from the log instead.
const MAX_CELLS = 160_000;

/** Lines above the screen that a keyframe has room for; null if not even the screen fits. */
function roomAbove({ cols, rows, normal, alternate }: Emulator): number | null {
	const room = Math.floor(MAX_CELLS / cols) - rows * (alternate ? 2 : 1);
	return room < 0 ? null : Math.min(normal.ybase, room);
}

/** All of the screen fits into a keyframe. */
export function fitsKeyframe(emulator: Emulator): boolean {
	return roomAbove(emulator) === emulator.normal.ybase;
}

/** Null in the middle of a sequence or a character: what follows would be read wrongly. Null if it is too large, too. */
export function takeKeyframe(emulator: Emulator): Keyframe | null {
	const scrollback = roomAbove(emulator);
	return emulator.settled && scrollback !== null
		? keyframeOf(emulator, contentOf(emulator, scrollback), scrollback)
		: null;
}

/** The screen alone, also in the middle of a sequence: to be looked at, not to go on from. Null if it is too large. */
export function pictureOf(emulator: Emulator): Keyframe | null {
	return roomAbove(emulator) === null ? null : keyframeOf(emulator, contentOf(emulator, 0), 0);
}

function contentOf(emulator: Emulator, scrollback: number): string {
	const serializer = new SerializeAddon();
	serializer.activate(emulator.terminal);
	// It draws the alternate screen as if that began blank and ended where its text ends: entering it with colours on
	// fills it with them, and so does erasing.
	const content = serializer
		.serialize({ scrollback })
		.replace("\x1b[?1049h\x1b[H", `$&\x1b[m\x1b[2J${erasedCells(emulator)}\x1b[H`);
	serializer.dispose();
	return content;
}

/** With this content, which shows so many lines above the screen. */
export function keyframeOf(emulator: Emulator, content: string, scrollback: number): Keyframe {
	const { normal, alternate } = emulator.grids;
	const { coreService, coreMouseService } = emulator.state;
	return {
		cols: emulator.cols,
		rows: emulator.rows,
		content,
		cursorLine: emulator.lineOfRow(normal.ybase + normal.y),
		droppedRows: emulator.droppedRows + normal.ybase - scrollback,
		cursorHidden: coreService.isCursorHidden,
		mouse: { protocol: coreMouseService.activeProtocol, encoding: coreMouseService.activeEncoding },
		modes: { ...coreService.modes },
		privateModes: { ...coreService.decPrivateModes },
		pen: { fg: emulator.pen.fg, bg: emulator.pen.bg },
		normal: marginsOf(normal),
		alternate: marginsOf(alternate),
	};
}

/** The colours of what was erased to the right of the text on the alternate screen. */
function erasedCells(emulator: Emulator): string {
	if (!emulator.alternate) return "";
	const { lines, ybase } = emulator.grids.alternate;
	const cell = emulator.newCell();
	let filled = "";
	for (let y = 0; y < emulator.rows; y++) {
		const row = lines.get(ybase + y);
		if (row === undefined) continue;
		let from = emulator.cols;
		row.loadCell(from - 1, cell);
		const { bg } = cell;
		const color = cell.getBgColor();
		const background = cell.isBgRGB()
			? `2;${color >> 16};${(color >> 8) & 255};${color & 255}`
			: cell.isBgPalette()
				? `5;${color}`
				: null;
		while (from > row.getTrimmedLength() && row.loadCell(from - 1, cell).bg === bg) from--;
		if (background !== null && from < emulator.cols) filled += `\x1b[${y + 1};${from + 1}H\x1b[48;${background}m\x1b[K`;
	}
	return filled === "" ? "" : `${filled}\x1b[m`;
}

/** Into a new emulator of the same size. */
export function applyKeyframe(emulator: Emulator, keyframe: Keyframe): void {
	emulator.write(new TextEncoder().encode(keyframe.content));
	const { coreService, coreMouseService } = emulator.state;
	coreService.isCursorHidden = keyframe.cursorHidden;
	coreMouseService.activeProtocol = keyframe.mouse.protocol;
	coreMouseService.activeEncoding = keyframe.mouse.encoding;
	Object.assign(coreService.modes, keyframe.modes);
	Object.assign(coreService.decPrivateModes, keyframe.privateModes);
	Object.assign(emulator.pen, keyframe.pen);
	Object.assign(emulator.grids.normal, keyframe.normal);
	Object.assign(emulator.grids.alternate, keyframe.alternate);
	emulator.renumber(keyframe.cursorLine, keyframe.droppedRows);
}
