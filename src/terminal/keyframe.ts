// A screen put into words and made again: for sessions that sleep, and for the exact screen
// after a restart (keyframe, then the tail of the journal).
//
// The serializer speaks in escape sequences and leaves out what has none or what it forgets
// (the pen, a hidden cursor, the mouse's encoding, margins, the saved cursor); that goes
// beside it. Tab stops and character sets other than the usual are lost.

import addon from "@xterm/addon-serialize";
import type { Engine, Grid } from "./engine.ts";

export interface Keyframe {
	readonly cols: number;
	readonly rows: number;
	readonly content: string;
	/** The number of the cursor's logical line in the normal buffer. */
	readonly cursorLine: number;
	readonly droppedRows: number;
	readonly cursorHidden: boolean;
	readonly mouse: { readonly protocol: string; readonly encoding: string };
	/** The emulator's own switches, by its own names. */
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
}

interface Serializer {
	activate(terminal: unknown): void;
	serialize(): string;
	dispose(): void;
}
const { SerializeAddon } = addon as unknown as { SerializeAddon: new () => Serializer };

const marginsOf = ({ scrollTop, scrollBottom, savedX, savedY }: Grid): Margins => ({
	scrollTop,
	scrollBottom,
	savedX,
	savedY,
});

/** Null in the middle of a sequence or a character: what follows would be read wrongly. */
export function takeKeyframe(engine: Engine): Keyframe | null {
	if (!engine.settled) return null;
	const serializer = new SerializeAddon();
	serializer.activate(engine.terminal);
	// It leaves the pen on before it draws the alternate screen, as if that began with a clean one.
	const content = serializer.serialize().replace("\x1b[?1049h\x1b[H", "$&\x1b[m");
	serializer.dispose();
	const { normal, alternate } = engine.grids;
	const { coreService, coreMouseService } = engine.state;
	return {
		cols: engine.cols,
		rows: engine.rows,
		content,
		cursorLine: engine.lineOfRow(normal.ybase + normal.y),
		droppedRows: engine.droppedRows,
		cursorHidden: coreService.isCursorHidden,
		mouse: { protocol: coreMouseService.activeProtocol, encoding: coreMouseService.activeEncoding },
		modes: { ...coreService.modes },
		privateModes: { ...coreService.decPrivateModes },
		pen: { fg: engine.pen.fg, bg: engine.pen.bg },
		normal: marginsOf(normal),
		alternate: marginsOf(alternate),
	};
}

/** Into a new engine of the same size. */
export function applyKeyframe(engine: Engine, keyframe: Keyframe): void {
	engine.write(new TextEncoder().encode(keyframe.content));
	const { coreService, coreMouseService } = engine.state;
	coreService.isCursorHidden = keyframe.cursorHidden;
	coreMouseService.activeProtocol = keyframe.mouse.protocol;
	coreMouseService.activeEncoding = keyframe.mouse.encoding;
	Object.assign(coreService.modes, keyframe.modes);
	Object.assign(coreService.decPrivateModes, keyframe.privateModes);
	Object.assign(engine.pen, keyframe.pen);
	Object.assign(engine.grids.normal, keyframe.normal);
	Object.assign(engine.grids.alternate, keyframe.alternate);
	engine.renumber(keyframe.cursorLine, keyframe.droppedRows);
}
