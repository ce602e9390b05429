import type { Modes } from "../src/terminal/modes.ts";

/** A terminal of which nothing was asked yet. */
export const PLAIN_MODES: Modes = {
	applicationCursor: false,
	applicationKeypad: false,
	bracketedPaste: false,
	mouse: "none",
	mouseEncoding: "legacy",
	focus: false,
	synchronized: false,
	alternateScreen: false,
	cursorVisible: true,
	kittyKeyboard: 0,
};
