// The terminal tools, as R5 has them: one stateful bash for an agent, and
// processes in the background.

import { z } from "zod";
import { Fault } from "../../protocol/fault.ts";
import type { Session } from "../../session/session.ts";
import type { Sessions } from "../../session/sessions.ts";
import { clean } from "../../terminal/clean.ts";
import { runIn } from "../shell-named.ts";
import { type Caller, tool } from "../tool.ts";
import { cut } from "./new-output.ts";

const SHELL = "bash";
// What a model can use; the rest is in the session's log.
const MAX_TOKENS = 100_000;
const processId = z.string().regex(/^bg_\d{3,}$/, "such as bg_001");
const json = (facts: object) => JSON.stringify(facts);

export const runBash = tool({
	name: "run_bash",
	title: "Run a bash command",
	description:
		"Run a command in a bash that keeps its state between calls: directory, exports, functions, aliases. Past its timeout it is killed, and the shell stays usable. Nobody can answer it: use start_background_process for what runs long.",
	effect: "types",
	always: true,
	input: z.object({
		command: z
			.string()
			.min(1)
			.max(4_000_000)
			.refine((it) => !it.includes("\0"), "no shell can take a NUL byte"),
		timeout_seconds: z.number().min(0.1).max(280).default(30),
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
		const text = (bytes: Uint8Array | undefined) => cut(new TextDecoder().decode(bytes), MAX_TOKENS).text;
		return {
			stdout: text(outcome.streams?.stdout),
			stderr: text(outcome.streams?.stderr),
			exit_code: outcome.exitCode,
			timed_out: outcome.timedOut,
			...(outcome.shellEnded ? { note: "the command ended the shell; the next one gets a new shell" } : {}),
			...(note === null ? {} : { note }),
		};
	},
	render: json,
});

export const startBackgroundProcess = tool({
	name: "start_background_process",
	title: "Start a background process",
	description: "Start a command that goes on by itself (a server, a build, a watcher). It outlives the agent.",
	effect: "starts",
	always: true,
	input: z.object({ command: z.string().min(1).max(1_000_000) }),
	async run({ command }, { sessions, caller }) {
		const session = await startNumbered(sessions, caller, command);
		return { process_id: session.name, status: "started" };
	},
	render: json,
});

export const getProcessOutput = tool({
	name: "get_process_output",
	title: "Read a background process",
	description: "The last lines of a background process, and whether it still runs.",
	effect: "reads",
	always: true,
	input: z.object({ process_id: processId, lines: z.int().min(1).max(100_000).default(100) }),
	async run({ process_id, lines }, { sessions }) {
		const session = await sessions.find(process_id);
		return {
			output: clean(session.screen.lines(lines).join("\n")).text,
			is_running: !session.ended,
			process_id,
			...(session.exit === null ? {} : { exit_code: session.exit.code }),
		};
	},
	render: json,
});

export const stopBackgroundProcess = tool({
	name: "stop_background_process",
	title: "Stop a background process",
	description: "End a background process and everything it started. Safe to repeat.",
	effect: "ends",
	input: z.object({ process_id: processId }),
	async run({ process_id }, { sessions }) {
		await sessions.close(await sessions.find(process_id), { force: false, keep: false });
		return { status: "stopped", process_id };
	},
	render: json,
});

/** Where the agent's shell is now, and under the next free number. */
async function startNumbered(sessions: Sessions, caller: Caller, command: string): Promise<Session> {
	const shell = sessions.shells(caller.owner, SHELL)[0]?.session;
	const cwd = shell && !shell.ended ? await shell.cwd() : undefined;
	for (let number = 1; ; number++) {
		const name = `bg_${String(number).padStart(3, "0")}`;
		if (sessions.list().some(({ record }) => record.name === name)) continue;
		try {
			return await sessions.start({ argv: ["bash", "-c", command], name, cwd, keep: true, caller });
		} catch (error) {
			// Somebody took the number at the same moment.
			if (!(error instanceof Fault && error.code === "name_taken")) throw error;
		}
	}
}
