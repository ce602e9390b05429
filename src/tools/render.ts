// The text that a model reads: one header line, the output in a fence that the
// output cannot forge, and a last line only when something needs saying.

import { randomBytes } from "node:crypto";
import type { ProcessFacts, SessionFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, inQuotes, joined, oneLine, quoted, safe, stacked } from "../protocol/clean.ts";

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
export function renderSession(facts: SessionFacts): Clean {
	const output = facts.text === "" ? [] : [fenced(facts.view === "lines" ? "out" : facts.view, facts.text)];
	const notes = notesOn(facts);
	return stacked([header(facts), ...output, ...(notes.length === 0 ? [] : [joined(notes, " · ")])]);
}

export const duration = (ms: number): CleanLine => (ms < 10_000 ? safe`${ms} ms` : safe`${Math.round(ms / 1000)} s`);

export const processNames = (processes: readonly ProcessFacts[]): CleanLine =>
	joined(
		processes.map(({ pid, command }) => safe`${quoted(command)} (${pid})`),
		", ",
	);

export const listeningOn = (ports: readonly number[]): CleanLine => safe`listening on ${joined(ports, ", ")}`;

function header(facts: SessionFacts): CleanLine {
	const evidence = facts.status === "running" ? safe` · ${evidenceOf(facts)}` : "";
	return safe`[${facts.name}] ${stateOf(facts)} · ${duration(facts.elapsedMs)}${evidence}`;
}

/** The whole sentence where there is doubt; otherwise only the reader's name, because it is read on every turn. */
function evidenceOf({ activity, certainty, because }: SessionFacts): CleanLine {
	const reader = /^(\S+) \(\d+\) is blocked in /.exec(because)?.[1];
	return activity === "waiting" && certainty === "certain" && reader !== undefined
		? safe`${oneLine(reader)} reads the terminal`
		: because;
}

/** What a program waits for, in words. */
export const WANTS = {
	command: "a command",
	line: "a line",
	key: "a key",
	screen: "keys (full screen)",
	secret: "a secret",
} as const;

function stateOf(facts: SessionFacts): CleanLine {
	const { status, activity, waitingFor, certainty, returned, because } = facts;
	if (status !== "running") return status === "succeeded" ? safe`ended, exit code 0` : safe`ended: ${because}`;
	const matched = returned === "matched" ? "matched; " : "";
	const atTimeout = returned === "timeout" ? " at the timeout" : "";
	switch (activity) {
		case "waiting":
			return safe`${matched}waiting for ${WANTS[waitingFor ?? "line"]}, ${certainty ?? "guess"}`;
		case "serving":
			return safe`${matched}serving`;
		case "stopped":
			return safe`${matched}stopped`;
		case "unresponsive":
			return safe`${matched}not responding`;
		case "listening":
			return safe`${matched}still running${atTimeout}, may take input`;
		default:
			return safe`${matched}still working${atTimeout}`;
	}
}

function notesOn(facts: SessionFacts): readonly CleanLine[] {
	const { cursor, highlights, lastCommand, ports, survivors } = facts;
	const notes: CleanLine[] = [...(facts.notices ?? [])];
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
