import { expect, test } from "vitest";
import { CELL } from "./replies.ts";
import { isShape, shapeOf } from "./shapes.ts";

const at = { x: 0, y: 0 };
const range = (from: number, to: number) =>
	Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i));
const drawings = [
	...range(0x2500, 0x259f),
	...range(0x2801, 0x28ff),
	...range(0xe0b0, 0xe0b3),
	...range(0x1fb00, 0x1fb3b),
];

/** The pixels that a shape without curves fills, as rows of `#` and `.`. */
function pixels(char: string): string[] {
	const rows = Array.from({ length: CELL.height }, () => Array<string>(CELL.width).fill("."));
	for (const [, x, y, width, height] of shapeOf(char, at).fill.matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)/g))
		for (let row = Number(y); row < Number(y) + Number(height); row++)
			for (let column = Number(x); column < Number(x) + Number(width); column++) rows[row]![column] = "#";
	return rows.map((row) => row.join(""));
}

const edges = (char: string) => {
	const rows = pixels(char);
	return {
		up: rows[0]!,
		right: rows.map((row) => row.at(-1)!).join(""),
		down: rows.at(-1)!,
		left: rows.map((row) => row[0]!).join(""),
	};
};

test("every box, block, sextant, braille pattern and arrow has a shape within its cell", () => {
	for (const char of drawings) {
		expect(isShape(char)).toBe(true);
		const { fill, stroke } = shapeOf(char, at);
		expect(`${fill}${stroke}`, char).toMatch(/^M/);
		expect(`${fill}${stroke}`, char).not.toMatch(/NaN|undefined/);
	}
	for (const char of ["a", "→", "●", "漢"]) expect(isShape(char)).toBe(false);
});

test("T14 lines meet at the edges of their cells: light, heavy and double", () => {
	for (const [horizontal, vertical, boxes] of [
		["─", "│", "┌┬┐├┼┤└┴┘"],
		["━", "┃", "┏┳┓┣╋┫┗┻┛"],
		["═", "║", "╔╦╗╠╬╣╚╩╝"],
	] as const) {
		const [straight, upright] = [edges(horizontal), edges(vertical)];
		for (const [i, char] of [...boxes].entries()) {
			const [row, column] = [Math.floor(i / 3), i % 3];
			const { up, right, down, left } = edges(char);
			const none = (edge: string) => expect(edge, char).not.toContain("#");
			row === 0 ? none(up) : expect(up, char).toBe(upright.up);
			row === 2 ? none(down) : expect(down, char).toBe(upright.down);
			column === 0 ? none(left) : expect(left, char).toBe(straight.left);
			column === 2 ? none(right) : expect(right, char).toBe(straight.right);
		}
	}
});

test("double lines turn and cross without filling the space between them", () => {
	const middle = (char: string) =>
		pixels(char)
			.slice(6, 13)
			.map((row) => row.slice(1, 8));
	expect(middle("╬")).toEqual(["..#.#..", "..#.#..", "###.###", ".......", "###.###", "..#.#..", "..#.#.."]);
	expect(middle("╔")).toEqual([".......", ".......", "..#####", "..#....", "..#.###", "..#.#..", "..#.#.."]);
	expect(middle("╪")).toEqual(["...#...", "...#...", "#######", "...#...", "#######", "...#...", "...#..."]);
	expect(middle("╧")).toEqual(["...#...", "...#...", "#######", ".......", "#######", ".......", "......."]);
});

test("half blocks share the cell without a gap or an overlap", () => {
	for (const [one, other] of ["▀▄", "▌▐", "▚▞", "▘▟", "▖▜"].map((pair) => [...pair])) {
		const both = pixels(one!).map((row, y) =>
			[...row].map((pixel, x) => (pixel === pixels(other!)[y]![x] ? "!" : "#")),
		);
		expect(both.flat(), `${one}${other}`).not.toContain("!");
	}
});

test("braille dots are where Unicode puts them", () => {
	const dotted = (char: string) =>
		pixels(char).flatMap((row, y) => [...row.matchAll(/##/g)].map(({ index }) => [index, y]));
	expect(dotted("⠁")).toEqual([
		[2, 1],
		[2, 2],
	]);
	expect(dotted("⢀")).toEqual([
		[6, 15],
		[6, 16],
	]);
	expect(dotted("⣿")).toHaveLength(16);
});
