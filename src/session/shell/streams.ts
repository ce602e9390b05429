// stdout and stderr of one command, apart: the daemon's side of holder/streams.c.
//
// One helper per shell copies what commands write into their pipes to files and
// to the terminal. It keeps a directory of pipes ready, which is taken by renaming it.

import { constants } from "node:fs";
import { mkdir, open, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { holderProgram } from "../../pty/launch.ts";

export interface Streams {
	readonly stdout: Uint8Array;
	readonly stderr: Uint8Array;
}

const NONE = new Uint8Array(0);

/** The helper of one shell; started by the shell itself when a command first needs it. */
export class StreamHelper {
	readonly #dir: string;
	readonly #aid: string;
	#pid: number | null = null;

	constructor({ dir, aid }: { readonly dir: string; readonly aid: string }) {
		this.#dir = dir;
		this.#aid = aid;
	}

	/** Pipes for one run. */
	async open(run: string): Promise<StreamPipes> {
		const dir = join(this.#dir, `${run}.d`);
		const taken = (await this.#runs()) && (await succeeds(rename(join(this.#dir, "spare"), dir)));
		if (!taken) await this.#prepareStart(dir);
		return new StreamPipes({ dir, end: `aid=${this.#aid};r=${run}`, state: taken ? "ready" : "start" });
	}

	async #runs(): Promise<boolean> {
		this.#pid ??= Number(await readFile(join(this.#dir, "streams.pid"), "utf8").catch(() => "")); // not started yet
		try {
			if (this.#pid > 0 && process.kill(this.#pid, 0)) return true;
		} catch {
			// It was killed: the shell starts another.
		}
		this.#pid = null;
		return false;
	}

	async #prepareStart(dir: string): Promise<void> {
		this.#pid = null;
		const program = join(this.#dir, "streams");
		await Promise.all([mkdir(dir, { mode: 0o700 }), rm(program, { force: true })]);
		await symlink(holderProgram(), program);
	}
}

/** The pipes of one run, from before it is typed until its output has been read. */
export class StreamPipes {
	/** `start`: the shell has to start the helper first, which makes the pipes. */
	readonly state: "ready" | "start";
	readonly #dir: string;
	readonly #end: string;

	constructor({ dir, end, state }: { dir: string; end: string; state: "ready" | "start" }) {
		this.#dir = dir;
		this.#end = end;
		this.state = state;
	}

	/** Ends both streams where the shell could not: it was interrupted, or became another program. */
	async end(): Promise<void> {
		await Promise.all(
			[1, 2].map(async (n) => {
				// Not blocking: a helper that has gone reads nothing.
				const pipe = await open(join(this.#dir, `${n}`), constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);
				await pipe?.write(`\x1b]133;E;${n};${this.#end}\x07`).catch(() => {}); // full: a background job fills it
				await pipe?.close();
			}),
		);
	}

	/** What has been copied so far. */
	async read(): Promise<Streams> {
		// Never made: the helper could not be started.
		const read = (name: string) => readFile(join(this.#dir, name)).catch(() => NONE);
		const [stdout, stderr] = await Promise.all([read("out1"), read("out2")]);
		return { stdout, stderr };
	}

	/** What a command goes on to write is still copied to the terminal. */
	async remove(): Promise<void> {
		await rm(this.#dir, { recursive: true, force: true }).catch(() => {}); // it may be gone with its session
	}
}

const succeeds = (done: Promise<unknown>): Promise<boolean> =>
	done.then(
		() => true,
		() => false,
	);
