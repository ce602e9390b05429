// Where a conversation takes place: a directory of its own, which is also HOME, and what has to go with it.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SYSTEM_PATH } from "../../test/programs.ts";

export class Scene implements AsyncDisposable {
	readonly directory = mkdtempSync(join(tmpdir(), "dt-talk-"));
	/** What each of the three agents has, and its programs. */
	readonly env: Readonly<Record<string, string>> = {
		HOME: this.directory,
		PATH: SYSTEM_PATH,
		TERM: "xterm-256color",
		LANG: "C.UTF-8",
		SHELL: "/bin/bash",
		TMUX_TMPDIR: this.directory,
	};
	readonly #undo: (() => PromiseLike<void> | void)[] = [];

	constructor() {
		chmodSync(this.directory, 0o755);
	}

	/** What has to end with the conversation, last first. */
	defer(undo: () => PromiseLike<void> | void): void {
		this.#undo.push(undo);
	}

	path(name: string): string {
		return join(this.directory, name);
	}

	write(name: string, text: string, mode = 0o644): void {
		writeFileSync(this.path(name), text, { mode });
	}

	read(name: string): string {
		return readFileSync(this.path(name), "utf8");
	}

	run(program: string, ...args: string[]): string {
		return execFileSync(program, args, { cwd: this.directory, env: this.env, encoding: "utf8", stdio: "pipe" });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const undo of this.#undo.reverse()) await undo();
		// A program that was just ended may still write its history.
		await rm(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
	}
}
