// Which program a process is: its executable and the version of it that runs, told apart by its arguments.

import { createHash } from "node:crypto";
import { readFile, readlink, stat } from "node:fs/promises";

export interface Program {
	readonly path: string;
	/** Device, inode, size and time of change of the executable. */
	readonly version: string;
	/** A hash of its arguments: an interpreter is as many programs as it runs scripts. */
	readonly arguments: string;
}

const HASH_CHARS = 16;

// A dead mount keeps a thread of the pool, of which node has four: never more than one.
let looking = false;

/** Null where it may not be known, undefined while another look is under way. */
export async function programOf(pid: number): Promise<Program | null | undefined> {
	if (looking) return undefined;
	looking = true;
	try {
		const executable = `/proc/${pid}/exe`;
		const path = await readlink(executable);
		const { dev, ino, size, mtimeNs } = await stat(executable, { bigint: true });
		const words = await readFile(`/proc/${pid}/cmdline`);
		const hash = createHash("sha256").update(words).digest("hex").slice(0, HASH_CHARS);
		return { path, version: [dev, ino, size, mtimeNs].join(":"), arguments: hash };
	} catch {
		return null; // it has ended, is another user's, or there is no /proc
	} finally {
		looking = false;
	}
}
