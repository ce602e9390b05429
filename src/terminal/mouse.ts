// Clicks, wheel and drags → bytes, where the program asked for a mouse.

import { Fault } from "../protocol/fault.ts";
import type { Modes } from "./modes.ts";
import { CELL } from "./replies.ts";

export interface MouseAction {
	readonly action: "click" | "press" | "release" | "move" | "drag" | "wheel-up" | "wheel-down";
	/** On the screen, from 0. */
	readonly row: number;
	readonly column: number;
	/** Where a drag ends. */
	readonly to?: { readonly row: number; readonly column: number };
	readonly button?: "left" | "middle" | "right";
	readonly shift?: boolean;
	readonly alt?: boolean;
	readonly ctrl?: boolean;
}

const BUTTONS = { left: 0, middle: 1, right: 2 } as const;
const NONE = 3;
const MOTION = 32;
const WHEEL = 64;

/** Throws `not_supported` when the program would take the bytes for typing. */
export function encodeMouse(mouse: MouseAction, modes: Modes): Uint8Array {
	const refuse = (what: string): never => {
		throw new Fault("not_supported", { what, instead: "Use keys: this program did not ask for it." });
	};
	if (modes.mouse === "none") refuse("A mouse");
	const held = (mouse.shift ? 4 : 0) + (mouse.alt ? 8 : 0) + (mouse.ctrl ? 16 : 0);
	const button = BUTTONS[mouse.button ?? "left"];
	const here = { row: mouse.row, column: mouse.column };
	const say = (code: number, at: { row: number; column: number }, release = false) =>
		report(code + (modes.mouse === "press" ? 0 : held), at, release, modes);
	const press = say(button, here);
	// X10 mode hears presses only.
	const release = (at = here) => (modes.mouse === "press" ? "" : say(button, at, true));
	switch (mouse.action) {
		case "click":
			return bytesOf(press + release());
		case "press":
			return bytesOf(press);
		case "release":
			return bytesOf(release());
		case "wheel-up":
		case "wheel-down":
			if (modes.mouse === "press") refuse("The wheel");
			return bytesOf(say(WHEEL + (mouse.action === "wheel-up" ? 0 : 1), here));
		case "move":
			if (modes.mouse !== "any") refuse("Moving the mouse");
			return bytesOf(say(NONE + MOTION, here));
		case "drag": {
			if (modes.mouse !== "drag" && modes.mouse !== "any") refuse("Dragging the mouse");
			const end = mouse.to ?? here;
			return bytesOf(press + say(button + MOTION, end) + release(end));
		}
	}
}

function report(
	code: number,
	{ row, column }: { row: number; column: number },
	release: boolean,
	modes: Modes,
): string {
	if (modes.mouseEncoding === "legacy") {
		// One byte for each coordinate: beyond column 223 nothing can be said.
		if (row > 222 || column > 222)
			throw new Fault("not_supported", {
				what: "A click that far right or down",
				instead: "Make the terminal smaller.",
			});
		return `\x1b[M${String.fromCharCode(32 + (release ? (code & ~3) | NONE : code), 33 + column, 33 + row)}`;
	}
	const pixels = modes.mouseEncoding === "sgr-pixels";
	const x = pixels ? column * CELL.width + (CELL.width >> 1) : column + 1;
	const y = pixels ? row * CELL.height + (CELL.height >> 1) : row + 1;
	return `\x1b[<${code};${x};${y}${release ? "m" : "M"}`;
}

/** Latin-1: the legacy encoding has bytes above 127 that are no UTF-8. */
const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
