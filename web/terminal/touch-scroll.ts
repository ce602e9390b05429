// A finger moves through the lines above the screen: xterm.js does that for a wheel only.

import type { Terminal } from "@xterm/xterm";

/** `around`: the element that the terminal is in, which scrolls by itself where the screen is higher than it. */
export function scrollByTouch(terminal: Terminal, around: HTMLElement): void {
	let lastY: number | null = null;
	around.addEventListener(
		"touchstart",
		({ touches }) => {
			lastY = touches.length === 1 ? touches[0]!.clientY : null;
		},
		{ passive: true },
	);
	around.addEventListener(
		"touchmove",
		({ touches }) => {
			if (lastY === null || touches.length !== 1 || around.scrollHeight > around.clientHeight) return;
			const rowPx = (terminal.element?.querySelector(".xterm-screen")?.clientHeight ?? 0) / terminal.rows;
			const lines = rowPx > 0 ? Math.trunc((lastY - touches[0]!.clientY) / rowPx) : 0;
			if (lines === 0) return;
			terminal.scrollLines(lines);
			lastY -= lines * rowPx;
		},
		{ passive: true },
	);
}
