// A Dialtone of its own for a test: a temporary home, the built command line,
// and the way to its daemon. Everything it started is gone afterwards.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findDaemon, reachDaemon } from "../../src/daemon/reach.ts";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { places } from "../../src/pty/places.ts";
import { VERSION } from "../../src/version.ts";

/** DIALTONE_TEST_MAIN names another build's main.js, to show that a test fails there. */
export const MAIN = process.env.DIALTONE_TEST_MAIN ?? join(import.meta.dirname, "../../dist/main.js");
const DAEMON = process.env.DIALTONE_TEST_MAIN
	? [MAIN, "daemon", "run"]
	: [join(import.meta.dirname, "../../dist/daemon.cjs")];
const run = promisify(execFile);

export class Home implements AsyncDisposable {
	readonly path = mkdtempSync(join(tmpdir(), "dt-home-"));
	readonly env: NodeJS.ProcessEnv;

	constructor(env: NodeJS.ProcessEnv = {}) {
		this.env = { ...process.env, SHELL: "/bin/bash", ...env, DIALTONE_HOME: this.path };
	}

	get #reach() {
		return {
			run: places(this.env).run,
			version: VERSION,
			caller: { owner: "test", cwd: this.path, env: this.env as Record<string, string> },
			command: [process.execPath, ...DAEMON],
			env: this.env,
		};
	}

	/** The daemon's client, the daemon started if need be. */
	connect(more: object = {}): Promise<SocketClient> {
		return reachDaemon({ ...this.#reach, ...more });
	}

	find(): Promise<SocketClient | null> {
		return findDaemon(this.#reach);
	}

	/** Runs the command line to its end. */
	async cli(...args: string[]): Promise<{ stdout: string; code: number }> {
		const options = { env: this.env, cwd: this.path, maxBuffer: 2 ** 26 };
		try {
			const { stdout } = await run(process.execPath, [MAIN, ...args], options);
			return { stdout, code: 0 };
		} catch (error) {
			const { stdout, code } = error as { stdout: string; code: number };
			return { stdout, code };
		}
	}

	spawnDaemon(): ChildProcess {
		return spawn(process.execPath, DAEMON, { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		// Also where a test that failed has left one of another version.
		const client = await this.connect({ anyVersion: true });
		await client.stop({ sessions: true }).catch(() => {}); // it left by itself
		rmSync(this.path, { recursive: true, force: true });
	}
}
