// The terminal tools, as R5 has them: one stateful bash for an agent, and
// processes in the background.

import { z } from "zod";
import { type CleanLine, clean, cleanJson, inQuotes, joined, oneLine, safe } from "../../protocol/clean.ts";
import { exitStatus } from "../../pty/signals.ts";
import type { Session } from "../../session/session.ts";
import { openHeredoc } from "../../session/shell/closed.ts";
import type { StartSpec } from "../../session/start-spec.ts";
import { estimateTokens } from "../../terminal/budget.ts";
import { commandBefore } from "../command-before.ts";
import { numberedLines, outerLines, unasked } from "../excerpt.ts";
import { cleanLine, cleanText } from "../facts.ts";
import { environment, forProgram, forShell, lineRange, script } from "../fields.ts";
import { markIn } from "../recall.ts";
import { inSeconds } from "../render.ts";
import { withOwnerNotice } from "../session-facts.ts";
import { runIn, withShellNotice } from "../shell-named.ts";
import { asSeen, streamTexts } from "../stream-texts.ts";
import { answerBy, type ToolContext, tool } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { command } from "./command.ts";
import { confined, sandboxOf } from "./confined.ts";
import { endReason, reason } from "./end-reason.ts";
import { numbered, type Output, shownLines } from "./new-output.ts";
import { findNumbered, pickNumbered } from "./numbered.ts";

const SHELL = "bash";
/** A day: what takes longer belongs in the background. */
const MAX_SECONDS = 86_400;
/** As timeout(1) has it, whatever the command made of being stopped. */
const TIMED_OUT = 124;
/** Of the command before: the end of a build, say. */
const MAX_TOKENS_BEFORE = 4000;
/** `bg_1`, `bg1` and 1 mean `bg_001`: no other process could be called so. */
const withZeros = (id: string): string =>
	id.replace(/^(?:bg_?)?0*(\d{1,16})$/i, (_, number: string) => backgroundName(Number(number)));
const backgroundName = (number: number): string => `bg_${String(number).padStart(3, "0")}`;
const processId = z
	.string()
	.max(20)
	.regex(/^(?:bg_?)?\d+$/i, "such as bg_001")
	.transform(withZeros);
/** Also of the shell: its own words for the newest, or the id that a cut names. */
const readableId = z
	.string()
	.max(26)
	.regex(/^(?:(?:bg_?)?\d+|bash|[0-9a-z]{26})$/i, "such as bg_001, or bash for the shell of run_bash")
	.transform(withZeros);

export const runBash = tool({
	name: "run_bash",
	title: "Run a bash command",
	description:
		"Run a command in a bash that keeps its state between calls: directory, exports, functions, aliases. Past its timeout it is killed; the shell stays usable. It gets no input; what runs long: start_background_process.",
	effect: "types",
	always: true,
	input: z.object({
		command: script,
		timeout_seconds: z.number().min(0.1).max(MAX_SECONDS).default(30),
		...forShell,
	}),
	facts: z.strictObject({
		stdout: z.string(),
		stderr: z.string(),
		exit_code: z.int().nullable().describe("128 + n after signal n, 124 at the timeout"),
		timed_out: z.boolean(),
		note: z.exactOptional(cleanLine),
		before: z
			.exactOptional(z.strictObject({ output: cleanText, exit_code: z.int().nullable() }))
			.describe("The command before, where its own call was answered before its end"),
		...confined,
	}),
	async run({ command, timeout_seconds, ...wanted }, context) {
		const { sessions, caller, signal } = context;
		const request = {
			command,
			cwd: null,
			timeoutMs: timeout_seconds * 1000,
			onTimeout: "stop",
			waits: false,
			separate: true,
			owner: caller.owner,
			signal,
			answerBy: answerBy(context),
		} as const;
		// Calls at the same time take turns, in their order.
		const { session, outcome, note, isNew } = await sessions.shellTurns.run(`${SHELL} ${caller.owner}`, () => {
			signal.throwIfAborted();
			return runIn(SHELL, { ...wanted, sessions, caller, program: "bash" }, request);
		});
		const mark = markIn("terminal", session, context);
		const before = await commandBefore(session, outcome, {
			...unasked(mark),
			maxTokens: MAX_TOKENS_BEFORE,
			owner: caller.owner,
		});
		const budget = unasked(mark);
		const maxTokens = budget.maxTokens - estimateTokens(before?.text ?? "");
		const streams = asSeen({ ...budget, maxTokens }, session.screen.cols);
		const { stdout, stderr: all } = await streamTexts(session, outcome, streams);
		// An interactive bash says so when it exits; no command wrote it.
		const stderr = outcome.shellEnded ? all.replace(/(^|\n)exit\n$/, "$1") : all;
		const heredoc = openHeredoc(command);
		const notes = [
			...(note === null ? [] : [note]),
			...(outcome.returned === "timeout" && !outcome.timedOut ? [goesOn(context, timeout_seconds)] : []),
			...(outcome.waitedFor === null ? [] : [NO_INPUT]),
			...(outcome.shellEnded ? [endedShell(endReason(session))] : []),
			...(heredoc !== null && stderr.includes(`(wanted \`${heredoc}')`) ? [endless(heredoc)] : []),
		];
		const facts = {
			stdout,
			stderr,
			exit_code: outcome.timedOut ? TIMED_OUT : outcome.exitCode,
			timed_out: outcome.timedOut,
			...(notes.length === 0 ? {} : { note: joined(notes, "; ") }),
			...(before && { before: { output: before.text, exit_code: before.exitCode } }),
			...sandboxOf(session),
		};
		return withShellNotice(facts, context, { ...wanted, isNew });
	},
	render: cleanJson,
});

