// The colours of our terminal: what a query returns, and what a picture shows.

export const THEME = {
	foreground: "#d8dee9",
	background: "#16181d",
	cursor: "#d8dee9",
} as const;

/**
 * Tango's, with the first eight moved so that they serve as text and as background alike: black and white can be read on
 * red, green, magenta and cyan and these on black (3:1), and what mc and dialog write on blue and on white can be read too.
 * What is left below that is moved where it is text (contrast.ts).
 */
const BASE = [
	"#0c0d10", // black
	"#cf3a3a", // red
	"#4d9113", // green
	"#c4a000", // yellow
	"#2d5ca3", // blue
	"#8f5a9e", // magenta
	"#0a8c90", // cyan
	"#d3d7cf", // white
	"#80868f", // and the bright ones
	"#f2655f",
	"#8ae234",
	"#fce94f",
	"#6ea3e0",
	"#cf8fd0",
	"#34e2e2",
	"#ffffff",
];

const hex = (value: number) => value.toString(16).padStart(2, "0");
const CUBE = [0, 95, 135, 175, 215, 255];

/** The 256 colours: sixteen of the theme, xterm's cube, xterm's greys. */
export const PALETTE: readonly string[] = [
	...BASE,
	...Array.from({ length: 216 }, (_, i) =>
		["#", hex(CUBE[Math.floor(i / 36)]!), hex(CUBE[Math.floor(i / 6) % 6]!), hex(CUBE[i % 6]!)].join(""),
	),
	...Array.from({ length: 24 }, (_, i) => `#${hex(8 + i * 10).repeat(3)}`),
];

/** `#rrggbb` as the `rgb:rrrr/gggg/bbbb` of OSC answers. */
export function hex16(color: string): string {
	const part = (at: number) => color.slice(at, at + 2).repeat(2);
	return `rgb:${part(1)}/${part(3)}/${part(5)}`;
}
