// The machine as a conversation may change it: /etc, /usr, /var and /run under layers that are gone with the last
// process. What is installed, removed or given a password there is so for nobody else.

import { execFileSync } from "node:child_process";
import type { Scene } from "./scene.ts";

const DIRECTORIES = ["etc", "usr", "var", "run"];

export interface Account {
	readonly name: string;
	readonly uid: number;
	readonly password: string;
}

/** Writes a script that runs its arguments on such a machine, with these accounts, of which the first may use sudo. */
export function writeMachine(scene: Scene, script: string, accounts: readonly Account[], command: string): void {
	const layers = scene.path("layers");
	scene.run("mkdir", layers);
	const hash = (password: string) => execFileSync("openssl", ["passwd", "-6", password], { encoding: "utf8" }).trim();
	const passwd = accounts.map(({ name, uid }) => `${name}:x:${uid}:${uid}::/:/bin/bash\n`).join("");
	const shadow = accounts.map(({ name, password }) => `${name}:${hash(password)}:19000:0:99999:7:::\n`).join("");
	scene.write("passwd", passwd);
	scene.write("shadow", shadow, 0o600);
	scene.write(
		"sudoers",
		accounts
			.slice(0, 1)
			.map(({ name }) => `${name} ALL=(ALL) ALL\n`)
			.join(""),
		0o440,
	);
	const mounts = DIRECTORIES.map(
		(name) =>
			`mkdir -p ${layers}/${name} ${layers}/${name}.work && mount -t overlay overlay -o lowerdir=/${name},upperdir=${layers}/${name},workdir=${layers}/${name}.work /${name}`,
	);
	const inside = [
		`mount -t tmpfs tmpfs ${layers}`,
		...mounts,
		`cat ${scene.path("passwd")} >> /etc/passwd`,
		`cat ${scene.path("shadow")} >> /etc/shadow`,
		`install -m 440 ${scene.path("sudoers")} /etc/sudoers.d/conversation`,
		// Its trigger would index all manual pages.
		"rm -f /var/lib/man-db/auto-update",
		`exec ${command}`,
	];
	scene.write(`${script}.inside`, `set -e\n${inside.join("\n")}\n`);
	scene.write(script, `#!/bin/sh\nexec unshare -m sh ${scene.path(`${script}.inside`)} "$@"\n`, 0o755);
}
