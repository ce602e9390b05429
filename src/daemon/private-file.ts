// Files of our own state, read only where no other user can have written them.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, renameSync } from "node:fs";

const WRITABLE_BY_OTHERS = 0o022;

/** The file's text. Throws where it is a link, not a plain file, another user's, writable by others, or larger than `maxBytes`. */
export function readPrivate(path: string, maxBytes: number): string {
	// Without O_NONBLOCK the open of a FIFO would wait for its writer.
	const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const found = fstatSync(file);
		if (!found.isFile()) throw new Error(`${path} is not a file`);
		if (found.uid !== (process.getuid?.() ?? 0)) throw new Error(`${path} belongs to another user (uid ${found.uid})`);
		if ((found.mode & WRITABLE_BY_OTHERS) !== 0) throw new Error(`other users can write to ${path}`);
		if (found.size > maxBytes) throw new Error(`${path} is too large (${found.size} bytes)`);
		return readFileSync(file, "utf8");
	} finally {
		closeSync(file);
	}
}

/** Moves what has the place of a file and is none (a directory, link, pipe) out of the way, for `doctor` to show. */
export function setAsideUnlessFile(path: string): void {
	const found = lstatSync(path, { throwIfNoEntry: false });
	if (found !== undefined && !found.isFile()) renameSync(path, `${path}.corrupt-not-a-file`);
}
