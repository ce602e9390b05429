// The corpus as another user of this machine, in a process of its own. Needs root.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SYSTEM_PATH } from "../programs.ts";
import type { Outcome } from "./play.ts";

/** Programs to copy as unreadable ones: see programs/unseen.ts. */
const UNSEEN = ["dash", "cat", "sleep", "python3", "less", "bash"];

const as = (user: string, ...argv: string[]) => [
	`--reuid=${user}`,
	`--regid=${execFileSync("id", ["-g", user], { encoding: "utf8" }).trim()}`,
	"--clear-groups",
	...argv,
];

/** Whether this user may read this checkout. */
export function isReachable(user: string): boolean {
	return spawnSync("setpriv", as(user, "test", "-r", import.meta.filename)).status === 0;
}

export async function playAsUser(user: string, options: readonly string[]): Promise<Outcome[]> {
	const home = mkdtempSync(join(tmpdir(), "dialtone-home-"));
	const unseen = mkdtempSync(join(tmpdir(), "dialtone-unseen-"));
	try {
		const [uid, gid] = ["-u", "-g"].map((of) => Number(execFileSync("id", [of, user], { encoding: "utf8" })));
		chownSync(home, uid as number, gid as number);
		chmodSync(unseen, 0o755);
		for (const program of UNSEEN) {
			copyFileSync(join("/usr/bin", program), join(unseen, program));
			chmodSync(join(unseen, program), 0o711);
		}
		const result = join(home, "outcomes.json");
		const environment = [
			`HOME=${home}`,
			`TMPDIR=${home}`,
			`PATH=${SYSTEM_PATH}`,
			"TERM=xterm",
			`DIALTONE_CORPUS_UNSEEN=${unseen}`,
		];
		const main = [process.execPath, "--import", "tsx", join(import.meta.dirname, "main.ts")];
		const argv = as(user, "env", "-i", ...environment, ...main, ...options, "--json", result);
		await promisify(execFile)("setpriv", argv, { maxBuffer: 1 << 30 });
		return JSON.parse(readFileSync(result, "utf8"));
	} finally {
		rmSync(home, { recursive: true, force: true });
		rmSync(unseen, { recursive: true, force: true });
	}
}
