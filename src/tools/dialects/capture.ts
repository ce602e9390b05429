// What `pty_capture` shows: lines of all that was printed, or the screen of a full-screen program, within a budget.

import type { Session } from "../../session/session.ts";
import { numberedLines, outerLines, unasked } from "../excerpt.ts";
import { type CutMark, markIn, type Reader } from "../recall.ts";
import { numbered, type Output } from "./new-output.ts";

type Captured = Pick<Output, "text" | "lines" | "truncated">;

/** What a call asks for. */
interface AskedRows {
	readonly lines: number;
	readonly tail: boolean;
	/** Of a screen: so many rows at that end are passed over. */
	readonly skip?: number | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly column?: number | undefined;
}

/** Of a full-screen program its screen; otherwise, and where they are asked for by number, lines of all that was printed. */
export async function captured(session: Session, asked: AskedRows, reader: Reader): Promise<Captured> {
	const { lines: count, tail, from, to, column } = asked;
	const mark = markIn("pty", session, reader);
	if (from !== undefined || to !== undefined) {
		const fitted = await numberedLines(session, { from, to, count, column }, unasked(mark));
		return { ...numbered(fitted), truncated: fitted.truncated };
	}
	if (count === 0) return { text: "", truncated: false };
	const { screen } = session;
	if (screen.modes.alternateScreen && !session.ended) {
		const all = screen.snapshot().text.split("\n");
		return rowsWithin(all, asked, mark);
	}
	const { text, truncated } = await outerLines(session, { count, end: tail ? "last" : "first" }, mark);
	return { text, truncated };
}

/** So many rows of a screen; of more than an answer has room for those at its end, or at its beginning, and how to see the next. */
function rowsWithin(
	screen: readonly string[],
	{ lines, tail, skip = 0 }: Pick<AskedRows, "lines" | "tail" | "skip">,
	mark: CutMark,
): Captured {
	const rest = tail ? screen.slice(0, Math.max(0, screen.length - skip)) : screen.slice(skip);
	const outer = (rows: number) => (tail ? rest.slice(-rows) : rest.slice(0, rows));
	const { maxTokens, count = () => 0 } = unasked(mark);
	const asked = Math.min(lines, rest.length);
	if (asked === 0) return { text: "", truncated: false };
	let most = asked;
	while (most > 1 && count(outer(most).join("\n")) > maxTokens) most = Math.ceil(most / 2);
	if (most === asked) return { text: outer(asked).join("\n"), truncated: false };
	const others = asked - most;
	const call = { lines: others, ...(!tail && { tail }), skip: skip + most };
	const cut = mark({ what: `${others} of ${asked} rows`, call });
	return { text: (tail ? [cut, ...outer(most)] : [...outer(most), cut]).join("\n"), truncated: true };
}
