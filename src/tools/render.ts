// The text that a model reads: one header line, the output in a fence that the
// output cannot forge, and a last line only when something needs saying.

import type { SessionFacts } from "../protocol/answer.ts";

/** Puts a text between fence lines; the closing one does not occur in it. */
export function fenced(label: string, text: string): string {
	const lines = new Set(text.split("\n"));
	let end = label;
	for (let number = 2; lines.has(end); number++) end = `${label}${number}`;
	return `<<${end}\n${text}\n${end}`;
}

/** One session's answer. */
export function renderSession(facts: object): string {
	const it = facts as SessionFacts;
	const parts = [header(it)];
	if (it.text !== "") parts.push(fenced(it.view === "lines" ? "out" : it.view, it.text));
	const notes = notesOf(it);
	if (notes.length > 0) parts.push(notes.join(" · "));
	return parts.join("\n");
}

function header(facts: SessionFacts): string {
	const { name, elapsedMs } = facts;
	const state = stateOf(facts);
	const took = elapsedMs < 10_000 ? `${elapsedMs} ms` : `${Math.round(elapsedMs / 1000)} s`;
	return `[${name}] ${state} · ${took}${facts.status === "running" ? ` · ${evidence(facts)}` : ""}`;
}

/** The whole sentence where there is doubt; where there is none, only who it is: it is read on every turn. */
function evidence({ activity, certainty, because }: SessionFacts): string {
	const reader = /^(\S+) \(\d+\) is blocked in /.exec(because)?.[1];
	return activity === "waiting" && certainty === "certain" && reader !== undefined
		? `${reader} reads the terminal`
		: because;
}

const WANTS = { command: "a command", line: "input", key: "input", secret: "a secret" } as const;

function stateOf(facts: SessionFacts): string {
	const { status, activity, waitingFor, certainty, returned, because } = facts;
	if (status !== "running") return status === "succeeded" ? "ended, exit code 0" : `ended: ${because}`;
	const matched = returned === "matched" ? "matched; " : "";
	switch (activity) {
		case "waiting":
			return `${matched}waiting for ${WANTS[waitingFor ?? "line"]} (${waitingFor === "line" || waitingFor === "key" ? `${waitingFor}, ` : ""}${certainty})`;
		case "serving":
			return `${matched}serving`;
		case "stopped":
			return `${matched}stopped`;
		case "unresponsive":
			return `${matched}not responding`;
		case "listening":
			return `${matched}still running${returned === "timeout" ? " at the timeout" : ""}, may take input`;
		default:
			return `${matched}still working${returned === "timeout" ? " at the timeout" : ""}`;
	}
}

function notesOf(facts: SessionFacts): string[] {
	const notes: string[] = [];
	const fullScreen = facts.view !== "lines";
	if (fullScreen && facts.cursor !== null) notes.push(`cursor ${facts.cursor.row},${facts.cursor.column}`);
	if (facts.highlights.length > 0) {
		const shown = facts.highlights.slice(0, 6).map(({ row, text }) => `${row}: ${JSON.stringify(text.slice(0, 60))}`);
		notes.push(`highlighted ${shown.join(", ")}`);
	}
	if (facts.waitingFor === "command" && facts.lastCommand !== undefined) {
		notes.push(`the command ended with exit code ${facts.lastCommand.exitCode ?? "unknown"}`);
	}
	if (facts.ports.length > 0) notes.push(`listening on ${facts.ports.join(", ")}`);
	if (facts.text === "" && facts.status === "running") notes.push("nothing new");
	if (facts.survivors !== undefined) {
		notes.push(`could not end ${facts.survivors.map(({ pid, command }) => `${command} (${pid})`).join(", ")}`);
	}
	return notes;
}
