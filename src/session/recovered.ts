// A session whose record is damaged, missing or cannot be read now, from what else is known of it: the record's copy,
// its log, its exit, and its holder.

import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { readCopy, type SessionRecord, writeRecord } from "../journal/records.ts";
import { logBounds } from "../journal/segments.ts";
import { PROTOCOL_VERSION } from "../protocol/frames.ts";
import { bootId } from "../pty/boot-id.ts";
import { readExit } from "../pty/exit-file.ts";
import { endEvent, hasEnded, statusAfter } from "./lifecycle.ts";

const ID_CHARS = 8;

/** Something of it may run, and its record cannot be read now: neither there nor gone. */
export class UnreadRecord extends Error {
	override readonly name = "UnreadRecord";
	/** What is known of it. */
	readonly record: SessionRecord;

	constructor(problem: string, id: string, known: Partial<SessionRecord>, cause?: unknown) {
		super(problem, { cause });
		this.record = { ...unknownRecord(id), ...known, reason: problem };
	}
}

/** A new record, written in the place of the old one. `lives`: its holder does, whatever its files say. */
export async function recoverRecord(directory: string, { lives }: { readonly lives: boolean }): Promise<SessionRecord> {
	const copy = await readCopy(directory);
	const exit = await readExit(directory);
	const { to } = await logBounds(directory);
	const { birthtimeMs, mtimeMs } = await stat(directory);
	const before: SessionRecord = copy ?? {
		...unknownRecord(basename(directory)),
		createdAt: Math.floor(exit?.startedAt || birthtimeMs || mtimeMs),
		reason: "its record was damaged or missing",
	};
	const ended = hasEnded(before.state) || lives || !exit?.closed ? {} : endedBy(before, exit);
	const record = { ...before, bytesOut: Math.max(before.bytesOut, to), updatedAt: Date.now(), ...ended };
	await writeRecord(directory, record).catch(() => {}); // a full disk: the next daemon recovers it again
	return record;
}

function endedBy({ state }: SessionRecord, exit: NonNullable<Awaited<ReturnType<typeof readExit>>>) {
	return {
		state: statusAfter(statusAfter(state, "launched"), endEvent(exit)),
		exit: { code: exit.code, signal: exit.signal },
		resolvedAt: Math.floor(exit.endedAt),
		terminalOpen: false,
	};
}

/** Counts as running until its holder has been looked for. */
const unknownRecord = (id: string): SessionRecord => ({
	id,
	name: `recovered-${id.slice(0, ID_CHARS)}`,
	command: "(unknown: its record was lost)",
	argv: [],
	cwd: "/",
	state: statusAfter("starting", "launched"),
	pid: null,
	born: null,
	holder: null,
	exit: null,
	reason: null,
	createdAt: Date.now(),
	updatedAt: Date.now(),
	resolvedAt: null,
	bytesOut: 0,
	linesOut: null,
	lastLine: "",
	truncated: false,
	parent: null,
	owner: null,
	bootId: bootId(),
	protocol: PROTOCOL_VERSION,
	cols: 80,
	rows: 24,
	keep: true, // nobody knows what it is: not ended for being idle
	idleMs: null,
	inherit: null,
	env: {},
	limits: {},
	shell: null,
	sandbox: null,
	place: null,
	within: [],
	terminalOpen: true,
});
