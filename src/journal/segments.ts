// The holder's log on disk, by absolute offset: `out.<offset>` files, read only.
//
// The holder writes them (docs/holder.md) and may remove one for its quota at any
// moment, so a file that was listed can be gone when it is opened: that is a gap,
// never an error.

import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const NAME = /^out\.(\d{20})$/;
const PIECE_BYTES = 256 * 1024;

export interface Segment {
	readonly path: string;
	readonly from: number;
	readonly to: number;
}

/** A stretch of the log: its bytes, or null where they are not kept. */
export interface Stretch {
	readonly from: number;
	readonly to: number;
	readonly bytes: Uint8Array | null;
}

/** What is kept, oldest first. Empty when the directory does not exist. */
export async function listSegments(directory: string): Promise<readonly Segment[]> {
	const names = await readdir(directory).catch(nothingWhenGone<string[]>([]));
	const segments: Segment[] = [];
	for (const name of names) {
		const digits = NAME.exec(name)?.[1];
		if (digits === undefined) continue;
		const path = join(directory, name);
		const size = await stat(path).then((stats) => stats.size, nothingWhenGone(-1));
		if (size >= 0) segments.push({ path, from: Number(digits), to: Number(digits) + size });
	}
	return segments.sort((a, b) => a.from - b.from);
}

/** The first kept offset and the offset after the last byte. */
export async function logBounds(directory: string): Promise<{ from: number; to: number }> {
	const segments = await listSegments(directory);
	return { from: segments[0]?.from ?? 0, to: segments.at(-1)?.to ?? 0 };
}

/**
 * The log from `from` up to `to` or its end, in order and contiguous: what is
 * not kept is a stretch without bytes.
 */
export async function* readLog(
	directory: string,
	from: number,
	to = Number.POSITIVE_INFINITY,
): AsyncGenerator<Stretch> {
	let at = from;
	for (const segment of await listSegments(directory)) {
		if (segment.to <= at || segment.from >= to) continue;
		const file = await open(segment.path).catch(nothingWhenGone<FileHandle | null>(null));
		if (file === null) continue;
		try {
			if (segment.from > at) yield { from: at, to: segment.from, bytes: null };
			at = Math.max(at, segment.from);
			while (at < to) {
				const bytes = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, to - at));
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
