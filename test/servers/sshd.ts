// A real sshd of our own on loopback, with a user and a password that exist
// only in its private view of /etc (a mount namespace), so nothing of the
// machine is changed.

import { execFileSync, spawn } from "node:child_process";
import {
	appendFileSync,
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { find } from "../programs.ts";
import { freePort } from "./free-port.ts";

export interface Sshd extends AsyncDisposable {
	/** For ssh: a fresh list of known hosts, so that it asks. */
	readonly arguments: readonly string[];
	readonly password: string;
	/** A directory for PATH with an `ssh` that logs in to `far` with a key, and to `far-asks` with the password. */
	readonly bin: string;
}

const USER = "dialtone-guest";
const PASSWORD = "open-sesame-42";

/** What it takes to run it and to log in. */
export const SSHD_NEEDS: readonly string[] = ["ssh", "sshd", "ssh-keygen", "openssl", "mounts"];

export async function startSshd(): Promise<Sshd> {
	const directory = mkdtempSync(join(tmpdir(), "dt-sshd-"));
	chmodSync(directory, 0o755);
	const at = (name: string) => join(directory, name);
	mkdirSync(at("home"));
	if (!existsSync("/run/sshd")) mkdirSync("/run/sshd", { mode: 0o755 });
	execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at("host_key")]);
	execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at("user_key")]);
	const hash = execFileSync("openssl", ["passwd", "-6", PASSWORD], { encoding: "utf8" }).trim();
	for (const name of ["passwd", "shadow"]) copyFileSync(join("/etc", name), at(name));
	appendFileSync(at("passwd"), `${USER}:x:64321:64321::${at("home")}:/bin/bash\n`);
	appendFileSync(at("shadow"), `${USER}:${hash}:19000:0:99999:7:::\n`);
	writeFileSync(at("home/.bashrc"), "PS1='guest$ '\n");
	const port = await freePort();
	writeFileSync(
		at("config"),
		[
			`Port ${port}`,
			"ListenAddress 127.0.0.1",
			`HostKey ${at("host_key")}`,
			`PidFile ${at("pid")}`,
			"UsePAM no",
			"PasswordAuthentication yes",
			"KbdInteractiveAuthentication no",
			`AuthorizedKeysFile ${at("user_key.pub")}`,
			"StrictModes no",
			"PrintMotd no",
			"PrintLastLog no",
			"",
		].join("\n"),
	);
	writeFileSync(
		at("ssh_config"),
		[
			"Host far far-asks",
			`HostName 127.0.0.1\nPort ${port}\nUser ${USER}`,
			`UserKnownHostsFile ${at("known_hosts")}\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR`,
			`Host far\nIdentityFile ${at("user_key")}\nIdentitiesOnly yes`,
			"Host far-asks\nPubkeyAuthentication no",
			"",
		].join("\n"),
	);
	// Nothing else says to ssh which file it reads: it does not take its home from the environment.
	mkdirSync(at("bin"));
	writeFileSync(at("bin/ssh"), `#!/bin/sh\nexec ${find("ssh")} -F ${at("ssh_config")} "$@"\n`, { mode: 0o755 });
	const binds = ["passwd", "shadow"].map((name) => `mount --bind ${at(name)} /etc/${name}`).join(" && ");
	const server = spawn("unshare", ["-m", "sh", "-c", `${binds} && exec ${find("sshd")} -D -e -f ${at("config")}`], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	await new Promise<void>((resolve, reject) => {
		let said = "";
		server.stderr.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			if (said.includes("Server listening on")) resolve();
		});
		server.on("exit", () => reject(new Error(`sshd did not start: ${said}`)));
	});
	return {
		password: PASSWORD,
		bin: at("bin"),
		arguments: [
			"-F",
			"none",
			"-p",
			String(port),
			"-o",
			`UserKnownHostsFile=${at("known_hosts")}`,
			"-o",
			"GlobalKnownHostsFile=/dev/null",
			"-o",
			"PubkeyAuthentication=no",
			`${USER}@127.0.0.1`,
		],
		[Symbol.asyncDispose]: async () => {
			const gone = new Promise((resolve) => server.on("exit", resolve));
			server.kill("SIGTERM");
			await gone;
			rmSync(directory, { recursive: true, force: true });
		},
	};
}
