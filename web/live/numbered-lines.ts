// Lines of a session's output by number, as the tool `read` answers them: text for a
// model, with marks where something was cut. Here they become rows of a list again.

interface LineFacts {
	readonly text: string;
	readonly lines?: { readonly from: number; readonly to: number; readonly total: number };
	readonly missed: { readonly from: number; readonly to: number } | null;
	readonly matches?: { readonly count: number; readonly shown: number };
}

export interface NumberedText {
	/** The number of the first line. */
	readonly from: number;
	readonly rows: readonly string[];
	readonly total: number;
}

export interface SearchResult {
	readonly count: number;
	readonly found: readonly { readonly number: number; readonly text: string }[];
}

export function numberedText({ text, lines, missed }: LineFacts): NumberedText {
	if (lines === undefined || lines.to < lines.from) return { from: 1, rows: [], total: lines?.total ?? 0 };
	const rows = text.split("\n");
	const wanted = lines.to - lines.from + 1;
	// What was cut ends in a mark, which is no line.
	if (missed !== null) return { from: lines.from, rows: rows.slice(0, missed.from - lines.from), total: lines.total };
	if (rows.length >= wanted) return { from: lines.from, rows: rows.slice(0, wanted), total: lines.total };
	// One row stands for all lines that are not kept: the later ones keep their numbers.
	const notKept = new Array<string>(wanted - rows.length).fill(rows[0] ?? "");
	return { from: lines.from, rows: [...notKept, ...rows], total: lines.total };
}

const FOUND = /^(\d+): (.*)$/;

export function searchResult({ text, matches }: LineFacts): SearchResult {
	const found = text.split("\n").flatMap((row) => {
		const match = FOUND.exec(row);
		return match === null ? [] : [{ number: Number(match[1]), text: match[2]! }];
	});
	return { count: matches?.count ?? found.length, found };
}
