// `npm run soak -- churn [--clients 1000] [--conversations 20]` · `npm run soak -- chaos [--minutes 10] [--no-disk]`

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chaos } from "./chaos.ts";
import { churn } from "./churn.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		clients: { type: "string", default: "1000" },
		conversations: { type: "string", default: "20" },
		counters: { type: "string", default: "6" },
		talks: { type: "string", default: "6" },
		/** Whether this process has been started on a small disk of its own. */
		disk: { type: "boolean", default: false },
		"no-disk": { type: "boolean", default: false },
		minutes: { type: "string", default: "10" },
		seed: { type: "string", default: String(Date.now() % 1_000_000) },
	},
});
const seed = Number(values.seed);
const [name] = positionals;
if (name === "churn") {
	const report = await churn({ clients: Number(values.clients), conversations: Number(values.conversations), seed });
	console.log(JSON.stringify({ seed, ...report }, null, "\t"));
} else if (name === "chaos" && !values.disk && !values["no-disk"] && process.getuid?.() === 0) {
	process.exitCode = onSmallDisk();
} else if (name === "chaos") {
	const report = await chaos({
		seconds: Number(values.minutes) * 60,
		seed,
		counters: Number(values.counters),
		talks: Number(values.talks),
		fillDisk: values.disk,
		say: (line) => console.error(`${new Date().toISOString()} ${line}`),
	});
	console.log(JSON.stringify({ seed, ...report }, null, "\t"));
} else {
	console.error("Usage: npm run soak -- churn | chaos");
	process.exitCode = 2;
}

/** This once more, with a temporary directory that is a small file system in a mount namespace of its own. */
function onSmallDisk(): number {
	const disk = mkdtempSync(join(tmpdir(), "dt-disk-"));
	const again = [...process.execArgv, ...process.argv.slice(1), "--disk", "--seed", String(seed)];
	const script = 'mount -t tmpfs -o size=64m,mode=0755 tmpfs "$0" && TMPDIR="$0" exec "$@"';
	const shell = ["-m", "--propagation", "private", "sh", "-c", script, disk, process.execPath, ...again];
	const { status } = spawnSync("unshare", shell, { stdio: "inherit" });
	rmSync(disk, { recursive: true });
	return status ?? 1;
}
