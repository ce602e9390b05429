// Logs on disk, by absolute offset, read only: the holder's, in `out.<offset>` files, and the
// transcript made of it, in `text.<offset>` files.
//
// The holder (docs/holder.md) may remove a file for its quota at any moment, so one that
// was listed can be gone when it is opened: that is a gap, never an error.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { openRegular } from "./state-file.ts";

const NAMES = { out: /^out\.(\d{20})$/, text: /^text\.(\d{20})$/ } as const;
export type LogName = keyof typeof NAMES;
/** A petabyte: no session prints that much, and sums of offsets stay exact. */
const MAX_OFFSET = 2 ** 50;
const PIECE_BYTES = 256 * 1024;

export interface Segment {
	readonly path: string;
	readonly from: number;
	readonly to: number;
	/** When it was last written to, in ms since 1970. */
	readonly writtenAt: number;
}

/** A stretch of the log: its bytes, or null where they are not kept. */
export interface Stretch {
	readonly from: number;
	readonly to: number;
	readonly bytes: Uint8Array | null;
}

/** The file of a segment. */
export const segmentPath = (directory: string, log: LogName, from: number): string =>
	join(directory, `${log}.${String(from).padStart(20, "0")}`);

/** What is kept, oldest first. Empty when the directory does not exist. */
export async function listSegments(directory: string, log: LogName = "out"): Promise<readonly Segment[]> {
	const names = await readdir(directory).catch(nothingWhenGone<string[]>([]));
	const segments: Segment[] = [];
	for (const name of names) {
		const digits = NAMES[log].exec(name)?.[1];
		if (digits === undefined) continue;
		const path = join(directory, name);
		const from = Number(digits);
		const stats = await lstat(path).catch(nothingWhenGone(null));
		// What the holder cannot have written is not part of the log.
		if (!stats?.isFile() || from + stats.size > MAX_OFFSET) continue;
		segments.push({ path, from, to: from + stats.size, writtenAt: stats.mtimeMs });
	}
	return segments.sort((a, b) => a.from - b.from);
}

/** The first kept offset, the offset after the last byte and when that was written, of a log that ends at `end` if that is known. */
export async function logBounds(
	directory: string,
	end = Number.POSITIVE_INFINITY,
): Promise<{ from: number; to: number; writtenAt: number | null }> {
	const segments = (await listSegments(directory)).filter(({ from }) => from < end);
	const last = segments.at(-1);
	return { from: segments[0]?.from ?? 0, to: last?.to ?? 0, writtenAt: last?.writtenAt ?? null };
}

/**
 * The log from `from` up to `to` or its end, in order and contiguous: what is
 * not kept is a stretch without bytes.
 */
export async function* readLog(
	directory: string,
	from: number,
	to = Number.POSITIVE_INFINITY,
	pieceBytes = PIECE_BYTES,
): AsyncGenerator<Stretch> {
	let at = from;
	for (const segment of await listSegments(directory)) {
		if (segment.to <= at || segment.from >= to) continue;
		const file = await openRegular(segment.path);
		if (file === null) continue;
		try {
			if (segment.from > at) yield { from: at, to: segment.from, bytes: null };
			at = Math.max(at, segment.from);
			while (at < to) {
				const bytes = Buffer.allocUnsafeSlow(Math.min(pieceBytes, to - at));
				const { bytesRead } = await file.read(bytes, 0, bytes.length, at - segment.from);
				if (bytesRead === 0) break;
				yield { from: at, to: at + bytesRead, bytes: bytes.subarray(0, bytesRead) };
				at += bytesRead;
			}
		} finally {
			await file.close();
		}
	}
}

/** For files that may be removed between listing and opening. */
function nothingWhenGone<T>(nothing: T): (error: NodeJS.ErrnoException) => T {
	return (error) => {
		if (error.code === "ENOENT" || error.code === "ENOTDIR") return nothing;
		throw error;
	};
}
