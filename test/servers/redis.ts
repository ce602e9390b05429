// A real Redis of our own: a socket in a temporary directory, no TCP, nothing saved.

import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { find } from "../programs.ts";

export interface Redis extends AsyncDisposable {
	/** For redis-cli. */
	readonly arguments: readonly string[];
}

export async function startRedis(): Promise<Redis> {
	const directory = mkdtempSync(join(tmpdir(), "dt-redis-"));
	chmodSync(directory, 0o755);
	const socket = join(directory, "sock");
	const settings = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "777", "--save", "", "--dir", directory];
	const server = spawn(find("redis-server")!, settings, { stdio: ["ignore", "pipe", "ignore"] });
	await new Promise<void>((resolve, reject) => {
		let said = "";
		server.stdout.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			if (/ready to accept connections/i.test(said)) resolve();
		});
		server.on("exit", () => reject(new Error(`redis-server did not start: ${said}`)));
	});
	return {
		arguments: ["-s", socket],
		[Symbol.asyncDispose]: async () => {
			const gone = new Promise((resolve) => server.on("exit", resolve));
			server.kill("SIGTERM");
			await gone;
			rmSync(directory, { recursive: true, force: true });
		},
	};
}
