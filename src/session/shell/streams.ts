// stdout and stderr of one command, apart: the daemon's side of holder/streams.c.
//
// One helper per shell copies what commands write into their pipes to files and
// to the terminal. It keeps a directory of pipes ready, which is taken by renaming it.

import { constants } from "node:fs";
import { mkdir, open, readFile, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { holderProgram } from "../../pty/launch.ts";
import { removeFiles } from "./prepare.ts";

export interface Streams {
	readonly stdout: Uint8Array;
	readonly stderr: Uint8Array;
}

const NONE = new Uint8Array(0);

/** The pipes of one run, from before it is typed until its output has been read. */
export class StreamPipes {
	/** `start`: the shell has to start the helper first, which makes the pipes. */
	readonly state: "ready" | "start";
	readonly #dir: string;
	readonly #run: string;
	readonly #end: string;

	private constructor(dir: string, { run, end, state }: { run: string; end: string; state: "ready" | "start" }) {
		this.#dir = dir;
		this.#run = run;
		this.#end = end;
		this.state = state;
	}

	static async open(dir: string, { run, aid }: { run: string; aid: string }): Promise<StreamPipes> {
		const own = join(dir, `${run}.d`);
		const end = `aid=${aid};r=${run}`;
		const taken = (await helperRuns(dir)) && (await succeeds(rename(join(dir, "spare"), own)));
		if (!taken) {
			const program = join(dir, "streams");
			await mkdir(own, { mode: 0o700 });
			await succeeds(unlink(program));
			await symlink(holderProgram(), program);
		}
		await writeFile(join(own, "end"), end, { mode: 0o600 });
		return new StreamPipes(dir, { run, end, state: taken ? "ready" : "start" });
	}

	/** Ends both streams where the shell could not: it was interrupted, or became another program. */
	async end(): Promise<void> {
		await Promise.all(
			[1, 2].map(async (n) => {
				// Not blocking: a helper that has gone reads nothing.
				const pipe = await open(this.#path(`${n}`), constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);
				await pipe?.write(`\x1b]133;E;${n};${this.#end}\x07`).catch(() => {}); // full: there is more to read than anybody will
				await pipe?.close();
			}),
		);
	}

	async read(): Promise<Streams> {
		const [stdout, stderr] = await Promise.all(
			["out1", "out2"].map((name) => readFile(this.#path(name)).catch(() => NONE)), // never made: the helper could not be started
		);
		return { stdout: stdout ?? NONE, stderr: stderr ?? NONE };
	}

	/** What a command goes on to write is still copied to the terminal. */
	async remove(): Promise<void> {
		await removeFiles(this.#dir, [`${this.#run}.d`]);
	}

	#path(name: string): string {
		return join(this.#dir, `${this.#run}.d`, name);
	}
}

async function helperRuns(dir: string): Promise<boolean> {
	const pid = Number(await readFile(join(dir, "streams.pid"), "utf8").catch(() => "")); // not started yet
	try {
		return pid > 0 && process.kill(pid, 0);
	} catch {
		return false; // it was killed: the shell starts another
	}
}

const succeeds = (done: Promise<unknown>): Promise<boolean> =>
	done.then(
		() => true,
		() => false,
	);
