// A real MariaDB of our own: data and socket in a temporary directory, no TCP.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { find } from "../programs.ts";

export interface Mariadb extends AsyncDisposable {
	/** For the mariadb client. */
	readonly arguments: readonly string[];
}

export async function startMariadb(): Promise<Mariadb> {
	const directory = mkdtempSync(join(tmpdir(), "dt-mdb-"));
	const data = join(directory, "data");
	const socket = join(directory, "sock");
	const user = `--user=${userInfo().username}`;
	execFileSync(
		find("mariadb-install-db")!,
		["--no-defaults", user, `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"],
		{ stdio: "pipe" },
	);
	const settings = ["--no-defaults", user, `--datadir=${data}`, `--socket=${socket}`, "--skip-networking"];
	const server = spawn(find("mariadbd")!, [...settings, "--innodb-flush-log-at-trx-commit=0"], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	await new Promise<void>((resolve, reject) => {
		let said = "";
		server.stderr.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			if (said.includes("ready for connections")) resolve();
		});
		server.on("exit", () => reject(new Error(`mariadbd did not start: ${said}`)));
	});
	return {
		arguments: ["--no-defaults", `--socket=${socket}`, "-u", "root"],
		[Symbol.asyncDispose]: async () => {
			const gone = new Promise((resolve) => server.on("exit", resolve));
			server.kill("SIGTERM");
			await gone;
			rmSync(directory, { recursive: true, force: true });
		},
	};
}
