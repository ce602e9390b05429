// A file system of our own that shows a directory and can be stopped: what a dead network mount or a stalled disk is.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../condition.ts";
import { compiled } from "../pty/stage.ts";

export class MirrorMount implements AsyncDisposable {
	/** Where it is mounted, and the directory that it shows. */
	readonly path: string;
	readonly behind: string;
	readonly #base: string;
	readonly #server: ChildProcess;

	private constructor(flushes: boolean) {
		this.#base = mkdtempSync(join(tmpdir(), "dtm-"));
		this.path = join(this.#base, "mount");
		this.behind = join(this.#base, "behind");
		mkdirSync(this.path);
		mkdirSync(this.behind);
		const program = compiled("mirror-fs", "-I/usr/include/fuse3", "-lfuse3");
		this.#server = spawn(program, [this.behind, this.path, ...(flushes ? ["flush"] : [])], {
			stdio: ["ignore", "ignore", "inherit"],
		});
	}

	/** `flushes`: closing a file waits for it, too. */
	static async open({ flushes = false } = {}): Promise<MirrorMount> {
		const mount = new MirrorMount(flushes);
		const outside = statSync(mount.#base).dev;
		await until("it is mounted", () => statSync(mount.path).dev !== outside);
		return mount;
	}

	async stop(): Promise<void> {
		this.#server.kill("SIGSTOP");
		await until("it has stopped", () => readFileSync(`/proc/${this.#server.pid}/stat`, "utf8").includes(") T "));
	}
	continue(): void {
		this.#server.kill("SIGCONT");
	}

	/** Whoever still sleeps in it gets an error, so nothing can hold up what is cleared away next. */
	async [Symbol.asyncDispose](): Promise<void> {
		const ended = new Promise((resolve) => this.#server.once("exit", resolve));
		if (this.#server.exitCode === null && this.#server.signalCode === null) {
			this.#server.kill("SIGKILL");
			await ended;
		}
		spawnSync("umount", ["-l", this.path]);
		rmSync(this.#base, { recursive: true, force: true });
	}
}
