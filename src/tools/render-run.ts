// What a model reads of a command: how it ended first, then its output.

import type { RunFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, clean, joined, safe, stacked } from "../protocol/clean.ts";
import { processNames } from "../protocol/process-names.ts";
import { runHeader } from "./header.ts";
import { fenced, renderSession } from "./render.ts";

export function renderRun(facts: RunFacts): Clean {
	const text = clean(facts.text.replace(/\n$/, "")).text;
	const last = [...notes(facts), ...before(facts)];
	if (facts.exitCode === null && facts.status === "running")
		return stacked([renderSession(text === "" ? facts : { ...facts, text }), ...last]);
	const header = runHeader(facts);
	return stacked([...(facts.people ?? []), facts.text === "" ? header : fenced(header, text), ...last]);
}

/** As a part of its own: what the command itself printed stays whole. */
function before({ before }: RunFacts): readonly Clean[] {
	if (before === undefined) return [];
	const header = safe`before: exit code ${before.exitCode ?? "unknown"}`;
	return [before.text === "" ? header : fenced(header, before.text)];
}

function notes({ shellNote, jobs, exitCode, status, ok, pipeStatus, notices = [] }: RunFacts): readonly CleanLine[] {
	// While it runs, the session's answer has them.
	const notes: CleanLine[] = exitCode === null && status === "running" ? [] : [...notices];
	if (exitCode === 0 && ok === false) notes.push(safe`pipe status ${joined(pipeStatus, " | ")}`);
	if (shellNote !== null) notes.push(shellNote);
	if (jobs.length > 0) notes.push(safe`in the background: ${processNames(jobs)}`);
	return notes.length === 0 ? [] : [joined(notes, " · ")];
}
