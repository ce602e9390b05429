// The text that a model reads: one header line, the output in a fence that the
// output cannot forge, and a last line only when something needs saying.

import { randomBytes } from "node:crypto";
import type { ProcessFacts, SessionFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, inQuotes, joined, oneLine, quoted, safe, stacked } from "../protocol/clean.ts";
import { isShort, sessionHeader } from "./header.ts";

/**
 * Puts text between two lines with a word that the program could not know when it wrote
 * the text, and that does not occur in it.
 */
export function fenced(label: "out" | "screen" | "rows", text: Clean): Clean {
	for (let digits = 3; ; digits++) {
		const word = safe`${label}-${oneLine(randomBytes(digits).toString("hex").slice(0, digits))}`;
		if (!text.includes(word)) return stacked([safe`<<${word}`, text, word]);
	}
}

/** One session's answer. */
export function renderSession(facts: SessionFacts, more: readonly CleanLine[] = []): Clean {
	const output = facts.text === "" ? [] : [fenced(facts.view === "lines" ? "out" : facts.view, facts.text)];
	const notes = [...notesOn(facts), ...more];
	return stacked([sessionHeader(facts), ...output, ...(notes.length === 0 ? [] : [joined(notes, " · ")])]);
}

export const processNames = (processes: readonly ProcessFacts[]): CleanLine =>
	joined(
		processes.map(({ pid, command }) => safe`${quoted(command)} (${pid})`),
		", ",
	);

export const listeningOn = (ports: readonly number[]): CleanLine => safe`listening on ${joined(ports, ", ")}`;

/** What the header says in one word, in full: where it is a guess, and where the caller has to act on it. */
function evidence({ status, activity, certainty, because }: SessionFacts): readonly CleanLine[] {
	if (status !== "running") return status === "succeeded" || isShort(because) ? [] : [because];
	return certainty === "guess" || activity === "stopped" || activity === "unresponsive" ? [because] : [];
}

function cutShort({ askedMs, waitedMs }: NonNullable<SessionFacts["limited"]>): CleanLine {
	const [waited, asked] = [Math.round(waitedMs / 1000), Math.round(askedMs / 1000)];
	return safe`still running: this answer was limited to ${waited} s of the ${asked} s asked; \`wait\` continues it`;
}

function notesOn(facts: SessionFacts): readonly CleanLine[] {
	const { cursor, highlights, lastCommand, ports, survivors } = facts;
	const notes: CleanLine[] = [...evidence(facts), ...(facts.notices ?? [])];
	if (facts.limited !== undefined && facts.returned === "timeout") notes.push(cutShort(facts.limited));
	if (facts.joinedTo !== undefined)
		notes.push(safe`joined to ${facts.joinedTo} characters typed before and not entered`);
	if (facts.unentered !== undefined) notes.push(safe`typed, not entered`);
	if (facts.repeated) notes.push(safe`already typed: this id was sent before, nothing was typed again`);
	if (facts.view !== "lines" && cursor !== null) notes.push(safe`cursor ${cursor.row},${cursor.column}`);
	if (highlights.length > 0) {
		const shown = highlights.slice(0, 6).map(({ row, text }) => safe`${row}: ${inQuotes(oneLine(text, 60))}`);
		notes.push(safe`highlighted ${joined(shown, ", ")}`);
	}
	if (facts.waitingFor === "command" && lastCommand !== undefined) {
		notes.push(safe`the command ended with exit code ${lastCommand.exitCode ?? "unknown"}`);
	}
	if (ports.length > 0) notes.push(listeningOn(ports));
	if (facts.text === "" && facts.status === "running") notes.push(safe`nothing new`);
	if (survivors !== undefined) notes.push(safe`could not end ${processNames(survivors)}`);
	return notes;
}
