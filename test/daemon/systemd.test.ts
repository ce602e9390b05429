// H9: where systemd runs, a stopped service does not take what was started in it. With a
// real systemd, alone in namespaces of its own (fixtures/systemd-alone.sh).

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Home, MAIN } from "./home.ts";

const COUNTER = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done";
const FIXTURE = join(import.meta.dirname, "../fixtures/systemd-alone.sh");

/** Runs commands where that systemd is process 1. */
async function systemd(home: string) {
	const group = join(home, "cgroups", `dialtone-test-${process.pid}`);
	mkdirSync(join(home, "cgroups"));
	execFileSync("mount", ["-t", "cgroup2", "none", join(home, "cgroups")]);
	mkdirSync(group);
	const enter = `echo $$ > ${group}/cgroup.procs && exec unshare -m -p -C -f --kill-child --propagation private sh ${FIXTURE}`;
	const keeper = spawn("sh", ["-c", enter], { stdio: "ignore" });
	const closed = new Promise((resolve) => keeper.once("close", resolve));
	const init = () => readFileSync(`/proc/${keeper.pid}/task/${keeper.pid}/children`, "utf8").trim();
	const inside = (...command: string[]) =>
		execFileSync("nsenter", ["-t", init(), "-m", "-p", "-C", ...command], {
			encoding: "utf8",
			stdio: ["ignore", "pipe", "pipe"],
		});
	const attempt = (...command: string[]) => {
		try {
			return inside(...command);
		} catch {
			return null; // not yet
		}
	};
	await until("systemd is up", () => attempt("systemctl", "is-active", "alone.target")?.startsWith("active"));
	return {
		inside,
		attempt,
		async [Symbol.asyncDispose]() {
			keeper.kill("SIGKILL");
			await closed;
			const groups = () =>
				readdirSync(group, { withFileTypes: true, recursive: true }).filter((entry) => entry.isDirectory());
			await until("its cgroups are gone", () => {
				for (const entry of groups().reverse())
					try {
						rmdirSync(join(entry.parentPath, entry.name));
					} catch {
						return false; // its processes are still dying
					}
				rmdirSync(group);
				return true;
			});
			execFileSync("umount", [join(home, "cgroups")]);
		},
	};
}

test(
	"H9 a daemon and a session get scopes, and outlive the service they were started in",
	needing("mounts", "systemctl", "systemd-run"),
	async () => {
		const home = new Home();
		{
			await using manager = await systemd(home.path);
			const dialtone = (...args: string[]) => ["env", `DIALTONE_HOME=${home.path}`, process.execPath, MAIN, ...args];
			const script = join(home.path, "agent.sh"); // in a file: systemd expands variables in commands
			const start = dialtone("start", "--name", "count", "--timeout", "100ms", "--").join(" ");
			writeFileSync(script, `${start} sh -c '${COUNTER}' > /dev/null; exec sleep 300`);
			manager.inside("systemd-run", "-q", "-p", "DefaultDependencies=no", "--unit=agent", "sh", script);
			const scopes = () =>
				manager.attempt("systemctl", "list-units", "--plain", "--no-legend", "--type=scope")?.match(/dialtone-\S+/g) ??
				[];
			await until("daemon and session have scopes", () => scopes().length === 2);
			const processes = (unit: string) =>
				manager.inside("sh", "-c", `cat /sys/fs/cgroup/system.slice/${unit}/cgroup.procs`);
			await until(
				"nothing but itself is left in the service",
				() => processes("agent.service").trim().split("\n").length === 1,
			);
			const pid = () => JSON.parse(manager.inside(...dialtone("daemon", "status", "--json"))).pid;
			const daemon = pid();
			manager.inside("systemctl", "stop", "agent.service");
			const [session] = readdirSync(join(home.path, "sessions")).filter((name) => !name.includes("."));
			const lines = () =>
				readFileSync(join(home.path, "sessions", session!, "out.00000000000000000000"), "utf8")
					.split("\r\n")
					.slice(0, -1);
			const before = lines().length;
			await until("the session goes on", () => lines().length > before + 50);
			expect(lines()).toEqual(lines().map((_, index) => `line ${index + 1}`));
			expect(pid()).toBe(daemon);
			manager.inside(...dialtone("kill", "count"));
			await until("its scope is gone with it", () => scopes().length === 1);
		}
		await home[Symbol.asyncDispose]();
	},
);
