// What each tool's call does, in the words of rules and of the audit log: one row for each tool that does
// more than read, whichever set it is of. A tool without a row cannot be called (deeds.test.ts).

import type { Effect } from "./tool.ts";

/** What a call asks for, before anything of it is looked up. */
export interface Asked {
	/** By name or id, as the tool takes it. */
	readonly session?: string;
	/** A shell command line, and what runs it where that is chosen. */
	readonly command?: string;
	readonly runBy?: string | undefined;
	/** The caller's own shell that it is run in. */
	readonly shell?: string;
	readonly argv?: readonly string[];
	/** An ended session whose command is started again. */
	readonly again?: string;
	/** Where it is run; then `cwd` and `env` are of that place. */
	readonly in?: string;
	readonly cwd?: string | undefined;
	readonly env?: Readonly<Record<string, string>>;
	readonly sandbox?: unknown;
	readonly typed?: Typed;
	/** The name of a secret that is typed. */
	readonly secret?: string;
	readonly signal?: string;
	readonly size?: { readonly cols: number; readonly rows: number };
}

export interface Typed {
	readonly text: string;
	readonly submit: boolean;
	readonly keys: readonly string[];
}

type Input = Readonly<Record<string, unknown>>;
type Row = (input: Input) => Asked;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
/** Only the fields that are there. */
const given = <T extends object>(fields: T): { [K in keyof T]: NonNullable<T[K]> } =>
	Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as never;
const started = (input: Input, command: unknown, more: object = {}): Asked =>
	given({ command, cwd: input.cwd ?? input.workdir, env: input.env, sandbox: input.sandbox, ...more }) as Asked;
const chars: Row = ({ session_id, chars }) => ({
	session: String(session_id),
	typed: { text: text(chars), submit: false, keys: [] },
});

export const DEEDS: Readonly<Record<string, Row>> = {
	start: (input) => started(input, input.command, { argv: input.argv, again: input.again, in: input.in }),
	run: (input) => started(input, input.command, { runBy: input.program, shell: input.shell }),
	send: ({ session, text: typed, paste, submit, keys, secret }) =>
		given({
			session: text(session),
			typed: { text: text(typed) + text(paste), submit: submit === true, keys: (keys ?? []) as readonly string[] },
			secret: secret as string | undefined,
		}) as Asked,
	signal: ({ session, signal }) => ({ session: text(session), signal: text(signal) }),
	resize: ({ session, cols, rows }) => ({ session: text(session), size: { cols: Number(cols), rows: Number(rows) } }),
	close: ({ session, force }) => ({ session: text(session), signal: force === true ? "KILL" : "TERM" }),
	unified_exec: (input) => started(input, input.cmd, { runBy: input.shell }),
	exec_command: (input) => started(input, input.cmd, { runBy: input.shell }),
	write_stdin: chars,
	close_pty_session: ({ session_id, force }) => ({
		session: String(session_id),
		signal: force === true ? "KILL" : "TERM",
	}),
	pty_create: (input) => started(input, input.cmd),
	pty_send_keys: ({ terminal_id, keys, enter }) => ({
		session: text(terminal_id),
		typed: Array.isArray(keys)
			? { text: "", submit: false, keys: [...(keys as string[]), ...(enter === true ? ["enter"] : [])] }
			: { text: text(keys), submit: enter === true, keys: [] },
	}),
	pty_kill: ({ terminal_id, signal }) => ({ session: text(terminal_id), signal: text(signal) }),
	run_bash: (input) => started(input, input.command, { shell: "bash" }),
	start_background_process: (input) => started(input, input.command),
	stop_background_process: ({ process_id }) => ({ session: text(process_id), signal: "TERM" }),
};

/** Null where the tool does nothing to a program. */
export function askedOf(
	{ name, effect }: { readonly name: string; readonly effect: Effect },
	input: object,
): Asked | null {
	return effect === "reads" || effect === "asks" ? null : DEEDS[name]!(input as Input);
}

/** How long the call may wait. */
export function askedMs(input: object): number {
	const { timeoutMs, yield_time_ms, timeout_seconds } = input as Input;
	if (typeof timeout_seconds === "number") return timeout_seconds * 1000;
	const ms = timeoutMs ?? yield_time_ms;
	return typeof ms === "number" ? ms : USUAL_MS;
}

const USUAL_MS = 30_000;
