// Our own command line as a process, on a home of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const MAIN = join(import.meta.dirname, "../../dist/main.js");

export interface Result {
	readonly code: number | null;
	readonly out: string;
	readonly err: string;
}

export class CommandLine implements AsyncDisposable {
	readonly home = mkdtempSync(join(tmpdir(), "dt-"));
	readonly env: Readonly<Record<string, string>>;

	constructor(more: Readonly<Record<string, string>> = {}) {
		const { DIALTONE_OWNER: _, ...env } = process.env;
		this.env = { ...(env as Record<string, string>), ...more, DIALTONE_HOME: this.home };
	}

	spawn(args: readonly string[]) {
		return spawn(process.execPath, [MAIN, ...args], { env: this.env, stdio: ["pipe", "pipe", "pipe"] });
	}

	async run(args: readonly string[], stdin = ""): Promise<Result> {
		const child = this.spawn(args);
		let out = "";
		let err = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			out += text;
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			err += text;
		});
		child.stdin.end(stdin);
		const [code] = (await once(child, "close")) as [number | null];
		return { code, out, err };
	}

	async json(args: readonly string[]): Promise<Record<string, unknown>> {
		return JSON.parse((await this.run([...args, "--json"])).out);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.run(["daemon", "stop", "--sessions"]);
		rmSync(this.home, { recursive: true, force: true });
	}
}
