// What a model reads of a command: how it ended first, then its output.

import type { RunFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, clean, joined, safe, stacked } from "../protocol/clean.ts";
import { duration, fenced, listeningOn, processNames, renderSession } from "./render.ts";

export function renderRun(facts: RunFacts): Clean {
	if (facts.exitCode === null && facts.status === "running") return stacked([renderSession(facts), ...notes(facts)]);
	const head = safe`[${facts.name}] ${howItEnded(facts)} · ${duration(facts.durationMs)}`;
	const out = facts.text === "" ? [] : [fenced("out", clean(facts.text.replace(/\n$/, "")).text)];
	return stacked([head, ...out, ...notes(facts)]);
}

function howItEnded({ exitCode, signal, timedOut, pipeStatus, ok }: RunFacts): CleanLine {
	const code = safe`exit code ${exitCode ?? "unknown"}${signal === null ? "" : safe` (${signal})`}`;
	// The code of a pipe is that of its last part: a failure before it would go unseen.
	const failed = exitCode === 0 && ok === false;
	const parts = failed ? safe`, but a part of the pipe failed: ${joined(pipeStatus, " | ")}` : "";
	return safe`${timedOut ? "stopped at the timeout, " : ""}${code}${parts}`;
}

function notes({ shellNote, jobs, ports, exitCode, status, notices = [] }: RunFacts): readonly CleanLine[] {
	// While it runs, the session's answer has them.
	const notes: CleanLine[] = exitCode === null && status === "running" ? [] : [...notices];
	if (shellNote !== null) notes.push(shellNote);
	if (jobs.length > 0) notes.push(safe`in the background: ${processNames(jobs)}`);
	if (exitCode !== null && ports.length > 0) notes.push(listeningOn(ports));
	return notes.length === 0 ? [] : [joined(notes, " · ")];
}
