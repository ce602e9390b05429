// C7, around a whole run: the checkout must be left as it was found. What tests write
// belongs in temporary directories; only build outputs may change.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const OUTPUTS = ["node_modules", "dist/", "build/", ".setup/"];

/** What differs from the commit, ignored files included; null where git cannot say. */
function changes(): Set<string> | null {
	const { status, stdout } = spawnSync("git", ["status", "--porcelain", "--ignored", "--untracked-files=all"], {
		cwd: root,
		encoding: "utf8",
	});
	if (status !== 0) return null; // no git, or this is no clone
	const lines = stdout.split("\n").filter((line) => line !== "");
	return new Set(lines.filter((line) => !OUTPUTS.some((path) => line.slice(3).startsWith(path))));
}

export default function setup(): () => void {
	const before = changes();
	return () => {
		const added = [...(changes() ?? [])].filter((line) => before !== null && !before.has(line));
		if (added.length === 0) return;
		process.exitCode = 1; // vitest reports an error here and exits with 0
		console.log(`failed: the tests changed the checkout: ${added.join(" ⏎ ")}`);
		throw new Error(`the tests changed the checkout:\n${added.join("\n")}`);
	};
}
