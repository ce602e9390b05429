// The cap over all sessions together: when their logs outgrow it, those that
// ended longest ago go. What runs is never touched; the holder keeps each
// session's own quota.

import { lstat, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Status } from "../protocol/answer.ts";
import { type Found, scanSessions } from "./records.ts";

const FINAL: readonly Status[] = ["succeeded", "failed", "cancelled", "stream_lost"];
/** A directory without a readable record may be a session that is just being made; not after an hour. */
const ABANDONED_AFTER_MS = 3_600_000;

export interface Removed {
	readonly id: string;
	readonly bytes: number;
}

/** Removes ended sessions, oldest first, until all together are at most `maxBytes`; says which. */
export async function keepWithin(sessions: string, maxBytes: number): Promise<readonly Removed[]> {
	const found = await Promise.all((await scanSessions(sessions)).map(async (it) => ({ ...it, ...(await sizeOf(it)) })));
	let total = found.reduce((sum, { bytes }) => sum + bytes, 0);
	const removed: Removed[] = [];
	for (const { id, directory, bytes } of found.filter(isOver).sort((a, b) => a.endedAt - b.endedAt)) {
		if (total <= maxBytes) break;
		await rm(directory, { recursive: true, force: true });
		total -= bytes;
		removed.push({ id, bytes });
	}
	return removed;
}

function isOver({ record, endedAt }: Found & { endedAt: number }): boolean {
	return record === null ? endedAt < Date.now() - ABANDONED_AFTER_MS : FINAL.includes(record.state);
}

async function sizeOf({ directory, record }: Found): Promise<{ bytes: number; endedAt: number }> {
	const names = await readdir(directory).catch(() => []);
	// Gone meanwhile: nothing to count.
	const sizes = await Promise.all(
		names.map((name) =>
			lstat(join(directory, name))
				.then((it) => it.size)
				.catch(() => 0),
		),
	);
	const touched = await stat(directory)
		.then((it) => it.mtimeMs)
		.catch(() => 0);
	return {
		bytes: sizes.reduce((sum, size) => sum + size, 0),
		endedAt: record?.resolvedAt ?? record?.updatedAt ?? touched,
	};
}
