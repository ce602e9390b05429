// Which shell is meant: a caller's own, by name; a new one where there is none.

import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { noticesIn } from "../protocol/answer.ts";
import { type CleanLine, joined, oneLine, safe } from "../protocol/clean.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import type { Inherit } from "../pty/environment.ts";
import type { Limits } from "../pty/launch-block.ts";
import { nameFor } from "../session/identity.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { SandboxChoice } from "../session/policy.ts";
import type { SessionsInReach } from "../session/reach.ts";
import type { Session } from "../session/session.ts";
import { type RunOutcome, type RunRequest, runCommand } from "../session/shell/run.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import { onHost } from "./host-names.ts";
import type { Caller, ToolContext } from "./tool.ts";
import { withEnvironmentNotice } from "./withheld.ts";

interface ShellWanted {
	readonly sessions: SessionsInReach;
	readonly caller: Caller;
	/** For a new one. */
	readonly program?: string | undefined;
	readonly clean?: boolean;
	readonly env?: Readonly<Record<string, string>> | undefined;
	readonly inherit?: Inherit | undefined;
	readonly limits?: Limits | undefined;
	readonly sandbox?: SandboxChoice | undefined;
	/** Where the command is to run: of a new shell with a sandbox, its workspace. */
	readonly cwd?: string | undefined;
}

interface ShellFound {
	readonly session: Session;
	readonly isNew: boolean;
	/** What happened to the one before. */
	readonly note: CleanLine | null;
}

/** Runs a command in the caller's shell of this name. */
export async function runIn(
	name: string,
	wanted: ShellWanted,
	request: RunRequest,
): Promise<ShellFound & { readonly outcome: RunOutcome }> {
	const found = await shellNamed(name, wanted);
	try {
		return { ...found, outcome: await runCommand(found.session, request) };
	} catch (error) {
		// The previous command had ended the shell, which is noticed only now. This one has not been run, unless it may have been typed.
		if (!isFault(error, "session_ended") || error.facts.maybeTyped) throw error;
		const fresh = await shellNamed(name, wanted);
		return { ...fresh, outcome: await runCommand(fresh.session, request) };
	}
}

/** By what all callers' views of the same sessions share. */
const starting = new WeakMap<SessionsInReach["shellTurns"], Map<string, Promise<Session>>>();

/** The caller's shell of this name: the one that runs, or a new one, with a note about what happened to the old one. */
async function shellNamed(
	name: string,
	{ sessions, caller, program, clean = false, env, inherit, limits, sandbox, cwd }: ShellWanted,
): Promise<ShellFound> {
	await sessions.reread();
	const [latest] = sessions.shells(caller.owner, name);
	// Also one that is being started or adopted at this moment.
	const existing = latest === undefined || hasEnded(latest.record.state) ? null : await sessions.find(latest.record.id);
	const replaced = existing?.commands?.replaced === true;
	// Its identity was lost: what it prints cannot be told apart any more.
	const unknown = existing !== null && !existing.ended && existing.commands === null;
	if (existing !== null && !existing.ended && !replaced && !unknown) {
		await sessions.mustBeConfined(latest!.record, caller, sandbox);
		return { session: existing, isNew: false, note: null };
	}
	refuseProgram(name, sessions, caller);
	// Two first calls at the same moment mean the same shell.
	const key = `${caller.owner} ${name} ${caller.inside?.id ?? ""}`;
	const mine = starting.get(sessions.shellTurns) ?? new Map<string, Promise<Session>>();
	starting.set(sessions.shellTurns, mine);
	const start =
		mine.get(key) ??
		sessions.start({
			caller,
			shell: { name, program: program ?? (caller.env.SHELL || "bash"), clean },
			env,
			inherit,
			limits,
			sandbox,
			cwd: sandbox === undefined ? undefined : cwd,
			sandboxBefore: latest?.record.sandbox ?? undefined,
			pickName: (names) => nameFor(name, (candidate) => names.runningNamed(candidate) !== null),
		});
	mine.set(key, start);
	const session = await start.finally(() => mine.delete(key));
	if (latest === undefined) return { session, isNew: true, note: null };
	const { state, exit, reason } = latest.record;
	const fate = replaced
		? safe`became another program`
		: unknown
			? safe`goes on as ${oneLine(onHost(caller, latest.record.name))}, but its \`shell.json\` is missing or damaged`
			: safe`ended (${oneLine(describeEnd(state, exit, reason))})`;
	return { session, isNew: true, note: safe`started a new shell: the previous one ${fate}, its state is lost` };
}

/** What this call's shell did not inherit, if it is new; else what was asked of a new one in vain. */
export function withShellNotice<F extends object>(
	facts: F,
	context: ToolContext,
	{ isNew, ...wanted }: Pick<ShellFound, "isNew"> & Pick<ShellWanted, "program" | "env" | "inherit" | "limits">,
): F {
	if (isNew) return withEnvironmentNotice(facts, context, { ...wanted, isShell: true });
	const { program, env, inherit, limits } = wanted;
	const fields = Object.entries({ program, env, inherit, limits }).filter(([, value]) => value !== undefined);
	if (fields.length === 0) return facts;
	const named = joined(
		fields.map(([field]) => safe`\`${oneLine(field)}\``),
		", ",
	);
	return { ...facts, notices: [...noticesIn(facts), safe`${named} had no effect: the shell was running already`] };
}

/** The caller's own program of this name is what it means, and no command can be run there. */
function refuseProgram(name: string, sessions: SessionsInReach, { owner }: Caller): void {
	const program = sessions
		.list()
		.find(({ record }) => record.name === name && record.owner === owner && !hasEnded(record.state));
	if (program !== undefined && program.record.shell === null)
		throw new Fault("not_a_shell", { name, command: program.record.command });
}

/** An existing directory, as the caller means it. */
export async function directoryFor(cwd: string, caller: Caller): Promise<string> {
	const path = isAbsolute(cwd) ? cwd : resolve(caller.cwd, cwd);
	const isThere = await stat(path).then(
		(found) => found.isDirectory(),
		() => false,
	);
	if (!isThere) throw new Fault("bad_input", { problems: [`\`cwd\`: ${path} is not a directory`] });
	return path;
}
