// Output as the dialects count it: about four characters to a token. What is new since the
// caller's last read, or what a call asks for again by the words of a cut.

import { z } from "zod";
import { Fault } from "../../protocol/fault.ts";
import type { Session } from "../../session/session.ts";
import { type AskedLines, type Budget, type FittedLines, fitAsItCame, fitNew, numberedLines } from "../excerpt.ts";
import { count } from "../facts.ts";
import { advanced, lineRange } from "../fields.ts";
import { markIn } from "../recall.ts";

const CHARS_PER_TOKEN = 4;

export const dialectBudget = (set: "exec" | "codex", session: Session, maxTokens: number): Budget => ({
	maxTokens,
	charsPerToken: CHARS_PER_TOKEN,
	mark: markIn(set, session),
});

/** Before it was cut. */
export const tokensOf = ({ chars }: Output): number => Math.ceil(chars / CHARS_PER_TOKEN);

/** What a caller gets of a session's output. */
export type Output = Pick<FittedLines, "text" | "truncated" | "chars"> & {
	readonly lines?: ReturnType<typeof linesShown>;
};

/** As a person would have seen it; advances the caller's position. */
export const seenOutput = async (session: Session, owner: string, budget: Budget): Promise<Output> =>
	outputOf(await fitNew(session, session.takeNew(owner), budget));

/** As it came, escapes and all (R2.8); keeps a position of its own. */
export const rawOutput = async (session: Session, owner: string, budget: Budget): Promise<Output> =>
	outputOf(await fitAsItCame(session, session.takeRaw(owner), budget));

const outputOf = ({ text, truncated, chars }: FittedLines): Output => ({ text, truncated, chars });

/** The fields by which a tool that types also shows something again. */
export const showingAgain = {
	...lineRange,
	view: z.enum(["new", "screen"]).default("new").describe("The whole screen, instead of what is new").meta(advanced),
};

interface ShowingAgain extends AskedLines {
	readonly chars: string;
	readonly view: "new" | "screen";
}

/** Lines by number, or the screen, where a call asks for these; nothing of it counts as read. Null: what is new. */
export async function shownAgain(session: Session, asked: ShowingAgain, budget: Budget): Promise<Output | null> {
	const { chars, view, ...range } = asked;
	const isRange = range.from !== undefined || range.to !== undefined;
	if (!isRange && view === "new") return null;
	const problems: string[] = [];
	if (chars !== "") problems.push("`from`, `to` and `view` only read: leave `chars` empty");
	if (isRange && view === "screen") problems.push("the screen has no `from` and `to`: leave out `view`");
	if (problems.length > 0) throw new Fault("bad_input", { problems });
	if (isRange) {
		const fitted = await numberedLines(session, range, budget);
		return { ...outputOf(fitted), lines: linesShown(fitted) };
	}
	await session.catchUp();
	const { text } = session.screen.snapshot();
	const diff = { kind: "screen", text, missed: null, offset: session.screen.offset } as const;
	return outputOf(await fitNew(session, { diff, since: 0 }, budget));
}

/** In the facts of an answer. */
export const shownLines = z
	.exactOptional(z.strictObject({ from: count, to: count, total: count }))
	.describe("Which lines these are, where they were asked for by number");

/** Of a range that was cut at one end, the rest. */
export function linesShown({ lines, leftOut }: FittedLines): NonNullable<FittedLines["lines"]> {
	const { from, to, total } = lines!;
	if (leftOut === null) return { from, to, total };
	return leftOut.to === to ? { from, to: leftOut.from - 1, total } : { from: leftOut.to + 1, to, total };
}
