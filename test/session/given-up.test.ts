// H7: a launch that was given up does not run.

import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

const home = mkdtempSync(join(tmpdir(), "dt-"));
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Processes that have something open below a directory: a holder has its session's. */
function usersOf(directory: string): string[] {
	return readdirSync("/proc").filter((pid) => {
		try {
			const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
			return open.some((path) => path.startsWith(directory));
		} catch {
			return false; // not a process, or gone meanwhile
		}
	});
}

/** Holds a write lease on a file: whoever opens or executes it sleeps in the kernel, up to 45 s or until this goes. */
const LEASE = `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
while True: signal.pause()
`;

test(
	"H7 a start that timed out while its program hung in exec has failed, and the program never runs",
	needing("python3"),
	async () => {
		const program = join(home, "touch");
		copyFileSync("/usr/bin/touch", program);
		chmodSync(program, 0o755);
		const lease = spawn("python3", ["-c", LEASE, program], { stdio: ["ignore", "pipe", "inherit"] });
		await new Promise((resolve) => lease.stdout.once("data", resolve));
		const dialtone = await Dialtone.open({ home: join(home, "state") });
		await expect(dialtone.start({ name: "late", argv: [program, join(home, "ran")] })).rejects.toMatchObject({
			code: "spawn_failed",
		});
		// It learns of it within a moment. What is released in that very moment may still be executed.
		await until("the holder is gone", () => usersOf(join(home, "state/sessions")).length === 0);
		const released = new Promise((resolve) => lease.once("close", resolve));
		lease.kill("SIGKILL");
		await released;
		expect(existsSync(join(home, "ran"))).toBe(false);
		const { sessions } = await dialtone.list({ status: "ended" });
		expect(sessions).toMatchObject([{ name: "late", status: "failed" }]);
		await dialtone[Symbol.asyncDispose]();
	},
);
