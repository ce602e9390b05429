import { basename } from "node:path";
import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import type { RunFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { signalName } from "../pty/signals.ts";
import { limitOfCode } from "../session/limit-reached.ts";
import { limits } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import { asOnTerminal, seenOf } from "../session/shell/output.ts";
import type { RunOutcome } from "../session/shell/run.ts";
import { commandBefore } from "./command-before.ts";
import { type Budget, type FittedLines, fitBetween, nativeBudget, withErased, withinTokens } from "./excerpt.ts";
import { runFactsSchema } from "./facts.ts";
import {
	advanced,
	directory,
	forShell,
	program,
	sandbox,
	script,
	sessionName,
	timeout,
	usualBudget,
} from "./fields.ts";
import { markFor } from "./recall.ts";
import { renderRun } from "./render-run.ts";
import { limitedTo, processFacts, sessionFacts, tellCommand } from "./session-facts.ts";
import { directoryFor, runIn, withShellNotice } from "./shell-named.ts";
import { asWritten, streamTexts } from "./stream-texts.ts";
import { answerBy, dueAt, tool } from "./tool.ts";

/** The program that was asked for, where the shell runs another one. */
const otherProgram = ({ commands }: Session, { program }: { readonly program?: string | undefined }) =>
	program === undefined || basename(program) === basename(commands?.identity.program ?? "") ? undefined : program;

export const run = tool({
	name: "run",
	title: "Run a command in the shell",
	description:
		"Run a command in a shell that keeps directory, variables and functions. Returns its output and exit code, or earlier when it asks something: answer with `send`. `cmd &` leaves a job in the background.",
	effect: "types",
	always: true,
	input: z.strictObject({
		command: script,
		shell: sessionName.default("main").describe("Shell to use; a new name starts a new one"),
		cwd: directory.optional().describe("Change there first"),
		timeoutMs: timeout.describe("Then `onTimeout`"),
		onTimeout: z.enum(["stop", "leave"]).default("stop").describe("End the command, or leave it running"),
		separate: z.boolean().default(false).describe("Also return stdout and stderr separately").meta(advanced),
		program: program.optional().describe("For a new shell: bash, zsh, fish, sh; yours by default").meta(advanced),
		clean: z.boolean().default(false).describe("For a new shell: read no start files").meta(advanced),
		...forShell,
		sandbox: sandbox.describe("For a new shell: as in `start`"),
		maxTokens: usualBudget,
	}),
	facts: runFactsSchema,
	async run(input, context): Promise<RunFacts> {
		const { sessions, caller, signal } = context;
		const cwd = input.cwd === undefined ? null : await directoryFor(input.cwd, caller);
		const { env, inherit, limits, sandbox } = input;
		const { session, note, isNew, ...ran } = await runIn(
			input.shell,
			{
				sessions,
				caller,
				program: input.program,
				clean: input.clean,
				env,
				inherit,
				limits,
				sandbox,
				cwd: cwd ?? undefined,
			},
			{ ...input, cwd, waits: true, owner: caller.owner, signal, answerBy: answerBy(context) },
		);
		const { diff } = session.takeNew(caller.owner);
		const outcome = { ...ran.outcome, to: readTo(session, ran.outcome, diff.offset) };
		const budget = { ...nativeBudget(input.maxTokens, session, context), by: dueAt(context, input.timeoutMs) };
		// At most half of the answer, which the command itself has the rest of.
		const half = { ...budget, maxTokens: Math.floor(budget.maxTokens / 2), owner: caller.owner };
		const before = await commandBefore(session, outcome, half);
		const used = Math.ceil((before?.text.length ?? 0) / budget.charsPerToken);
		// The header has its exit code.
		if (outcome.exitCode !== null) tellCommand(session, caller.owner);
		// A full-screen program is looked at, not read.
		const output =
			diff.buffer === "alternate"
				? null
				: await withinTokens(
						{ ...budget, maxTokens: budget.maxTokens - used },
						(rest) => outputOf(session, outcome, rest),
						(fitted) => fitted,
					);
		const facts = await sessionFacts(session, context, {
			outcome,
			maxTokens: input.maxTokens,
			...(output === null ? { diff } : { diff: { ...diff, kind: "lines", highlights: [] }, fitted: output }),
		});
		const { exitCode, pipeStatus, timedOut, durationMs, jobs, streams } = outcome;
		return {
			...withShellNotice(facts, context, { isNew, program: otherProgram(session, input), env, inherit, limits }),
			...(outcome.returned === "timeout" && !timedOut && limitedTo(context, input.timeoutMs)),
			...(streams === null
				? {}
				: await streamTexts(session, outcome, { ...asWritten(markFor(session, context)), by: budget.by })),
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
			...(before && { before }),
			from: outcome.from,
			to: outcome.to,
		};
	},
	render: renderRun,
});

/** Where the output ends that the caller counts as having read: of a command that goes on, more may have come since. */
function readTo({ commands }: Session, { returned, to }: RunOutcome, drawn: number): number {
	if (returned === "ended") return to;
	const end = commands?.running === null ? commands.last?.to : undefined;
	return Math.max(to, Math.min(drawn, end ?? drawn));
}

/** What a command printed: all of it where it fits, else by line. */
async function outputOf(session: Session, outcome: RunOutcome, budget: Budget): Promise<FittedLines> {
	const { from, to } = outcome;
	const bytes = await smallOutput(session, outcome);
	const seen = bytes === null ? null : seenOf(bytes, session.screen.cols);
	if (seen?.erased?.printed === false) {
		const { current } = seen.erased;
		const view = await session.transcript.view({ at: [from, to] });
		const lines = view.linesBetween(from, to);
		const shown = current === "" ? 0 : current.split("\n").length;
		return withErased(view, { ...lines, to: lines.to - shown }, current, budget);
	}
	if (seen === null || seen.erased !== null || seen.text.length > budget.maxTokens * budget.charsPerToken)
		return fitBetween(session, { from, to }, budget);
	const { text } = seen;
	return { text, truncated: false, lines: null, leftOut: null, chars: text.length };
}

/** Null where it is more than an answer can hold. */
async function smallOutput(session: Session, { from, to, streams, returned }: RunOutcome): Promise<Uint8Array | null> {
	if (streams === null || returned !== "ended") {
		return to - from > limits.headBytes + limits.tailBytes ? null : bytesOf(await session.journal.read(from, to));
	}
	// Two pipes have no common order, and the prompt may have come between.
	const { stdout, stderr } = streams;
	return stdout.leftOut + stderr.leftOut > 0 ? null : asOnTerminal(Buffer.concat([stdout.head, stderr.head]));
}

const SIGPIPE_CODE = 141;
const isFailure = (code: number) => code !== 0 && code !== SIGPIPE_CODE;

/** Shells report 128 + the signal's number. */
function signalOf(exitCode: number | null): CleanLine | null {
	const name = exitCode !== null && exitCode > 128 && exitCode <= 128 + 64 ? signalName(exitCode - 128) : null;
	return name === null ? null : oneLine(name);
}

function noteOf(
	outcome: RunOutcome,
	note: CleanLine | null,
	{ exit, endedBecause, limits: within }: Session,
): CleanLine | null {
	if (outcome.shellEnded && endedBecause !== null)
		return safe`the shell is gone (${oneLine(endedBecause)}); the next \`run\` gets a new one`;
	if (outcome.shellEnded) {
		const how = oneLine(exit?.signal ?? `exit code ${exit?.code}`);
		return safe`the command ended the shell (${how}); the next \`run\` gets a new one`;
	}
	if (outcome.disputed)
		return safe`the end of the command was told twice, with different exit codes: a program may have forged one`;
	if (outcome.shellReplaced) return safe`the shell became another program (exec); the next \`run\` gets a new shell`;
	const limit = limitOfCode(outcome.exitCode, within);
	return limit === null ? note : oneLine(limit);
}
