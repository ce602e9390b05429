// stdout and stderr of one command, apart: the daemon's side of holder/streams.c.
//
// One helper per shell copies what commands write into their pipes to files and
// to the terminal. It keeps a directory of pipes ready, which is taken by renaming it.
//
// In a sandbox the program can write in the same directories. So no link there is followed, nothing but pipes is
// written to and nothing but files is read, and what is removed is moved out of its reach first.

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openRegular } from "../../journal/state-file.ts";
import { HOLDER } from "../../pty/launch.ts";
import { limits } from "../options.ts";

export interface Streams {
	readonly stdout: StreamPart;
	readonly stderr: StreamPart;
}

/** What was written to a stream; of much its beginning and its end. */
export interface StreamPart {
	readonly head: Uint8Array;
	readonly tail: Uint8Array;
	/** Bytes between the two. */
	readonly leftOut: number;
}

export const NOTHING: StreamPart = { head: new Uint8Array(0), tail: new Uint8Array(0), leftOut: 0 };

/** The helper of one shell; started by the shell itself when a command first needs it. */
export class StreamHelper {
	readonly #dir: string;
	readonly #nonce: string;
	/** Of commands that were still running when their call returned. */
	readonly #left = new Set<StreamPipes>();

	constructor({ dir, end }: { readonly dir: string; readonly end: string }) {
		this.#dir = dir;
		this.#nonce = end;
	}

	/** Pipes for one run. */
	async open(run: string): Promise<StreamPipes> {
		this.removeLeft();
		const dir = join(this.#dir, `${run}.d`);
		const pipes = { dir, end: `aid=${this.#nonce};r=${run}` };
		const taken = await succeeds(rename(join(this.#dir, "spare"), dir));
		if (taken && (await isRead(dir, "1"))) return new StreamPipes({ ...pipes, state: "ready" });
		// There is none yet, or it was killed.
		const program = join(this.#dir, "streams");
		await Promise.all([rm(program, { force: true }), removed(dir)]);
		await Promise.all([mkdir(dir, { mode: 0o700 }), symlink(HOLDER, program)]);
		return new StreamPipes({ ...pipes, state: "start" });
	}

	/** The shell still needs these pipes: they are removed when it is at its prompt again. */
	leave(pipes: StreamPipes): void {
		this.#left.add(pipes);
	}

	removeLeft(): void {
		for (const pipes of this.#left) void pipes.remove();
		this.#left.clear();
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
				const pipe = await openPipe(this.#dir, `${n}`);
				await pipe?.write(`\x1b]133;E;${n};${this.#end}\x07`).catch(() => {}); // full: a background job fills it
				await pipe?.close();
			}),
		);
	}

	/** What has been copied so far. */
	async read(): Promise<Streams> {
		// Never made: the helper could not be started.
		const read = (name: string) => within(this.#dir, (dir) => endsOfFile(join(dir, name))).catch(() => NOTHING);
		const [stdout, stderr] = await Promise.all([read("out1"), read("out2")]);
		return { stdout, stderr };
	}

	/** What a command writes later is still copied to the terminal. */
	async remove(): Promise<void> {
		await removed(this.#dir).catch(() => {}); // may be gone with its session
	}
}

/** By a path to this very directory, which stays the same whatever has its name meanwhile. Not of a link. */
async function within<T>(dir: string, use: (path: string) => Promise<T>): Promise<T> {
	await using itself = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
	return await use(process.platform === "linux" ? `/proc/self/fd/${itself.fd}` : dir);
}

const PIPES = ["1", "2", "done", "out1", "out2"];

/** Removes the pipes of a run. What else a program has put beside them stays in the session's own directory. */
async function removed(dir: string): Promise<void> {
	const gone = join(dirname(dirname(dir)), `${basename(dir)}.gone`);
	if (!(await succeeds(rename(dir, gone)))) return; // there is none
	await within(gone, async (path) => {
		await Promise.allSettled(PIPES.map((name) => unlink(join(path, name))));
	}).catch(() => unlink(gone)); // a link
	await succeeds(rmdir(gone));
}

/** A file, of a large one its beginning and its end. */
async function endsOfFile(path: string): Promise<StreamPart> {
	const { headBytes, tailBytes } = limits;
	await using file = await openRegular(path);
	if (file === null) return NOTHING;
	const { size } = await file.stat();
	const read = async (from: number, length: number) => {
		const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
		return buffer.subarray(0, bytesRead);
	};
	if (size <= headBytes + tailBytes) return { ...NOTHING, head: await read(0, size) };
	const [head, tail] = [await read(0, headBytes), await read(size - tailBytes, tailBytes)];
	return { head, tail, leftOut: size - headBytes - tailBytes };
}

/** A pipe to write to; null where it is missing or has no reader, as when the helper was killed. */
async function openPipe(dir: string, name: string): Promise<FileHandle | null> {
	const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
	const pipe = await within(dir, (path) => open(join(path, name), flags)).catch(() => null);
	if (pipe === null || (await pipe.stat()).isFIFO()) return pipe;
	await pipe.close();
	return null;
}

async function isRead(dir: string, name: string): Promise<boolean> {
	const pipe = await openPipe(dir, name);
	await pipe?.close();
	return pipe !== null;
}

const succeeds = (done: Promise<unknown>): Promise<boolean> =>
	done.then(
		() => true,
		() => false,
	);
