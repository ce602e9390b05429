// What people do with sessions beside calling tools: start one again as it was, rename it, remove it.

import { Fault } from "../protocol/fault.ts";
import { approvalsWithin, type Scope } from "../session/scope.ts";
import type { Sessions } from "../session/sessions.ts";
import { asRecorded } from "./start.ts";
import type { Caller } from "./tool.ts";

export class SessionActions {
	readonly #sessions: Sessions;

	constructor(sessions: Sessions) {
		this.#sessions = sessions;
	}

	/** Its id. `owner`: whose names count; left out: anybody's. */
	async idOf(reference: string, by: { readonly owner?: string | undefined }): Promise<{ id: string; name: string }> {
		const { id, name } = await this.#sessions.recordNamed(reference, by);
		return { id, name };
	}

	/**
	 * Ends it if it runs, and starts the same again: its command, directory, size, limits and what was added to its environment,
	 * under its name, for its owner and conversation. The rest of the environment is this caller's.
	 */
	async restart(id: string, caller: Caller): Promise<string> {
		const sessions = this.#sessions;
		const { session, survivors: before } = await sessions.findToEnd(id, { owner: caller.owner, force: false });
		if (session === null) throw new Fault("session_unreachable", { id, problem: "its record cannot be read" });
		const record = await sessions.recordOf(session);
		const survivors = [...before, ...(await sessions.close(session, { force: false, keep: false }))];
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

	/** A call that waits for a person, as far as it is within the scope of who decides. Without a scope whoever has it says whether there is one. */
	approval(id: string, scope: Scope | null): { id: string; name: string } {
		if (scope === null) return { id, name: id };
		const open = approvalsWithin(scope, this.#sessions.approvals.list()).map((one) => one.id);
		if (!open.includes(id)) throw new Fault("approval_not_found", { id, open });
		return { id, name: id };
	}

	async rename(id: string, name: string): Promise<void> {
		await this.#sessions.rename(id, name);
	}

	/** Refused while anything of it runs. */
	async remove(id: string): Promise<void> {
		await this.#sessions.remove(id);
	}
}
