// The screen as a picture: SVG, crisp at any size, its text selectable, without a browser.
//
// Cells are whole pixels, so that no seams show between coloured cells. Every run of text has
// an explicit width, so that columns align in any font.

import { PALETTE, THEME } from "./colors.ts";
import { CELL } from "./replies.ts";
import type { Screen } from "./screen.ts";
import type { Area, Color, Run } from "./styled-rows.ts";

export interface PictureOptions {
	readonly theme?: { readonly foreground: string; readonly background: string; readonly cursor: string };
	readonly fontFamily?: string;
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

export function pictureSvg(screen: Screen, options: PictureOptions = {}): string {
	const {
		theme = THEME,
		padding = 12,
		fontFamily = "'DejaVu Sans Mono', 'JetBrains Mono', Menlo, Consolas, monospace",
	} = options;
	const title = options.title ?? screen.title;
	const area = pictureArea(screen);
	const top = padding + (title ? TITLE_BAR : 0);
	const width = area.cols * CELL.width + 2 * padding;
	const height = area.rows * CELL.height + top + padding;
	const paint = ({ color, fallback }: { color: Color; fallback: string }) =>
		color === null ? fallback : typeof color === "number" ? PALETTE[color]! : color;
	const backgrounds: string[] = [];
	const inks: string[] = [];
	screen.styledRows(area).forEach((runs, row) => {
		const y = top + row * CELL.height;
		for (const run of runs) {
			const x = padding + run.column * CELL.width;
			const runWidth = run.width * CELL.width;
			let foreground = paint({ color: run.foreground, fallback: theme.foreground });
			let background = paint({ color: run.background, fallback: theme.background });
			if (run.inverse) [foreground, background] = [background, foreground];
			if (background !== theme.background)
				backgrounds.push(`<rect x="${x}" y="${y}" width="${runWidth}" height="${CELL.height}" fill="${background}"/>`);
			if (run.text.trim() !== "")
				inks.push(
					`<text x="${x}" y="${y + BASELINE}" textLength="${runWidth}" fill="${foreground}"${styleOf(run)}>${escapeXml(run.text)}</text>`,
				);
		}
	});
	const { cursor } = screen;
	if (cursor.visible)
		backgrounds.push(
			`<rect x="${padding + (cursor.column - area.column) * CELL.width}" y="${top + (cursor.row - area.row) * CELL.height}" width="${CELL.width}" height="${CELL.height}" fill="${theme.cursor}" fill-opacity="0.5"/>`,
		);
	const bar = title
		? `<text x="${width / 2}" y="${padding + BASELINE}" text-anchor="middle" fill="${theme.foreground}" fill-opacity="0.6">${escapeXml(title)}</text>`
		: "";
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${fontFamily}" font-size="${FONT_SIZE}">`,
		"<style>text{white-space:pre}</style>",
		`<rect width="${width}" height="${height}" rx="8" fill="${theme.background}"/>`,
		bar,
		`<g shape-rendering="crispEdges">${backgrounds.join("")}</g>`,
		`<g xml:space="preserve">${inks.join("")}</g>`,
		"</svg>",
	].join("\n");
}

function styleOf({ bold, dim, italic, underline, strike }: Run): string {
	const lines = [underline && "underline", strike && "line-through"].filter(Boolean).join(" ");
	return [
		bold && ' font-weight="bold"',
		italic && ' font-style="italic"',
		dim && ' fill-opacity="0.6"',
		lines && ` text-decoration="${lines}"`,
	]
		.filter(Boolean)
		.join("");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Text in XML: what XML cannot hold at all becomes the replacement character. */
const escapeXml = (text: string) =>
	text
		.replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff\p{Cs}]/gu, "\ufffd")
		.replace(/[&<>"]/g, (char) => ENTITIES[char]!);
