// A real PostgreSQL of our own: a cluster in a temporary directory, a socket in
// it, no TCP. It refuses to run as root, so it runs as `postgres` there.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { find } from "../programs.ts";

export interface Postgres extends AsyncDisposable {
	/** For psql, from any user. */
	readonly arguments: readonly string[];
	readonly socketDirectory: string;
}

export async function startPostgres(): Promise<Postgres> {
	const directory = mkdtempSync(join(tmpdir(), "dt-pg-"));
	const identity: Partial<ReturnType<typeof idOf>> = process.getuid?.() === 0 ? idOf("postgres") : {};
	chmodSync(directory, 0o755);
	if (identity.uid !== undefined) chownSync(directory, identity.uid, identity.gid ?? identity.uid);
	const data = join(directory, "data");
	execFileSync(find("initdb")!, ["-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], {
		...identity,
		cwd: directory,
		stdio: "pipe",
	});
	const server = spawn(
		find("postgres")!,
		["-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "unix_socket_permissions=0777"],
		{ ...identity, cwd: directory, stdio: ["ignore", "ignore", "pipe"] },
	);
	await new Promise<void>((resolve, reject) => {
		let said = "";
		server.stderr.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			if (said.includes("ready to accept connections")) resolve();
		});
		server.on("exit", () => reject(new Error(`postgres did not start: ${said}`)));
	});
	return {
		socketDirectory: directory,
		arguments: ["-h", directory, "-U", "postgres", "-X"],
		[Symbol.asyncDispose]: async () => {
			const gone = new Promise((resolve) => server.on("exit", resolve));
			server.kill("SIGINT");
			await gone;
			rmSync(directory, { recursive: true, force: true });
		},
	};
}

function idOf(user: string): { uid: number; gid: number } {
	const line = readFileSync("/etc/passwd", "utf8")
		.split("\n")
		.find((it) => it.startsWith(`${user}:`));
	if (line === undefined) throw new Error(`there is no user ${user}: ${spawnSync("id", [user]).stderr}`);
	const [, , uid, gid] = line.split(":");
	return { uid: Number(uid), gid: Number(gid) };
}
