// Aligned columns: as wide as their widest cell, except the last, which may be cut to fit a terminal.

/** A text, or one that is shown in colour: its width is that of the text. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const WIDE =
	/\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303f\uff00-\uff60]/u;
const ZERO = /\p{Mn}|\p{Me}|\p{Cf}/u;

const columnsOf = (character: string) => (ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1);
const widthOf = (text: string) => [...text].reduce((sum, character) => sum + columnsOf(character), 0);
const textOf = (cell: Cell) => (typeof cell === "string" ? cell : cell.text);

/** Cuts a text to what is left of a line of this width. */
export function fitted(columns: number): (text: string, before: number) => string {
	return (text, before) => {
		const room = Math.max(8, columns - before);
		if (widthOf(text) <= room) return text;
		let width = 1;
		let cut = "";
		for (const character of text) {
			width += columnsOf(character);
			if (width > room) break;
			cut += character;
		}
		return `${cut}…`;
	};
}

export function table(rows: readonly (readonly Cell[])[], fit?: (text: string, before: number) => string): string {
	const last = rows[0]!.length - 1;
	const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => widthOf(textOf(row[column]!)))));
	const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
	const lines = rows.map((row) =>
		row.map((cell, column) => {
			const text = textOf(cell);
			const shown = column === last ? (fit?.(text, before) ?? text) : text;
			const painted = typeof cell === "string" ? shown : cell.paint(shown);
			return column === last ? painted : painted + " ".repeat(widths[column]! - widthOf(text) + 2);
		}),
	);
	return lines.map((line) => `${line.join("").trimEnd()}\n`).join("");
}
