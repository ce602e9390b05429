// What a model reads of a command: how it ended first, then its output.

import type { RunFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, clean, joined, safe, stacked } from "../protocol/clean.ts";
import { runHeader } from "./header.ts";
import { fenced, processNames, renderSession } from "./render.ts";

export function renderRun(facts: RunFacts): Clean {
	if (facts.exitCode === null && facts.status === "running") return stacked([renderSession(facts), ...notes(facts)]);
	const header = runHeader(facts);
	const answer = facts.text === "" ? header : fenced(header, clean(facts.text.replace(/\n$/, "")).text);
	return stacked([answer, ...notes(facts)]);
}

function notes({ shellNote, jobs, exitCode, status, ok, pipeStatus, notices = [] }: RunFacts): readonly CleanLine[] {
	// While it runs, the session's answer has them.
	const notes: CleanLine[] = exitCode === null && status === "running" ? [] : [...notices];
	if (exitCode === 0 && ok === false) notes.push(safe`pipe status ${joined(pipeStatus, " | ")}`);
	if (shellNote !== null) notes.push(shellNote);
	if (jobs.length > 0) notes.push(safe`in the background: ${processNames(jobs)}`);
	return notes.length === 0 ? [] : [joined(notes, " · ")];
}
