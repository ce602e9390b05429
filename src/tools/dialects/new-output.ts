// Output as the dialects count it: about four characters to a token. What is new since the
// caller's last read, or lines by number, as a cut names them.

import { z } from "zod";
import { Fault } from "../../protocol/fault.ts";
import { ownWords } from "../../session/own-words.ts";
import type { Session } from "../../session/session.ts";
import { type AskedLines, type Budget, type FittedLines, fitAsItCame, fitNew, numberedLines } from "../excerpt.ts";
import { count } from "../facts.ts";
import type { CutMark } from "../recall.ts";

const CHARS_PER_TOKEN = 4;

export const dialectBudget = (mark: CutMark, maxTokens: number): Budget => ({
	maxTokens,
	charsPerToken: CHARS_PER_TOKEN,
	mark,
});

/** Before it was cut. */
export const tokensOf = ({ chars }: Output): number => Math.ceil(chars / CHARS_PER_TOKEN);

/** What a caller gets of a session's output. */
export type Output = Pick<FittedLines, "text" | "truncated" | "chars"> & {
	readonly lines?: ReturnType<typeof linesShown>;
};

/** As a person would have seen it; advances the caller's position, but not past a screen that had to be cut. */
export async function seenOutput(session: Session, owner: string, budget: Budget): Promise<Output> {
	const { giveBack, ...taken } = session.takeNew(owner);
	const fitted = await fitNew(session, taken, budget);
	if (fitted.truncated && fitted.lines === null && fitted.passedOver === undefined) giveBack();
	return outputOf(fitted);
}

/** As it came, escapes and all (R2.8); keeps a position of its own. */
export const rawOutput = async (session: Session, owner: string, budget: Budget): Promise<Output> =>
	outputOf(await fitAsItCame(session, session.takeRaw(owner), budget));

const outputOf = ({ text, truncated, chars }: FittedLines): Output => ({ text, truncated, chars });

/** Lines by number, where a call asks for these; nothing of it counts as read. Null: what is new. */
export async function askedLines(
	session: Session,
	{ chars, from, to, column }: { readonly chars: string } & AskedLines,
	budget: Budget,
): Promise<Output | null> {
	if (from === undefined && to === undefined) return null;
	if (chars !== "") throw new Fault("bad_input", { problems: ["`from` and `to` only read: leave `chars` empty"] });
	const fitted = await numberedLines(session, { from, to, column }, budget);
	const { text, lines } = numbered(fitted);
	return { ...outputOf(fitted), text, ...(lines && { lines }) };
}

/** What was asked for by number; where that is beyond the end, how many lines there are. */
export function numbered(fitted: FittedLines): Pick<Output, "text" | "lines"> {
	const { from, to, total } = fitted.lines!;
	if (from <= to || total === 0) return { text: fitted.text, lines: linesShown(fitted) };
	return { text: ownWords(`no lines from ${from} on: there are ${total}`) };
}

/** In the facts of an answer. */
export const shownLines = z
	.exactOptional(z.strictObject({ from: count, to: count, total: count }))
	.describe("Which lines these are, where they were asked for by number");

/** Of a range that was cut at one end, the rest. */
function linesShown({ lines, leftOut }: FittedLines): NonNullable<FittedLines["lines"]> {
	const { from, to, total } = lines!;
	if (leftOut === null) return { from, to, total };
	return leftOut.to === to ? { from, to: leftOut.from - 1, total } : { from: leftOut.to + 1, to, total };
}
