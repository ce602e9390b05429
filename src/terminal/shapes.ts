// Characters that are drawings, as shapes: boxes, blocks, braille, powerline arrows.
//
// They are meant to join their neighbours without a seam, which no font does in cells of our size, and fonts often lack
// them. Lines lie on whole pixels.

import { CELL } from "./replies.ts";

/** Path data; empty where there is nothing of the kind. */
export interface Shape {
	readonly fill: string;
	/** Curves and diagonals, one pixel wide. */
	readonly stroke: string;
	readonly opacity: number;
}

interface Place {
	readonly x: number;
	readonly y: number;
}

type Rect = readonly [x: number, y: number, width: number, height: number];

const { width: W, height: H } = CELL;
/** The pixel in the middle, through which light lines go. */
const CX = Math.floor(W / 2);
const CY = H / 2;

/** Where a drawn character may be: to be asked for each cell. */
export const isShape = (char: string): boolean => {
	const code = char.codePointAt(0)!;
	return (
		(code >= 0x2500 && code <= 0x259f) ||
		(code >= 0x2800 && code <= 0x28ff) ||
		(code >= 0xe0b0 && code <= 0xe0b3) ||
		(code >= 0x1fb00 && code <= 0x1fb3b)
	);
};

/** The shape of a character for which `isShape` holds, in the cell whose upper left corner is given. */
export function shapeOf(char: string, { x, y }: Place): Shape {
	const code = char.codePointAt(0)!;
	const filled = (rects: readonly Rect[], opacity = 1): Shape => ({
		fill: rects.map(([rx, ry, width, height]) => `M${x + rx} ${y + ry}h${width}v${height}h${-width}z`).join(""),
		stroke: "",
		opacity,
	});
	const stroked = (lines: readonly string[]): Shape => ({
		fill: "",
		stroke: lines.map((line) => `M${x} ${y}${line}`).join(""),
		opacity: 1,
	});
	if (code >= 0x2591 && code <= 0x2593) return filled([[0, 0, W, H]], (code - 0x2590) / 4);
	if (code >= 0x1fb00) return filled(sextants(code));
	if (code >= 0xe0b0) {
		const [from, to] = code < 0xe0b2 ? [0, W] : [W, 0];
		const arrow = `m${from} 0l${to - from} ${H / 2}l${from - to} ${H / 2}`;
		return code % 2 === 0 ? { fill: `M${x} ${y}${arrow}z`, stroke: "", opacity: 1 } : stroked([arrow]);
	}
	if (code >= 0x2800) return filled(braille(code));
	if (code >= 0x2580) return filled(block(code));
	const curve = CURVES[char];
	if (curve !== undefined) return stroked(curve);
	const dash = DASHES[char];
	return filled(dash !== undefined ? dashes(dash) : box(ARMS[code - 0x2500]!));
}

/** Arms of the box drawing characters from U+2500 on: up, right, down, left; 0 none, 1 light, 2 heavy, 3 double. */
const ARMS = `
	0101 0202 1010 2020 ---- ---- ---- ---- ---- ---- ---- ---- 0110 0210 0120 0220
	0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 1110 1210 2110 1120
	2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 0111 0112 0211 0212
	0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 1111 1112 1211 1212
	2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 ---- ---- ---- ----
	0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130
	3330 1013 3031 3033 0313 0131 0333 1303 3101 3303 1313 3131 3333 ---- ---- ----
	---- ---- ---- ---- 0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010`
	.trim()
	.split(/\s+/);
const HEAVY = 2;
const DOUBLE = 3;

/**
 * One arm as lines: across from the middle, and where it ends beyond the middle. The ends follow from the lines that it
 * meets: a double one stops at the near line of a crossing, goes round a corner to the far one, or passes.
 */
function arm({ self, opposite, before, after }: { self: number; opposite: number; before: number; after: number }) {
	if (self === 0) return [];
	if (self === DOUBLE)
		return [[-1, before, after] as const, [1, after, before] as const].map(([at, beside, beyond]) => ({
			at,
			size: 1,
			end: beside === DOUBLE ? 0 : beside > 0 || opposite > 0 ? 1 : beyond === DOUBLE ? 2 : 1,
		}));
	const doubles = [before, after].filter((weight) => weight === DOUBLE).length;
	const heavy = Math.max(before, after) === HEAVY;
	const end = opposite > 0 ? 1 : doubles === 2 ? 0 : doubles === 1 || heavy ? 2 : 1;
	return [self === HEAVY ? { at: -1, size: 3, end } : { at: 0, size: 1, end }];
}

