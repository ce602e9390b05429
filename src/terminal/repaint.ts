// A screen as what a program would have to print to make it: for a person who joins
// a session on a terminal of their own, in a shell or in a browser.

import type { ScreenState } from "./screen.ts";

// Never ESC[3J: what has scrolled away on their terminal is theirs.
const CLEAN = "\x1b[!p\x1b[2J\x1b[H";

// What the serializer leaves out because it has forgotten how it was asked for.
const MOUSE_ENCODINGS: Readonly<Record<string, string>> = { SGR: "\x1b[?1006h", SGR_PIXELS: "\x1b[?1016h" };

export function repaint({ content, cursorHidden, mouse }: ScreenState): string {
	return `${CLEAN}${content}${MOUSE_ENCODINGS[mouse.encoding] ?? ""}${cursorHidden ? "\x1b[?25l" : ""}`;
}

/** Without colours and modes: for a screen that cannot be told in the middle of a sequence. */
export function repaintText(text: string): string {
	return `${CLEAN}${text.replaceAll("\n", "\r\n")}`;
}
