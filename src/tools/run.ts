import { z } from "zod";
import type { Part } from "../journal/journal.ts";
import type { RunFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { signalName } from "../pty/signals.ts";
import type { Session } from "../session/session.ts";
import { asSeen } from "../session/shell/output.ts";
import type { RunOutcome } from "../session/shell/run.ts";
import { headAndTail } from "./excerpt.ts";
import { runFactsSchema } from "./facts.ts";
import { budget, directory, program, script, sessionName, timeout } from "./fields.ts";
import { renderRun } from "./render-run.ts";
import { processFacts, sessionFacts } from "./session-facts.ts";
import { directoryFor, runIn } from "./shell-named.ts";
import { tool } from "./tool.ts";

export const run = tool({
	name: "run",
	title: "Run a command in the shell",
	description:
		"Run a command in a shell that keeps its state between calls: directory, variables, functions, aliases. Returns when the command ends, with its output and exit code, or at once when it asks something: answer with `send` to that session. At the timeout it is ended, and the shell survives. `cmd &` leaves a job in the background.",
	effect: "types",
	always: true,
	input: z.strictObject({
		command: script.describe("Any number of lines; taken as it is"),
		shell: sessionName.default("main").describe("Which shell; another name gives another shell"),
		cwd: directory.optional().describe("Change there first, and stay"),
		timeoutMs: timeout,
		onTimeout: z
			.enum(["stop", "leave"])
			.default("stop")
			.describe("End the command at the timeout, or leave it running"),
		separate: z.boolean().default(false).describe("Also give stdout and stderr apart"),
		program: program.optional().describe("For a new shell: bash, zsh, fish, sh; yours by default"),
		clean: z.boolean().default(false).describe("For a new shell: read no start files"),
		maxTokens: budget,
	}),
	facts: runFactsSchema,
	async run(input, context): Promise<RunFacts> {
		const { sessions, caller, signal } = context;
		const cwd = input.cwd === undefined ? null : await directoryFor(input.cwd, caller);
		const { session, note, outcome } = await runIn(
			input.shell,
			{ sessions, caller, program: input.program, clean: input.clean },
			{ ...input, cwd, waits: true, signal },
		);
		const { diff } = session.takeNew(caller.owner);
		const output = await outputOf(session, outcome);
		const text = asSeen(output.bytes, session.screen.cols);
		const facts = await sessionFacts(session, context, {
			outcome,
			maxTokens: input.maxTokens,
			since: outcome.from,
			// A full-screen program is looked at, not read.
			diff: diff.buffer === "alternate" ? diff : { ...diff, kind: "lines", text, missed: null, highlights: [] },
		});
		const { exitCode, pipeStatus, timedOut, durationMs, jobs, streams } = outcome;
		return {
			...facts,
			truncated: facts.truncated || output.cut,
			...(streams === null ? {} : { stdout: decode(streams.stdout), stderr: decode(streams.stderr) }),
			cwd: outcome.cwd === null ? facts.cwd : oneLine(outcome.cwd, 4096),
			exitCode,
			pipeStatus,
			signal: signalOf(exitCode),
			ok: exitCode === null ? null : exitCode === 0 && !pipeStatus.some(isFailure),
			timedOut,
			durationMs,
			shell: oneLine(input.shell),
			shellNote: noteOf(outcome, note, session),
			jobs: jobs.map(processFacts),
			from: outcome.from,
			to: outcome.to,
		};
	},
	render: renderRun,
});

const decoder = new TextDecoder();
const decode = ({ bytes }: Part) => decoder.decode(bytes);

async function outputOf(session: Session, { from, to, streams, returned }: RunOutcome): Promise<Part> {
	if (streams === null || returned !== "ended") return headAndTail(session.journal, from, to);
	// Two pipes have no common order, and the prompt may have come between.
	const { stdout, stderr } = streams;
	return { bytes: Buffer.concat([stdout.bytes, stderr.bytes]), cut: stdout.cut || stderr.cut };
}

const SIGPIPE_CODE = 141;
const isFailure = (code: number) => code !== 0 && code !== SIGPIPE_CODE;

/** Shells report 128 + the signal's number. */
function signalOf(exitCode: number | null): CleanLine | null {
	const name = exitCode !== null && exitCode > 128 && exitCode <= 128 + 64 ? signalName(exitCode - 128) : null;
	return name === null ? null : oneLine(name);
}

function noteOf(outcome: RunOutcome, note: CleanLine | null, { exit }: Session): CleanLine | null {
	if (outcome.shellEnded) {
		const how = oneLine(exit?.signal ?? `exit code ${exit?.code}`);
		return safe`the command ended the shell (${how}); the next \`run\` gets a new one`;
	}
	if (outcome.shellReplaced) return safe`the shell became another program (exec); the next \`run\` gets a new shell`;
	return note;
}