function box(arms: string): Rect[] {
	const [up, right, down, left] = [...arms].map(Number) as [number, number, number, number];
	return [
		...arm({ self: up, opposite: down, before: left, after: right }).map(
			({ at, size, end }): Rect => [CX + at, 0, size, CY + end],
		),
		...arm({ self: down, opposite: up, before: left, after: right }).map(
			({ at, size, end }): Rect => [CX + at, CY + 1 - end, size, H - CY - 1 + end],
		),
		...arm({ self: left, opposite: right, before: up, after: down }).map(
			({ at, size, end }): Rect => [0, CY + at, CX + end, size],
		),
		...arm({ self: right, opposite: left, before: up, after: down }).map(
			({ at, size, end }): Rect => [CX + 1 - end, CY + at, W - CX - 1 + end, size],
		),
	];
}

const MIDDLE = { x: CX + 0.5, y: CY + 0.5 };
const RADIUS = MIDDLE.x;
/** From the middle of an edge around the corner to the middle of the next. */
const arc = (goesDown: boolean, goesRight: boolean) => {
	const [edgeY, sideX] = [goesDown ? H : 0, goesRight ? 1 : -1];
	const turn = MIDDLE.y + (goesDown ? RADIUS : -RADIUS);
	return [`m${MIDDLE.x} ${edgeY}v${turn - edgeY}q0 ${MIDDLE.y - turn} ${sideX * RADIUS} ${MIDDLE.y - turn}`];
};
const RISING = `m${W} 0l${-W} ${H}`;
const FALLING = `l${W} ${H}`;
const CURVES: Readonly<Record<string, readonly string[]>> = {
	"╭": arc(true, true),
	"╮": arc(true, false),
	"╯": arc(false, false),
	"╰": arc(false, true),
	"╱": [RISING],
	"╲": [FALLING],
	"╳": [RISING, FALLING],
};

interface Dashes {
	readonly count: number;
	readonly heavy: boolean;
	readonly vertical: boolean;
}
const DASHES: Readonly<Record<string, Dashes>> = Object.fromEntries(
	(
		[
			["┄┅┆┇", 3],
			["┈┉┊┋", 4],
			["╌╍╎╏", 2],
		] as const
	).flatMap(([chars, count]) => [...chars].map((char, i) => [char, { count, heavy: i % 2 === 1, vertical: i > 1 }])),
);

function dashes({ count, heavy, vertical }: Dashes): Rect[] {
	const [at, size] = heavy ? [-1, 3] : [0, 1];
	return Array.from({ length: count }, (_, i) => {
		const from = Math.round((i * (vertical ? H : W)) / count);
		const length = Math.round(((i + 1) * (vertical ? H : W)) / count) - from - 1;
		return vertical ? [CX + at, from, size, length] : [from, CY + at, length, size];
	});
}

/** Upper left, upper right, lower left, lower right: of the characters from U+2596 on. */
const QUADRANTS = ["0010", "0001", "1000", "1011", "1001", "1110", "1101", "0100", "0110", "0111"];

function block(code: number): Rect[] {
	const eighths = (count: number, whole: number) => Math.round((count * whole) / 8);
	if (code === 0x2580) return [[0, 0, W, H / 2]];
	if (code <= 0x2588) {
		const height = eighths(code - 0x2580, H);
		return [[0, H - height, W, height]];
	}
	if (code <= 0x258f) return [[0, 0, eighths(0x2590 - code, W), H]];
	if (code === 0x2590) return [[eighths(4, W), 0, W - eighths(4, W), H]];
	if (code === 0x2594) return [[0, 0, W, eighths(1, H)]];
	if (code === 0x2595) return [[W - eighths(1, W), 0, eighths(1, W), H]];
	return parts(QUADRANTS[code - 0x2596]!, 2);
}

/** Two columns of so many rows, told row by row. */
function parts(bits: string, rows: number): Rect[] {
	const left = Math.round(W / 2);
	return [...bits].flatMap((bit, i): Rect[] => {
		if (bit === "0") return [];
		const row = Math.floor(i / 2);
		return [[i % 2 === 0 ? 0 : left, (row * H) / rows, i % 2 === 0 ? left : W - left, H / rows]];
	});
}

/** All patterns of six but the empty, the full and the two that are half blocks. */
function sextants(code: number): Rect[] {
	let pattern = code - 0x1fb00 + 1;
	if (pattern >= 0b010101) pattern++;
	if (pattern >= 0b101010) pattern++;
	return parts([...pattern.toString(2).padStart(6, "0")].reverse().join(""), 3);
}

/** Columns and rows of the eight dots, in the order of their bits. */
const DOTS = [0, 1, 2, 4, 5, 6, 3, 7];

function braille(code: number): Rect[] {
	return DOTS.flatMap((dot, bit): Rect[] => {
		if (((code - 0x2800) & (1 << bit)) === 0) return [];
		const [column, row] = [dot >> 2, dot & 3];
		return [[2 + column * 4, Math.round(1.25 + (row * H) / 4), 2, 2]];
	});
}
