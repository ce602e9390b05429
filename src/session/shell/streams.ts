// stdout and stderr of one command, apart: what shell/streams.sh wrote down.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Streams {
	readonly stdout: Uint8Array;
	readonly stderr: Uint8Array;
}

/** Both, up to the mark that the command's last line put into each; `settled` is waited for first. */
export async function readStreams(
	dir: string,
	{ run, aid }: { run: string; aid: string },
	settled: () => Promise<void>,
): Promise<Streams> {
	await settled();
	const read = async (n: 1 | 2) => {
		const bytes = await readFile(join(dir, `${run}.out${n}`)).catch(() => Buffer.alloc(0)); // never opened: the command could not be parsed
		// From the end: whatever a job in the background writes after it is not the command's.
		const end = bytes.lastIndexOf(`\x1b]133;E;${n};aid=${aid};r=${run}\x07`);
		return end < 0 ? bytes : bytes.subarray(0, end);
	};
	const [stdout, stderr] = await Promise.all([read(1), read(2)]);
	return { stdout, stderr };
}
