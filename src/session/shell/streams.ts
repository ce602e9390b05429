// stdout and stderr of one command, apart: the daemon's side of holder/streams.c.
//
// One helper per shell copies what commands write into their pipes to files and
// to the terminal. It keeps a directory of pipes ready, which is taken by renaming it.

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
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
	readonly #aid: string;
	/** Of commands that were still running when their call returned. */
	readonly #left = new Set<StreamPipes>();

	constructor({ dir, aid }: { readonly dir: string; readonly aid: string }) {
		this.#dir = dir;
		this.#aid = aid;
	}

	/** Pipes for one run. */
	async open(run: string): Promise<StreamPipes> {
		this.removeLeft();
		const dir = join(this.#dir, `${run}.d`);
		const pipes = { dir, end: `aid=${this.#aid};r=${run}` };
		const taken = await succeeds(rename(join(this.#dir, "spare"), dir));
		if (taken && (await isRead(join(dir, "1")))) return new StreamPipes({ ...pipes, state: "ready" });
		// There is none yet, or it was killed.
		const program = join(this.#dir, "streams");
		await Promise.all([program, dir].map((path) => rm(path, { recursive: true, force: true })));
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
				const pipe = await openPipe(join(this.#dir, `${n}`));
				await pipe?.write(`\x1b]133;E;${n};${this.#end}\x07`).catch(() => {}); // full: a background job fills it
				await pipe?.close();
			}),
		);
	}

	/** What has been copied so far. */
	async read(): Promise<Streams> {
		// Never made: the helper could not be started.
		const read = (name: string) => endsOfFile(join(this.#dir, name)).catch(() => NOTHING);
		const [stdout, stderr] = await Promise.all([read("out1"), read("out2")]);
		return { stdout, stderr };
	}

	/** What a command writes later is still copied to the terminal. */
	async remove(): Promise<void> {
		await rm(this.#dir, { recursive: true, force: true }).catch(() => {}); // may be gone with its session
	}
}

/** A file, of a large one its beginning and its end. */
async function endsOfFile(path: string): Promise<StreamPart> {
	const { headBytes, tailBytes } = limits;
	await using file = await open(path);
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
const openPipe = (path: string): Promise<FileHandle | null> =>
	open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);

async function isRead(path: string): Promise<boolean> {
	const pipe = await openPipe(path);
	await pipe?.close();
	return pipe !== null;
}

const succeeds = (done: Promise<unknown>): Promise<boolean> =>
	done.then(
		() => true,
		() => false,
	);
