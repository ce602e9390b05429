// A session of nobody's, with a set-uid program by which it becomes root: what a holder may not signal or even see.

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { HOLDER, sessionDirectory } from "./raw-holder.ts";

export const NOBODY = 65534;
const ids = (id: number) => [`--reuid=${id}`, `--regid=${id}`, "--clear-groups"];

export function nobodysSession() {
	const directory = sessionDirectory();
	chmodSync(directory, 0o755);
	const setpriv = execFileSync("sh", ["-c", "command -v setpriv"], { encoding: "utf8" }).trim();
	for (const [name, from, mode] of [
		["holder", HOLDER, 0o755],
		["become-root", setpriv, 0o4755],
	] as const) {
		copyFileSync(from, join(directory, name));
		chmodSync(join(directory, name), mode);
	}
	const dir = join(directory, "own");
	mkdirSync(dir);
	chownSync(dir, NOBODY, NOBODY);
	return {
		dir,
		holder: join(directory, "holder"),
		/** Runs the holder as nobody. */
		asNobody: [setpriv, ...ids(NOBODY)],
		/** Runs a program in the session as root. */
		asRoot: [join(directory, "become-root"), ...ids(0)],
	};
}
