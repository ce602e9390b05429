// A home whose daemon was started by `dialtone web` and by nothing else: it has no parent that would start it again.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../condition.ts";

const MAIN = join(import.meta.dirname, "../../dist/main.js");

export class WebHome implements AsyncDisposable {
	readonly path = mkdtempSync(join(tmpdir(), "dt-"));
	readonly #env = { ...process.env, DIALTONE_HOME: this.path, DIALTONE_PORT: "0" };

	async cli(...args: string[]): Promise<{ code: number | null; out: string }> {
		const child = spawn(process.execPath, [MAIN, ...args], { env: this.#env, stdio: ["ignore", "pipe", "inherit"] });
		let out = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			out += text;
		});
		const [code] = (await once(child, "close")) as [number | null];
		return { code, out };
	}

	/** A tool's facts; it must not be refused. */
	async call(tool: string, input: object): Promise<Record<string, unknown>> {
		const { code, out } = await this.cli("call", tool, JSON.stringify(input), "--json");
		if (code !== 0) throw new Error(`${tool}: ${out}`);
		return JSON.parse(out) as Record<string, unknown>;
	}

	/** `kill -9` of the daemon. */
	async kill(): Promise<void> {
		const { pid } = JSON.parse((await this.cli("daemon", "status", "--json")).out) as { pid: number };
		process.kill(pid, "SIGKILL");
		await until("the daemon is gone", () => {
			try {
				process.kill(pid, 0);
				return false;
			} catch {
				return true;
			}
		});
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.cli("daemon", "stop", "--sessions");
		rmSync(this.path, { recursive: true, force: true });
	}
}
