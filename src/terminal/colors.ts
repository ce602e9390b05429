// The colours of our terminal: what a query returns, and what a picture shows.

export const THEME = {
	foreground: "#d8dee9",
	background: "#16181d",
	cursor: "#d8dee9",
} as const;

const BASE = [
	"#23262e",
	"#e06c75",
	"#98c379",
	"#e5c07b",
	"#61afef",
	"#c678dd",
	"#56b6c2",
	"#c8ccd4",
	"#5c6370",
	"#ef8891",
	"#b1d88f",
	"#f0d399",
	"#82c2f7",
	"#d79be8",
	"#7bcdd8",
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
