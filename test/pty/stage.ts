// A place of its own for a test's sessions: started, listened to, and cleared
// away afterwards, whatever happened.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
	chmodSync,
	chownSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	renameSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessionDirectory } from "../../src/journal/session-directories.ts";
import { environment } from "../../src/pty/environment.ts";
import type { HolderPty } from "../../src/pty/holder-pty.ts";
import { HOLDER, type LaunchSpec, launch } from "../../src/pty/launch.ts";
import { type Places, places, preparePlaces } from "../../src/pty/places.ts";
import type { PtyExit } from "../../src/pty/pty.ts";
import { until } from "../condition.ts";

const NOBODY = 65534;
export const root = join(import.meta.dirname, "../..");

export interface Started {
	readonly pty: HolderPty;
	readonly spec: LaunchSpec;
	readonly received: Received;
}

export class Stage implements AsyncDisposable {
	readonly home: string;
	readonly places: Places;
	readonly #ptys: HolderPty[] = [];

	private constructor(home: string) {
		this.home = home;
		this.places = places({ DIALTONE_HOME: home });
	}

	static async open(): Promise<Stage> {
		const stage = new Stage(await mkdtemp(join(tmpdir(), "dt-")));
		preparePlaces(stage.places);
		return stage;
	}

	/** What is needed to launch; the session's directory is there. */
	async spec(argv: readonly string[], changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
		const id = randomBytes(8).toString("hex");
		return {
			directory: await makeSessionDirectory(this.places.sessions, id),
			socketPath: this.places.socketFor(id),
			argv,
			env: environment({ inherit: "safe", caller: process.env, explicit: { LC_ALL: "C.UTF-8" } }),
			cwd: this.home,
			cols: 80,
			rows: 24,
			epoch: 1n,
			...changes,
		};
	}

	/** Starts a program, or a line of shell. */
	async start(program: string | readonly string[], changes: Partial<LaunchSpec> = {}): Promise<Started> {
		const argv = typeof program === "string" ? ["sh", "-c", program] : program;
		const spec = await this.spec(argv, changes);
		const pty = this.keep(await launch(spec));
		return { pty, spec, received: new Received(pty) };
	}

	/** Places that nobody may use, and a holder that runs as nobody; `limit` as for prlimit(1). Root only. */
	async asNobody(limit = ""): Promise<{ holder: string; places: Pick<LaunchSpec, "directory" | "socketPath"> }> {
		const [binary, holder] = [join(this.home, "holder"), join(this.home, `as-nobody${limit}`)];
		chmodSync(this.home, 0o755);
		copyFileSync(HOLDER, binary);
		const become = `setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups`;
		writeFileSync(holder, `#!/bin/sh\nexec ${become} ${limit && `prlimit ${limit}`} ${binary}\n`, { mode: 0o755 });
		const directory = await mkdtemp(join(this.home, "nobody-"));
		const run = await mkdtemp(join(this.home, "run-"));
		for (const path of [directory, run]) chownSync(path, NOBODY, NOBODY);
		return { holder, places: { directory, socketPath: join(run, "s.sock") } };
	}

	/** Ends it with the stage. */
	keep(pty: HolderPty): HolderPty {
		this.#ptys.push(pty);
		return pty;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.allSettled(this.#ptys.map((pty) => pty.end(0)));
		for (const pty of this.#ptys) await pty[Symbol.asyncDispose]();
		await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** Everything a listener was told, checked to be without gap or repetition. */
export class Received {
	readonly #chunks: Uint8Array[] = [];
	readonly gaps: { from: number; to: number }[] = [];
	readonly exited: Promise<PtyExit>;
	readonly #from: number;
	#at: number;

	constructor(pty: HolderPty, from = 0) {
		this.#from = from;
		this.#at = from;
		pty.onOutput((chunk) => {
			if ("gap" in chunk) {
				const { gap } = chunk;
				if (gap.from !== this.#at) throw new Error(`received a gap from ${gap.from} at ${this.#at}`);
				this.#at = gap.to;
				this.gaps.push(gap);
				return;
			}
			const { offset, bytes } = chunk;
			if (offset !== this.#at) throw new Error(`received offset ${offset} instead of ${this.#at}`);
			this.#at += bytes.length;
			this.#chunks.push(bytes);
		});
		this.exited = pty.exited;
	}

	get bytes(): Buffer {
		return Buffer.concat(this.#chunks);
	}

	get text(): string {
		return this.bytes.toString();
	}

	get count(): number {
		return this.#at - this.#from;
	}

	/** Settles when the text was received. */
	says(text: string): Promise<true> {
		return until(`the program says ${JSON.stringify(text)}`, () => this.text.includes(text));
	}
}

/** A tiny C program of test/fixtures, compiled when it is not yet, or has changed since. */
export function compiled(name: string, ...flags: readonly string[]): string {
	const binary = join(root, "build/fixtures", name);
	const source = join(root, "test/fixtures", `${name}.c`);
	if (existsSync(binary) && statSync(binary).mtimeMs >= statSync(source).mtimeMs) return binary;
	mkdirSync(join(root, "build/fixtures"), { recursive: true });
	const mine = `${binary}.${process.pid}`;
	execFileSync("cc", ["-O1", "-Wall", "-o", mine, source, ...flags]);
	// Two test files may want it at once: whoever is last replaces a whole one by a whole one.
	renameSync(mine, binary);
	return binary;
}
