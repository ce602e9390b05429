import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import type { RunFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { signalName } from "../pty/signals.ts";
import type { Session } from "../session/session.ts";
import { asSeen } from "../session/shell/output.ts";
import type { RunOutcome } from "../session/shell/run.ts";
import { runFactsSchema } from "./facts.ts";
import { budget, timeout } from "./fields.ts";
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
		command: z
			.string()
			.min(1)
			.max(4_000_000)
			.refine((command) => !command.includes("\0"), "no shell can take a NUL byte")
			.describe("Any length, any number of lines; taken as it is"),
		shell: z
			.string()
			.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "letters, digits, dot, dash and underscore, at most 64")
			.default("main")
			.describe("Which shell; another name gives another shell"),
		cwd: z.string().min(1).max(4096).optional().describe("Change there first, and stay"),
		timeoutMs: timeout,
		onTimeout: z
			.enum(["stop", "leave"])
			.default("stop")
			.describe("End the command at the timeout, or leave it running"),
		separate: z.boolean().default(false).describe("Also give stdout and stderr apart"),
		program: z.string().min(1).max(4096).optional().describe("For a new shell: bash, zsh, fish, sh; yours by default"),
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
		const text = asSeen(await outputOf(session, outcome), session.screen.cols);
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
const decode = (bytes: Uint8Array) => decoder.decode(bytes);

// Of more than this only the beginning and the end are returned; the rest can be read by offset.
const HEAD_BYTES = 256 * 1024;
const TAIL_BYTES = 768 * 1024;

async function outputOf({ journal }: Session, { from, to, streams, returned }: RunOutcome): Promise<Uint8Array> {
	// Two pipes have no common order, and the prompt may have come between.
	if (streams !== null && returned === "ended") return Buffer.concat([streams.stdout, streams.stderr]);
	if (to - from <= HEAD_BYTES + TAIL_BYTES) return bytesOf(await journal.read(from, to));
	const [head, tail] = await Promise.all([journal.read(from, from + HEAD_BYTES), journal.read(to - TAIL_BYTES, to)]);
	const mark = `\r\n[… bytes ${from + HEAD_BYTES} to ${to - TAIL_BYTES} left out; \`read\` them raw …]\r\n`;
	return Buffer.concat([bytesOf(head), Buffer.from(mark), bytesOf(tail)]);
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
