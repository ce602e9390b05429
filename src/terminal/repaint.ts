// A screen as the output that reproduces it: for a person who attaches to a session
// from their own terminal or a browser.

import type { ScreenState } from "./screen.ts";

// Never ESC[3J: their scrollback is theirs.
const CLEAN = "\x1b[!p\x1b[2J\x1b[H";

// The serializer does not record which encoding was requested.
const MOUSE_ENCODINGS: Readonly<Record<string, string>> = { SGR: "\x1b[?1006h", SGR_PIXELS: "\x1b[?1016h" };

export function repaint({
	content,
	cursorHidden,
	mouse,
}: Pick<ScreenState, "content" | "cursorHidden" | "mouse">): string {
	return `${CLEAN}${content}${MOUSE_ENCODINGS[mouse.encoding] ?? ""}${cursorHidden ? "\x1b[?25l" : ""}`;
}

/** Without colours and modes: for a screen that cannot be serialized in the middle of a sequence. */
export function repaintText(text: string): string {
	return `${CLEAN}${text.replaceAll("\n", "\r\n")}`;
}
