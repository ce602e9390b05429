// One session on disk. There are three outcomes: its record, made anew where it is damaged; null, where there is no
// such session; an UnreadRecord, where it cannot be read now. The last is never taken for one of the others: what is
// known of it tells whether something of it may run.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readRecord, readSummary, type SessionRecord } from "../journal/records.ts";
import { hasTraces } from "../journal/session-directories.ts";
import { CorruptState } from "../journal/state-file.ts";
import { bootId } from "../pty/boot-id.ts";
import { listenerAt } from "../pty/living-holder.ts";
import type { Places } from "../pty/places.ts";
import { isAlive, type ProcessIdentity } from "../pty/process-stat.ts";
import { isHolder } from "../pty/process-tree.ts";
import { hasEnded, statusAfter } from "./lifecycle.ts";
import { recoverRecord, UnreadRecord } from "./recovered.ts";

const DIRECTORY_GONE =
	"its directory was deleted while it ran: its name, owner and output are lost, and it can only be ended";

/** A holder that lives although the record says that nothing of the session does counts: the record is amended. */
export async function findRecord(places: Places, id: string): Promise<SessionRecord | null> {
	const directory = join(places.sessions, id);
	try {
		const record = await readRecord(directory).catch((error: unknown) => {
			if (error instanceof CorruptState) return null; // set aside, and one of its traces
			throw error;
		});
		if (record?.terminalOpen) return record;
		const holder = (record && holderOnRecord(record)) ?? (await listenerOf(places, id));
		if (record !== null) return holder === null ? record : { ...record, holder, terminalOpen: true };
		if (await hasTraces(directory)) return await recoverRecord(directory, { lives: holder !== null });
		if (holder !== null) throw new UnreadRecord(DIRECTORY_GONE, id, { holder });
		return null;
	} catch (error) {
		if (error instanceof UnreadRecord) throw error;
		const problem = error instanceof Error ? error.message : String(error);
		const known = (await readSummary(directory)) ?? {};
		const unread = `its record cannot be read now (${problem})`;
		if (!isOver(known)) throw new UnreadRecord(unread, id, known, error);
		const { state = "running" } = known;
		const ended = { state: hasEnded(state) ? state : statusAfter(state, "lost"), terminalOpen: false };
		throw new UnreadRecord(`${unread}; its holder is gone`, id, { ...known, ...ended }, error);
	}
}

/** Its holder and its program are dead, or ran before the last boot. Where they are not known, they may live. */
function isOver({ bootId: boot, holder, pid, born }: Partial<SessionRecord>): boolean {
	if (bootId() === "") return false; // not Linux, or no descriptor was left to read it
	if (boot !== undefined && boot !== bootId()) return true;
	return holder != null && !isAlive(holder) && !isAlive({ pid: pid ?? 0, born: born ?? null });
}

/** The holder of a session, if it lives: by its process on record, else by who listens on its socket. */
export async function livingHolder(places: Places, record: SessionRecord): Promise<ProcessIdentity | null> {
	return holderOnRecord(record) ?? (await listenerOf(places, record.id));
}

/** Pids are meaningless after the next boot. */
function holderOnRecord({ holder, bootId: boot }: SessionRecord): ProcessIdentity | null {
	return holder !== null && boot === bootId() && isAlive(holder) && isHolder(holder.pid) ? holder : null;
}

async function listenerOf(places: Places, id: string): Promise<ProcessIdentity | null> {
	const path = places.socketFor(id);
	return existsSync(path) ? listenerAt(path) : null;
}
