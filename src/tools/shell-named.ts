// Which shell is meant: a caller's own, by name; a new one where there is none.

import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { Fault } from "../protocol/fault.ts";
import type { Engine } from "../session/engine.ts";
import { describeEnd, type Session } from "../session/session.ts";
import type { Caller } from "./tool.ts";

interface ShellWanted {
	readonly engine: Engine;
	readonly caller: Caller;
	/** For a new one. */
	readonly program?: string | undefined;
	readonly clean?: boolean;
}

/** The caller's shell of this name: the one that runs, or a new one, with a word about what became of the old one. */
export async function shellNamed(
	name: string,
	{ engine, caller, program, clean = false }: ShellWanted,
): Promise<{ session: Session; note: string | null }> {
	const [latest] = engine.shells(caller.owner, name);
	const replaced = latest?.session?.commands?.replaced === true;
	if (latest?.session && !latest.session.ended && !replaced) return { session: latest.session, note: null };
	const session = await engine.start({
		caller,
		shell: { name, program: program ?? (caller.env.SHELL || "bash"), clean },
		name: engine.freeName(name),
	});
	if (latest === undefined) return { session, note: null };
	const fate = replaced
		? "became another program"
		: `had ended (${describeEnd(latest.record.state, latest.record.exit)})`;
	return { session, note: `a new shell: the one before ${fate}, and its state is gone` };
}

/** An existing directory, as the caller means it. */
export async function directoryFor(cwd: string, caller: Caller): Promise<string> {
	const path = isAbsolute(cwd) ? cwd : resolve(caller.cwd, cwd);
	const isThere = await stat(path).then(
		(it) => it.isDirectory(),
		() => false,
	);
	if (!isThere) throw new Fault("bad_input", { problems: [`cwd: ${path} is not a directory`] });
	return path;
}
