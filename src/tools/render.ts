// The text that a model reads: one header line, the output in a fence that the
// output cannot forge, and a last line only when something needs saying.

import { randomInt } from "node:crypto";
import { hasPicture, type SessionFacts } from "../protocol/answer.ts";
import {
	type Clean,
	type CleanLine,
	clean,
	counted,
	inQuotes,
	joined,
	oneLine,
	safe,
	stacked,
} from "../protocol/clean.ts";
import { processNames } from "../protocol/process-names.ts";
import { hasOwnWords, readable } from "../session/own-words.ts";
import { isShort, sessionHeader } from "./header.ts";

// Up to three digits are one token; more are used where the text is full of numbers.
const WORD_DIGITS = 3;
const WORD_TRIES = 16;

/**
 * The header opens a fence around the text (`<<754`, or `rows<<754` where the text is the changed rows of a screen), and
 * a line with its word closes it. The program could not know the word when it wrote the text, and it does not occur there
 * but in what is ours in it.
 */
export function fenced(header: CleanLine, text: Clean, view: SessionFacts["view"] = "lines"): Clean {
	const word = wordNotIn(text);
	const shown = hasOwnWords(text) ? clean(readable(text, word)).text : text;
	return stacked([safe`${header} ${view === "rows" ? "rows" : ""}<<${word}`, shown, word]);
}

function wordNotIn(text: Clean): CleanLine {
	for (let digits = WORD_DIGITS; ; digits++)
		for (let tries = 0; tries < WORD_TRIES; tries++) {
			const word = oneLine(String(randomInt(10 ** digits)).padStart(digits, "0"));
			if (!text.includes(word)) return word;
		}
}

/** One session's answer. */
export function renderSession(facts: SessionFacts, more: readonly CleanLine[] = []): Clean {
	const header = sessionHeader(facts);
	const answer = facts.text === "" ? header : fenced(header, facts.text, facts.view);
	const isEmpty = facts.text === "" && facts.status === "running" && more.length === 0 && !hasPicture(facts);
	const notes = [...notesOn(facts), ...more, ...(isEmpty ? [safe`nothing new`] : [])];
	return stacked([...(facts.people ?? []), answer, ...(notes.length === 0 ? [] : [joined(notes, " · ")])]);
}

/** What the header says in one word, in full: where it is a guess, and where the caller has to act on it. */
function evidence(facts: SessionFacts): readonly CleanLine[] {
	const { status, activity, certainty, because } = facts;
	if (status !== "running") return status === "succeeded" || isShort(facts) ? [] : [because];
	return certainty === "guess" || activity === "stopped" || activity === "unresponsive" ? [because] : [];
}

/** Of a few, also tenths. */
export const inSeconds = (ms: number): number => (ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000));

function cutShort({ askedMs, waitedMs }: NonNullable<SessionFacts["limited"]>): CleanLine {
	return safe`still running: this answer was limited to ${inSeconds(waitedMs)} s of the ${inSeconds(askedMs)} s asked; \`wait\` continues it`;
}

// Enough to find it in the text.
const HIGHLIGHT_CHARS = 32;
// A menu highlights an item and perhaps a button; a row of more is a bar of keys (nano, htop, mc), which the text shows.
const MOST_IN_A_ROW = 4;

/** What may be a selection, while there is somebody to select. */
function selections({ highlights, status }: SessionFacts): SessionFacts["highlights"] {
	if (status !== "running") return [];
	const inRow = (at: number) => highlights.filter(({ row }) => row === at).length;
	return highlights.filter(({ row }) => inRow(row) <= MOST_IN_A_ROW);
}

function notesOn(facts: SessionFacts): readonly CleanLine[] {
	const { cursor, survivors, left } = facts;
	const highlights = selections(facts);
	const notes: CleanLine[] = [...evidence(facts), ...(facts.notices ?? [])];
	if (facts.limited !== undefined && facts.returned === "timeout") notes.push(cutShort(facts.limited));
	if (facts.matchedLine !== undefined) notes.push(safe`the match is in line ${facts.matchedLine}`);
	if (facts.joinedTo !== undefined)
		notes.push(safe`joined to ${counted(facts.joinedTo, "character")} typed before and not entered`);
	if (facts.unentered !== undefined) notes.push(safe`typed, not entered`);
	if (facts.repeated) notes.push(safe`already typed: this id was sent before, nothing was typed again`);
	if (facts.view !== "lines" && cursor !== null) notes.push(safe`cursor ${cursor.row},${cursor.column}`);
	if (highlights.length > 0) {
		const shown = highlights
			.slice(0, 6)
			.map(({ row, text }) => safe`${row}: ${inQuotes(oneLine(text, HIGHLIGHT_CHARS))}`);
		notes.push(safe`highlighted ${joined(shown, ", ")}`);
	}
	if (survivors !== undefined) notes.push(safe`could not end ${processNames(survivors)}`);
	else if (left !== undefined) notes.push(safe`still running: ${processNames(left)}`);
	return notes;
}
