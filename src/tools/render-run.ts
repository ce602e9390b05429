// What a model reads of a command: how it ended first, then what it said.

import { fenced, renderSession } from "./render.ts";
import type { RunFacts } from "./run.ts";

export function renderRun(facts: object): string {
	const it = facts as RunFacts;
	if (it.exitCode === null && it.status === "running") return [renderSession(it), ...notes(it)].join("\n");
	const took = it.durationMs < 10_000 ? `${it.durationMs} ms` : `${Math.round(it.durationMs / 1000)} s`;
	const head = `[${it.name}] ${howItEnded(it)} · ${took}`;
	const out = it.text === "" ? [] : [fenced("out", it.text.replace(/\n$/, ""))];
	return [head, ...out, ...notes(it)].join("\n");
}

function howItEnded({ exitCode, signal, timedOut, pipeStatus, ok }: RunFacts): string {
	const code = `exit code ${exitCode ?? "unknown"}${signal === null ? "" : ` (${signal})`}`;
	// The code of a pipe is that of its last part: a failure before it would go unseen.
	const parts = exitCode === 0 && ok === false ? `, but a part of the pipe failed: ${pipeStatus.join(" | ")}` : "";
	return `${timedOut ? "stopped at the timeout, " : ""}${code}${parts}`;
}

function notes({ shellNote, jobs, ports, exitCode }: RunFacts): string[] {
	const said: string[] = [];
	if (shellNote !== null) said.push(shellNote);
	if (jobs.length > 0)
		said.push(`in the background: ${jobs.map(({ pid, command }) => `${command} (${pid})`).join(", ")}`);
	if (exitCode !== null && ports.length > 0) said.push(`listening on ${ports.join(", ")}`);
	return said.length === 0 ? [] : [said.join(" · ")];
}
