// The terminal tools, as R5 has them: one stateful bash for an agent, and
// processes in the background.

import { z } from "zod";
import { type CleanLine, clean, cleanJson, inQuotes, joined, oneLine, safe } from "../../protocol/clean.ts";
import { exitStatus } from "../../pty/signals.ts";
import type { Session } from "../../session/session.ts";
import { openHeredoc } from "../../session/shell/closed.ts";
import type { Finished } from "../../session/shell/commands.ts";
import type { StartSpec } from "../../session/start-spec.ts";
import { CHARS_PER_TOKEN } from "../../terminal/budget.ts";
import { fitBetween, numberedLines, outerLines, streamTexts, unasked } from "../excerpt.ts";
import { cleanLine, cleanText } from "../facts.ts";
import { environment, forProgram, forShell, lineRange, script } from "../fields.ts";
import { markIn } from "../recall.ts";
import { runIn, withShellNotice } from "../shell-named.ts";
import { answerBy, type ToolContext, tool } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { command } from "./command.ts";
import { numbered, type Output, shownLines } from "./new-output.ts";
import { findNumbered, pickNumbered } from "./numbered.ts";

const SHELL = "bash";
/** A day: what takes longer belongs in the background. */
const MAX_SECONDS = 86_400;
/** As timeout(1) has it, whatever the command made of being stopped. */
const TIMED_OUT = 124;
/** Of the command before: the end of a build, say. */
const MAX_TOKENS_BEFORE = 4000;
const processId = z
	.string()
	.max(20)
	.regex(/^bg_\d{3,}$/, "such as bg_001");
/** Also of the shell: its own words for the newest, or the id that a cut names. */
const readableId = z
	.string()
	.max(26)
	.regex(/^(?:bg_\d{3,}|bash|[0-9a-z]{26})$/, "such as bg_001, or bash for the shell of run_bash");

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
			signal,
			answerBy: answerBy(context),
		} as const;
		// Calls at the same time take turns, in their order.
		const { session, outcome, note, isNew } = await sessions.shellTurns.run(`${SHELL} ${caller.owner}`, () => {
			signal.throwIfAborted();
			return runIn(SHELL, { ...wanted, sessions, caller, program: "bash" }, request);
		});
		const { stdout, stderr } = await streamTexts(session, outcome, markIn("terminal", session));
		const heredoc = openHeredoc(command);
		const notes = [
			...(note === null ? [] : [note]),
			...(outcome.returned === "timeout" && !outcome.timedOut ? [goesOn(context, timeout_seconds)] : []),
			...(outcome.shellEnded ? [safe`the command ended the shell; the next one gets a new shell`] : []),
			...(heredoc !== null && stderr.includes(`(wanted \`${heredoc}')`) ? [endless(heredoc)] : []),
		];
		const facts = {
			stdout,
			stderr,
			exit_code: outcome.timedOut ? TIMED_OUT : outcome.exitCode,
			timed_out: outcome.timedOut,
			...(notes.length === 0 ? {} : { note: joined(notes, "; ") }),
			...(outcome.before === null ? {} : { before: await endOf(session, outcome.before) }),
		};
		return withShellNotice(facts, context, { ...wanted, isNew });
	},
	render: cleanJson,
});

async function endOf(session: Session, { from, to, exitCode }: Finished) {
	const budget = { maxTokens: MAX_TOKENS_BEFORE, charsPerToken: CHARS_PER_TOKEN, mark: markIn("terminal", session) };
	return { output: clean((await fitBetween(session, { from, to }, budget)).text).text, exit_code: exitCode };
}

/** bash's warning is easily overlooked, and all that follows in the command was taken for text. */
const endless = (word: string): CleanLine =>
	safe`the here-document has no end: everything after it was its text, and no command; end it with a line that is ${inQuotes(oneLine(word))} alone`;

/** The caller's host would have given up before the timeout. */
const goesOn = ({ answerWithinMs = 0 }: ToolContext, seconds: number): CleanLine =>
	safe`still running: this answer was limited to ${Math.round(answerWithinMs / 1000)} s; the next run_bash waits until the command ends or its ${seconds} s are over, and tells its end`;

export const startBackgroundProcess = tool({
	name: "start_background_process",
	title: "Start a background process",
	description: "Start a command that runs by itself (a server, a build, a watcher). It outlives the agent.",
	effect: "starts",
	always: true,
	input: z.object({ command, env: environment.optional().describe("Added to the environment"), ...forProgram }),
	facts: z.strictObject({ process_id: cleanLine, status: z.literal("started") }),
	async run(input, context) {
		const session = await startNumbered(context, input);
		const facts = { process_id: oneLine(session.name), status: "started" as const };
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
		lines: shownLines,
	}),
	async run({ process_id, lines: count, from, to }, context) {
		const session = await findNumbered(context, process_id === SHELL ? shellId(context) : process_id);
		// Before the output: one that has ended prints no more, so that nothing is missing from it.
		const { ended, exit } = session;
		const mark = markIn("terminal", session);
		const isRange = from !== undefined || to !== undefined;
		const output: Pick<Output, "text" | "lines"> = isRange
			? numbered(await numberedLines(session, { from, to, count }, unasked(mark)))
			: { text: (await outerLines(session, { count, end: "last" }, mark)).text };
		return {
			output: clean(output.text).text,
			is_running: !ended,
			process_id: oneLine(process_id),
			...(ended ? { exit_code: exitStatus(exit) } : {}),
			...(output.lines && { lines: output.lines }),
		};
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
	const pickName = pickNumbered(1, (number) => `bg_${String(number).padStart(3, "0")}`);
	return sessions.start({ argv: ["bash", "-c", command], pickName, cwd, ...chosen, keep: true, caller });
}
