// What people do to a session as a whole, beside calling tools: start it again as it was, rename it, remove it, show it to
// others. No rule of the policy is asked: an agent has `start` and `close`, and these are a person's alone.

import type { PersonDone, WholeAct } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Target } from "./audit-trail.ts";
import { asRecorded } from "./start.ts";
import type { Caller } from "./tool.ts";

interface Whole {
	readonly act: WholeAct;
	readonly caller: Caller;
	/** Called with the session as it was before, when something was done to it. */
	readonly onDone: (target: Target) => void;
}

export async function actOnWhole(
	sessions: Sessions,
	reference: string,
	{ act, caller, onDone }: Whole,
): Promise<PersonDone> {
	const { id, name, owner } = await sessions.recordNamed(reference);
	const done = () => onDone({ id, name, owner: owner ?? null, isSecret: false });
	switch (act.act) {
		case "restart":
			return { session: await restart(sessions, id, { caller, onEnded: done }), name };
		case "rename":
			await sessions.rename(id, act.name);
			break;
		case "remove":
			await sessions.remove(id);
			break;
		case "share":
			break;
	}
	done();
	return { session: id, name: act.act === "rename" ? act.name : name };
}

/**
 * Ends it if it runs, and starts the same again: its command, directory, size, limits and what was added to its environment,
 * under its name, for its owner and conversation. The rest of the environment is this caller's.
 */
async function restart(
	sessions: Sessions,
	id: string,
	{ caller, onEnded }: { readonly caller: Caller; readonly onEnded: () => void },
): Promise<string> {
	const { session, survivors: before } = await sessions.findToEnd(id, { owner: caller.owner, force: false });
	if (session === null) throw new Fault("session_unreachable", { id, problem: "its record cannot be read" });
	const record = await sessions.recordOf(session);
	const survivors = [...before, ...(await sessions.close(session, { force: false, keep: false }))];
	onEnded(); // whether it can be started again or not
	if (survivors.length > 0) {
		const processes = survivors.map(({ pid, command }) => ({ pid, command }));
		const facts = { id: record.name, sessionId: record.id, what: "background", wanted: "start", processes } as const;
		throw new Fault("still_running", facts);
	}
	const { owner, parent } = record;
	// As its owner would: in the workspace that was its own.
	const cwd = record.sandbox?.workspace ?? caller.cwd;
	const started = await sessions.start({
		...asRecorded(record),
		caller: { ...caller, cwd, owner: owner ?? caller.owner, parent: parent ?? undefined },
	});
	return started.id;
}
