// What a command wrote to stdout and to stderr, each as text within a budget. What does not fit is on the terminal, by line.

import { clean, counted } from "../protocol/clean.ts";
import { limits } from "../session/options.ts";
import { ownWords } from "../session/own-words.ts";
import type { Session } from "../session/session.ts";
import { asOnTerminal, seenOf } from "../session/shell/output.ts";
import { NOTHING, type StreamPart, type Streams } from "../session/shell/streams.ts";
import type { LineRange } from "../session/transcript-view.ts";
import { fit } from "../terminal/budget.ts";
import {
	type Budget,
	cutBytes,
	cutLines,
	decoded,
	fitBetween,
	fromLineStart,
	LF,
	NEVER,
	wholeLines,
	withinTokens,
} from "./excerpt.ts";
import type { CutMark } from "./recall.ts";

/** How much of what a command wrote to its streams is shown, and how its bytes become text. */
export interface StreamBudget extends Budget {
	readonly textOf: (bytes: Uint8Array) => string;
}

/** For programs: as they were written, all that is kept of them. */
export const asWritten = (mark: CutMark): StreamBudget => ({
	maxTokens: 2 * (limits.headBytes + limits.tailBytes),
	charsPerToken: 1,
	mark,
	textOf: decoded,
});

const SEQUENCE = /\x1b\[[0-?]*[ -/]*[@-~]|\x1bc/g;

/** As a person would see them; of a screen that was erased, all that was on it. */
export const asSeen = (budget: Budget, cols: number): StreamBudget => ({
	...budget,
	textOf(bytes) {
		const { text, erased } = seenOf(asOnTerminal(bytes), cols);
		if (erased !== null) return clean(decoded(bytes).replaceAll(SEQUENCE, "")).text;
		const isEnded = bytes.at(-1) === LF && text !== "" && !text.endsWith("\n");
		return clean(isEnded ? `${text}\n` : text).text;
	},
});

/**
 * What a command wrote to each of its streams. Of too much: its lines on the terminal, where the other stream is empty. Where
 * both wrote, only the terminal has their order: the ends of the stream, and the lines in which all of it is.
 */
export async function streamTexts(
	session: Session,
	{ streams, from, to }: { readonly streams: Streams | null } & LineRange,
	{ textOf, ...budget }: StreamBudget,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
	const { stdout, stderr } = streams ?? NO_STREAMS;
	const { maxTokens, count = (text: string) => text.length / budget.charsPerToken } = budget;
	const [out, err] = [stdout, stderr].map(({ head, tail, leftOut }) =>
		leftOut === 0 ? textOf(head) : `${textOf(wholeLines(head))}${CUT_HERE}\n${textOf(fromLineStart(tail))}`,
	) as [string, string];
	const within = async (text: string, { head, tail, leftOut }: StreamPart, other: string): Promise<string> => {
		// What the other one leaves of it, which has at most half.
		const room = Math.max(maxTokens / 2, maxTokens - count(other));
		if (leftOut === 0 && count(text) <= room) return text;
		if (other === "")
			return `${
				(
					await withinTokens(
						budget,
						(tried) => fitBetween(session, { from, to }, tried),
						(fitted) => fitted,
					)
				).text
			}\n`;
		const shown = fit(text, room, { count, mark: () => CUT_HERE }).text;
		const bytes = head.length + leftOut + tail.length - Buffer.byteLength(shown.replaceAll(`${CUT_HERE}\n`, ""));
		const view = await session.transcript.viewBy(budget.by ?? NEVER, { at: [from, to] });
		const both = view === null ? cutBytes(session, { from, to }) : cutLines(view.linesBetween(from, to), view.total);
		const mark = budget.mark({ ...both, what: `${counted(bytes, "byte")} of ${both.what} (both streams)` });
		return shown.replaceAll(CUT_HERE, () => mark);
	};
	return { stdout: await within(out, stdout, err), stderr: await within(err, stderr, out) };
}

/** Where the mark of a cut will be; no program can print it. */
const CUT_HERE = ownWords("cut");
const NO_STREAMS: Streams = { stdout: NOTHING, stderr: NOTHING };
