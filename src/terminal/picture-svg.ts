// The screen as a picture: SVG, crisp at any size, its text selectable, without a browser.
//
// Cells are whole pixels, so that no seams show between coloured cells; lines and blocks are shapes that join (shapes.ts).
// Every run of letters has an explicit width, and every other character is centred in its own cells, so that columns align
// in any font, and nothing is reordered. Text that could not be read against its background is moved (contrast.ts).

import { PALETTE, THEME } from "./colors.ts";
import { blend, LEAST_CONTRAST, readable } from "./contrast.ts";
import { CELL } from "./replies.ts";
import type { Screen } from "./screen.ts";
import { isShape, shapeOf } from "./shapes.ts";
import type { Area, Color, Run } from "./styled-rows.ts";

export interface PictureOptions {
	readonly theme?: { readonly foreground: string; readonly background: string };
	/** Drawn above the screen; the terminal's own title if left out and not empty. */
	readonly title?: string;
	/** Pixels around the screen. */
	readonly padding?: number;
}

// 1000 × 500 cells, each in its own colour, are an SVG of 60 MB and a picture of 324 MB.
const MAX_PICTURE = { cols: 240, rows: 80 } as const;

/** The part of a screen that a picture shows: all of it, or as much as fits around the cursor. */
export function pictureArea({ cols, rows, cursor }: Pick<Screen, "cols" | "rows" | "cursor">): Area {
	const around = (at: number, shown: number, all: number) =>
		Math.max(0, Math.min(at - Math.floor(shown / 2), all - shown));
	const shown = { cols: Math.min(cols, MAX_PICTURE.cols), rows: Math.min(rows, MAX_PICTURE.rows) };
	return {
		...shown,
		row: around(cursor.row, shown.rows, rows),
		column: around(cursor.column, shown.cols, cols),
	};
}

const FONT_SIZE = 15;
const BASELINE = 14;
const TITLE_BAR = 28;
/** What of its colour dim text keeps. */
const DIM_SHARE = 0.6;

/** The first that has a character draws it. */
const FONT_FAMILIES =
	"'DejaVu Sans Mono', 'JetBrains Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', 'Noto Color Emoji', monospace";

export function pictureSvg(screen: Screen, options: PictureOptions = {}): string {
	const { theme = THEME, padding = 12 } = options;
	const title = options.title ?? screen.title;
	const area = pictureArea(screen);
	const top = padding + (title ? TITLE_BAR : 0);
	const width = area.cols * CELL.width + 2 * padding;
	const height = area.rows * CELL.height + top + padding;
	const { cursor } = screen;
	const backgrounds: string[] = [];
	const shapes: string[] = [];
	const texts: string[] = [];
	screen.styledRows(area).forEach((row, index) => {
		const y = top + index * CELL.height;
		const atCursor = cursor.visible && cursor.row === area.row + index ? cursor.column - area.column : null;
		for (const run of atCursor === null ? row : withCursor(row, atCursor)) {
			const { background, text, drawn } = colorsOf(run, theme);
			const x = padding + run.column * CELL.width;
			const runWidth = run.width * CELL.width;
			if (background !== theme.background)
				backgrounds.push(`<rect x="${x}" y="${y}" width="${runWidth}" height="${CELL.height}" fill="${background}"/>`);
			for (const piece of piecesOf(run)) {
				const at = { x: padding + piece.column * CELL.width, y };
				if (piece.kind === "shapes") shapes.push(...shapesSvg(piece.text, at, drawn));
				else texts.push(textSvg(piece, at, `fill="${text}"${styleOf(run)}`));
			}
		}
	});
	const bar = title
		? `<text x="${width / 2}" y="${padding + BASELINE}" text-anchor="middle" fill="${blend(theme.background, theme.foreground, DIM_SHARE)}">${escapeXml(title)}</text>`
		: "";
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT_FAMILIES}" font-size="${FONT_SIZE}">`,
		"<style>text{white-space:pre}</style>",
		`<rect width="${width}" height="${height}" rx="8" fill="${theme.background}"/>`,
		bar,
		`<g shape-rendering="crispEdges">${backgrounds.join("")}</g>`,
		shapes.join(""),
		`<g xml:space="preserve">${texts.join("")}</g>`,
		"</svg>",
	].join("\n");
}

interface Colors {
	readonly background: string;
	readonly text: string;
	/** Of shapes: exactly as the program chose it, to match the backgrounds beside them. */
	readonly drawn: string;
}