const NO_INPUT = safe`it was waiting for input, which it cannot get here: give it in the command (a flag, a pipe, a here-document)`;

const endedShell = (reason: CleanLine | null): CleanLine =>
	safe`${reason === null ? "the command ended the shell" : safe`the shell is gone (${reason})`}; the next one gets a new shell`;

/** bash's warning is easily overlooked, and all that follows in the command was taken for text. */
const endless = (word: string): CleanLine =>
	safe`the here-document has no end: everything after it was its text, and no command; end it with a line that is ${inQuotes(oneLine(word))} alone`;

/** The caller's host would have given up before the timeout. */
const goesOn = ({ answerWithinMs = 0 }: ToolContext, seconds: number): CleanLine =>
	safe`still running: this answer was limited to ${inSeconds(answerWithinMs)} s; the next run_bash waits until the command ends or its ${seconds} s are over, and tells its end`;

export const startBackgroundProcess = tool({
	name: "start_background_process",
	title: "Start a background process",
	description: "Start a command that runs by itself (a server, a build, a watcher). It outlives the agent.",
	effect: "starts",
	always: true,
	input: z.object({ command, env: environment.optional().describe("Added to the environment"), ...forProgram }),
	facts: z.strictObject({ process_id: cleanLine, status: z.literal("started"), ...confined }),
	async run(input, context) {
		const session = await startNumbered(context, input);
		const facts = { process_id: oneLine(session.name), status: "started" as const, ...sandboxOf(session) };
		return withEnvironmentNotice(facts, context, input);
	},
	render: cleanJson,
});

export const getProcessOutput = tool({
	name: "get_process_output",
	title: "Read a background process",
	description: "The last lines of a background process, or any, and whether it still runs.",
	effect: "reads",
	always: true,
	input: z.object({ process_id: readableId, lines: z.int().min(0).max(100_000).default(100), ...lineRange }),
	facts: z.strictObject({
		output: cleanText,
		is_running: z.boolean(),
		process_id: cleanLine,
		exit_code: z.exactOptional(z.int().nullable()).describe("Once it has ended; 128 + n after signal n"),
		reason,
		lines: shownLines,
	}),
	async run({ process_id, lines: count, from, to, column }, context) {
		const session = await findNumbered(context, process_id === SHELL ? shellId(context) : process_id);
		// Before the output: one that has ended prints no more, so that nothing is missing from it.
		const { ended, exit } = session;
		const because = endReason(session);
		const mark = markIn("terminal", session, context);
		const isRange = from !== undefined || to !== undefined;
		const output: Pick<Output, "text" | "lines"> = isRange
			? numbered(await numberedLines(session, { from, to, count, column }, unasked(mark)))
			: { text: (await outerLines(session, { count, end: "last" }, mark)).text };
		const facts = {
			output: clean(output.text).text,
			is_running: !ended,
			process_id: oneLine(process_id),
			...(ended ? { exit_code: exitStatus(exit) } : {}),
			...(because !== null && { reason: because }),
			...(output.lines && { lines: output.lines }),
		};
		return withOwnerNotice(facts, session, context, "process");
	},
	render: cleanJson,
});

export const stopBackgroundProcess = tool({
	name: "stop_background_process",
	title: "Stop a background process",
	description: "End a background process and everything it started. Safe to repeat.",
	effect: "ends",
	input: z.object({ process_id: processId }),
	facts: z.strictObject({ status: z.literal("stopped"), process_id: cleanLine }),
	async run({ process_id }, context) {
		await context.sessions.close(await findNumbered(context, process_id), { force: false, keep: false });
		return { status: "stopped" as const, process_id: oneLine(process_id) };
	},
	render: cleanJson,
});

/** The shell that the caller's `run_bash` uses. */
const shellId = ({ sessions, caller }: ToolContext): string =>
	sessions.shells(caller.owner, SHELL)[0]?.record.id ?? SHELL;

/** Where the agent's shell is now, and under the next free number. */
async function startNumbered(
	{ sessions, caller }: ToolContext,
	{ command, ...chosen }: { readonly command: string } & Pick<StartSpec, "env" | "inherit" | "limits">,
): Promise<Session> {
	const shell = sessions.shells(caller.owner, SHELL)[0]?.session;
	const cwd = shell && !shell.ended ? await shell.cwd() : undefined;
	const pickName = pickNumbered(1, backgroundName);
	return sessions.start({ command, runBy: ["bash", "-c"], pickName, cwd, ...chosen, keep: true, caller });
}
