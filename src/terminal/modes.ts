// The terminal modes that the program has set. They decide how a key, a click or
// a paste is encoded.

import type { Emulator } from "./emulator.ts";
import type { KittyKeyboard } from "./kitty-keyboard.ts";

export interface Modes {
	/** Arrow keys are `ESC O A`, not `ESC [ A`. */
	readonly applicationCursor: boolean;
	readonly applicationKeypad: boolean;
	readonly bracketedPaste: boolean;
	/** Which mouse events the program wants. */
	readonly mouse: "none" | "press" | "click" | "drag" | "any";
	readonly mouseEncoding: "legacy" | "sgr" | "sgr-pixels";
	/** It wants focus events. */
	readonly focus: boolean;
	/** It is in the middle of drawing a frame. */
	readonly synchronized: boolean;
	readonly alternateScreen: boolean;
	readonly cursorVisible: boolean;
	/** Flags of the kitty keyboard protocol, 0 when off. */
	readonly kittyKeyboard: number;
}

const MOUSE: Record<string, Modes["mouse"]> = { X10: "press", VT200: "click", DRAG: "drag", ANY: "any" };
const ENCODING: Record<string, Modes["mouseEncoding"]> = { SGR: "sgr", SGR_PIXELS: "sgr-pixels" };

export function modesOf(emulator: Emulator, kitty: KittyKeyboard): Modes {
	const { coreService, coreMouseService } = emulator.state;
	const { decPrivateModes: dec } = coreService;
	return {
		applicationCursor: dec.applicationCursorKeys,
		applicationKeypad: dec.applicationKeypad,
		bracketedPaste: dec.bracketedPasteMode,
		mouse: MOUSE[coreMouseService.activeProtocol] ?? "none",
		mouseEncoding: ENCODING[coreMouseService.activeEncoding] ?? "legacy",
		focus: dec.sendFocus,
		synchronized: dec.synchronizedOutput,
		alternateScreen: emulator.alternate,
		cursorVisible: !coreService.isCursorHidden,
		kittyKeyboard: kitty.flags(emulator.alternate),
	};
}
