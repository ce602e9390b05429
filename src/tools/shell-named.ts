// Which shell is meant: a caller's own, by name; a new one where there is none.

import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { nameFor } from "../session/identity.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Session } from "../session/session.ts";
import type { Sessions } from "../session/sessions.ts";
import { type RunOutcome, type RunRequest, runCommand } from "../session/shell/run.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import type { Caller } from "./tool.ts";

interface ShellWanted {
	readonly sessions: Sessions;
	readonly caller: Caller;
	/** For a new one. */
	readonly program?: string | undefined;
	readonly clean?: boolean;
}

/** Runs a command in the caller's shell of this name. */
export async function runIn(
	name: string,
	wanted: ShellWanted,
	request: RunRequest,
): Promise<{ session: Session; note: CleanLine | null; outcome: RunOutcome }> {
	const { session, note } = await shellNamed(name, wanted);
	try {
		return { session, note, outcome: await runCommand(session, request) };
	} catch (error) {
		// The previous command had ended the shell, which is noticed only now. This one has not been run.
		if (!(error instanceof Fault && error.code === "session_ended")) throw error;
		const fresh = await shellNamed(name, wanted);
		return { ...fresh, outcome: await runCommand(fresh.session, request) };
	}
}

const starting = new WeakMap<Sessions, Map<string, Promise<Session>>>();

/** The caller's shell of this name: the one that runs, or a new one, with a note about what happened to the old one. */
async function shellNamed(
	name: string,
	{ sessions, caller, program, clean = false }: ShellWanted,
): Promise<{ session: Session; note: CleanLine | null }> {
	const [latest] = sessions.shells(caller.owner, name);
	// Also one that is being started or adopted at this moment.
	const existing = latest === undefined || hasEnded(latest.record.state) ? null : await sessions.find(latest.record.id);
	const replaced = existing?.commands?.replaced === true;
	if (existing !== null && !existing.ended && !replaced) return { session: existing, note: null };
	refuseProgram(name, sessions, caller);
	// Two first calls at the same moment mean the same shell.
	const key = `${caller.owner} ${name}`;
	const mine = starting.get(sessions) ?? new Map<string, Promise<Session>>();
	starting.set(sessions, mine);
	const start =
		mine.get(key) ??
		sessions.start({
			caller,
			shell: { name, program: program ?? (caller.env.SHELL || "bash"), clean },
			pickName: (names) => nameFor(name, (candidate) => names.runningNamed(candidate) !== null),
		});
	mine.set(key, start);
	const session = await start.finally(() => mine.delete(key));
	if (latest === undefined) return { session, note: null };
	const { state, exit, reason } = latest.record;
	const fate = replaced ? safe`became another program` : safe`had ended (${oneLine(describeEnd(state, exit, reason))})`;
	return { session, note: safe`a new shell: the one before ${fate}, and its state is gone` };
}

/** The caller's own program of this name is what it means, and no command can be run there. */
function refuseProgram(name: string, sessions: Sessions, { owner }: Caller): void {
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
