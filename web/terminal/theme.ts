// The terminal's colours are the daemon's own (it tells programs which background they
// have), in the dark and in the light page alike.

import type { ITheme } from "@xterm/xterm";
import { PALETTE, THEME } from "../../src/terminal/colors.ts";
import { blend, GOOD_CONTRAST, readable } from "../../src/terminal/contrast.ts";

export const MONOSPACE =
	'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const BRIGHT = [
	"brightBlack",
	"brightRed",
	"brightGreen",
	"brightYellow",
	"brightBlue",
	"brightMagenta",
	"brightCyan",
	"brightWhite",
] as const;

export const TERMINAL_THEME: ITheme = {
	...THEME,
	cursorAccent: THEME.background,
	selectionBackground: "#3d5a8f",
	selectionInactiveBackground: "#34435e",
	...Object.fromEntries([...NAMES, ...BRIGHT].map((name, index) => [name, PALETTE[index]])),
	extendedAnsi: PALETTE.slice(16),
};

/** How much of the way to the background dim text goes, as far as it can be read there. */
const DIM_SHARE = 0.35;

/** xterm.js draws dim text half transparent and asks only half of the contrast of it. For the 16 colours of programs; session.css has the default one's. */
export const DIM_RULES: string = [...NAMES, ...BRIGHT]
	.map((_, index) => {
		const dim = readable(blend(PALETTE[index]!, THEME.background, DIM_SHARE), THEME.background, {
			least: GOOD_CONTRAST,
		});
		return `.terminal-host .xterm .xterm-rows .xterm-dim.xterm-fg-${index}:not([class*="xterm-bg-"]) { color: ${dim}; }`;
	})
	.join("\n");