function colorsOf(run: Run, theme: { readonly foreground: string; readonly background: string }): Colors {
	const hexOf = (color: Color, fallback: string) =>
		color === null ? fallback : typeof color === "number" ? PALETTE[color]! : color;
	let foreground = hexOf(run.foreground, theme.foreground);
	let background = hexOf(run.background, theme.background);
	let chosen = run.foreground;
	if (run.inverse) {
		[foreground, background] = [background, foreground];
		chosen = run.background;
	}
	const drawn = run.dim ? blend(background, foreground, DIM_SHARE) : foreground;
	// Dim text and exact colours are meant as they are, a fade to black too: they are only kept from vanishing.
	const isExact = run.dim || typeof chosen === "string" || (chosen !== null && chosen >= 16);
	return { background, drawn, text: readable(drawn, background, isExact ? { goal: LEAST_CONTRAST } : {}) };
}

/** The cell of the cursor reversed, as a block cursor is. */
function withCursor(row: readonly Run[], cursor: number): Run[] {
	return row.flatMap((run) => {
		const before = cursor - run.column;
		if (before < 0 || before >= run.width) return [run];
		if (run.alone) return [{ ...run, inverse: !run.inverse }];
		const part = (from: number, to: number): Run => ({
			...run,
			column: run.column + from,
			width: to - from,
			text: run.text.slice(from, to),
		});
		const parts = [
			part(0, before),
			{ ...part(before, before + 1), inverse: !run.inverse },
			part(before + 1, run.width),
		];
		return parts.filter(({ width }) => width > 0);
	});
}

interface Piece {
	readonly kind: "letters" | "character" | "shapes";
	readonly column: number;
	/** In cells. */
	readonly width: number;
	readonly text: string;
}

/** Letters of which monospaced fonts have all, each one cell wide and written from left to right. */
const LETTERS = /[\u0021-\u024f\u0370-\u052f]/;
const kindOf = (char: string): Piece["kind"] | null =>
	char === " " ? null : LETTERS.test(char) ? "letters" : isShape(char) ? "shapes" : "character";

/** A run by what draws it, without the blanks at its ends. */
function piecesOf(run: Run): Piece[] {
	if (run.alone) {
		const kind = isShape(run.text) ? "shapes" : "character";
		return [{ kind, column: run.column, width: run.width, text: run.text }];
	}
	const pieces: Piece[] = [];
	let blanks = "";
	for (const [i, char] of [...run.text].entries()) {
		// A blank with a line under it is a field of a form.
		const kind = char === " " && run.underline ? "letters" : kindOf(char);
		const last = pieces.at(-1);
		if (kind === null) blanks += char;
		else if (last && last.kind === kind && (kind === "letters" || (kind === "shapes" && blanks === ""))) {
			const text = last.text + blanks + char;
			pieces[pieces.length - 1] = { ...last, text, width: text.length };
			blanks = "";
		} else {
			pieces.push({ kind, column: run.column + i, width: 1, text: char });
			blanks = "";
		}
	}
	return pieces;
}

function textSvg({ kind, width, text }: Piece, { x, y }: { x: number; y: number }, style: string): string {
	const place =
		kind === "letters"
			? `x="${x}" y="${y + BASELINE}" textLength="${width * CELL.width}"`
			: `x="${x + (width * CELL.width) / 2}" y="${y + BASELINE}" text-anchor="middle"`;
	return `<text ${place} ${style}>${escapeXml(text)}</text>`;
}

function shapesSvg(text: string, { x, y }: { x: number; y: number }, color: string): string[] {
	const drawn = [...text].map((char, i) => shapeOf(char, { x: x + i * CELL.width, y }));
	const stroke = drawn.map((shape) => shape.stroke).join("");
	const opacities = new Set(drawn.filter(({ fill }) => fill !== "").map(({ opacity }) => opacity));
	const fills = [...opacities].map((opacity) => {
		const data = drawn.map((shape) => (shape.opacity === opacity ? shape.fill : "")).join("");
		const shade = opacity < 1 ? ` fill-opacity="${opacity}"` : "";
		return `<path d="${data}" fill="${color}"${shade} shape-rendering="crispEdges"/>`;
	});
	return stroke === "" ? fills : [...fills, `<path d="${stroke}" fill="none" stroke="${color}"/>`];
}

function styleOf({ bold, italic, underline, strike }: Run): string {
	const lines = [underline && "underline", strike && "line-through"].filter(Boolean).join(" ");
	return [bold && ' font-weight="bold"', italic && ' font-style="italic"', lines && ` text-decoration="${lines}"`]
		.filter(Boolean)
		.join("");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Text in XML: what XML cannot hold at all becomes the replacement character. */
const escapeXml = (text: string) =>
	text
		.replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff\p{Cs}]/gu, "\ufffd")
		.replace(/[&<>"]/g, (char) => ENTITIES[char]!);
