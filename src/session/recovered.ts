// A session whose record was corrupt, from what else is known of it: its log, its exit, and its holder, if one answers.

import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type SessionRecord, writeRecord } from "../journal/records.ts";
import { logBounds } from "../journal/segments.ts";
import { PROTOCOL_VERSION } from "../protocol/frames.ts";
import { bootId } from "../pty/boot-id.ts";
import { readExit } from "../pty/exit-file.ts";

const ID_CHARS = 8;

/** A new record, written in the place of the old one. Without an exit it counts as running until its holder is looked for. */
export async function recoverRecord(directory: string): Promise<SessionRecord> {
	const id = basename(directory);
	const exit = await readExit(directory);
	const { to } = await logBounds(directory);
	const { birthtimeMs, mtimeMs } = await stat(directory);
	const createdAt = Math.floor(exit?.startedAt || birthtimeMs || mtimeMs);
	const record: SessionRecord = {
		id,
		name: `recovered-${id.slice(0, ID_CHARS)}`,
		command: "(unknown: its record was corrupt)",
		argv: [],
		cwd: "/",
		state: exit === null ? "running" : exit.code === 0 ? "succeeded" : "failed",
		pid: null,
		holder: null,
		exit: exit && { code: exit.code, signal: exit.signal },
		reason: "its record was corrupt",
		createdAt,
		updatedAt: Date.now(),
		resolvedAt: exit && Math.floor(exit.endedAt),
		bytesOut: to,
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
		terminalOpen: exit === null || !exit.closed,
	};
	await writeRecord(directory, record);
	return record;
}
