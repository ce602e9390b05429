// The terminal tools, as R5 has them: one stateful bash for an agent, and
// processes in the background.

import { z } from "zod";
import type { Part } from "../../journal/journal.ts";
import { clean, cleanJson, oneLine, safe } from "../../protocol/clean.ts";
import type { Session } from "../../session/session.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { NamesInUse } from "../../session/start-spec.ts";
import { cleanLine, cleanText } from "../facts.ts";
import { commandLine, script } from "../fields.ts";
import { target } from "../session-facts.ts";
import { runIn } from "../shell-named.ts";
import { type Caller, tool } from "../tool.ts";
import { freeNumber } from "./free-number.ts";
import { cut } from "./new-output.ts";

const SHELL = "bash";
// What a model can use; the rest is in the session's log.
const MAX_TOKENS = 100_000;
const processId = z
	.string()
	.max(20)
	.regex(/^bg_\d{3,}$/, "such as bg_001");

export const runBash = tool({
	name: "run_bash",
	title: "Run a bash command",
	description:
		"Run a command in a bash that keeps its state between calls: directory, exports, functions, aliases. Past its timeout it is killed, and the shell stays usable. It gets no input: use start_background_process for what runs long.",
	effect: "types",
	always: true,
	input: z.object({
		command: script,
		timeout_seconds: z.number().min(0.1).max(280).default(30),
	}),
	facts: z.strictObject({
		stdout: z.string(),
		stderr: z.string(),
		exit_code: z.int().nullable(),
		timed_out: z.boolean(),
		note: z.exactOptional(cleanLine),
	}),
	async run({ command, timeout_seconds }, { sessions, caller, signal }) {
		const { outcome, note } = await runIn(
			SHELL,
			{ sessions, caller, program: "bash" },
			{
				command,
				cwd: null,
				timeoutMs: timeout_seconds * 1000,
				onTimeout: "stop",
				waits: false,
				separate: true,
				signal,
			},
		);
		const text = (part: Part | undefined) => cut(new TextDecoder().decode(part?.bytes), MAX_TOKENS).text;
		return {
			stdout: text(outcome.streams?.stdout),
			stderr: text(outcome.streams?.stderr),
			exit_code: outcome.exitCode,
			timed_out: outcome.timedOut,
			...(outcome.shellEnded ? { note: safe`the command ended the shell; the next one gets a new shell` } : {}),
			...(note === null ? {} : { note }),
		};
	},
	render: cleanJson,
});

export const startBackgroundProcess = tool({
	name: "start_background_process",
	title: "Start a background process",
	description: "Start a command that runs by itself (a server, a build, a watcher). It outlives the agent.",
	effect: "starts",
	always: true,
	input: z.object({ command: commandLine }),
	facts: z.strictObject({ process_id: cleanLine, status: z.literal("started") }),
	async run({ command }, { sessions, caller }) {
		const session = await startNumbered(sessions, caller, command);
		return { process_id: oneLine(session.name), status: "started" as const };
	},
	render: cleanJson,
});

export const getProcessOutput = tool({
	name: "get_process_output",
	title: "Read a background process",
	description: "The last lines of a background process, and whether it still runs.",
	effect: "reads",
	always: true,
	input: z.object({ process_id: processId, lines: z.int().min(1).max(100_000).default(100) }),
	facts: z.strictObject({
		output: cleanText,
		is_running: z.boolean(),
		process_id: cleanLine,
		exit_code: z.exactOptional(z.int().nullable()),
	}),
	async run({ process_id, lines }, context) {
		const session = await target(context, process_id);
		return {
			output: clean(session.screen.lines(lines).join("\n")).text,
			is_running: !session.ended,
			process_id: oneLine(process_id),
			...(session.exit === null ? {} : { exit_code: session.exit.code }),
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
		await context.sessions.close(await target(context, process_id), { force: false, keep: false });
		return { status: "stopped" as const, process_id: oneLine(process_id) };
	},
	render: cleanJson,
});

/** Where the agent's shell is now, and under the next free number. */
async function startNumbered(sessions: Sessions, caller: Caller, command: string): Promise<Session> {
	const shell = sessions.shells(caller.owner, SHELL)[0]?.session;
	const cwd = shell && !shell.ended ? await shell.cwd() : undefined;
	const pickName = (names: NamesInUse) => freeNumber(names, 1, (number) => `bg_${String(number).padStart(3, "0")}`);
	return sessions.start({ argv: ["bash", "-c", command], pickName, cwd, keep: true, caller });
}
