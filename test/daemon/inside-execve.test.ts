// A program inside execve that waits for a mount which does not answer: whoever reads most of what /proc says of it waits,
// too. The daemon must not: not for calls about it, and not for any other.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../condition.ts";
import { MirrorMount } from "../holder/mirror-mount.ts";
import { needing } from "../programs.ts";
import { compiled } from "../pty/stage.ts";
import { Home } from "./home.ts";

const patient = { timeoutMs: 60_000 };
/** The client gives up on a silent daemon much earlier. */
const LONGEST_MS = 60_000;

test("H1: a program inside execve on a dead mount holds up no call", {
	...needing("file systems", "fusermount3", "/usr/include/fuse3/fuse.h"),
	timeout: 120_000,
}, async () => {
	await using home = new Home();
	await using client = await home.connect();
	await using mount = await MirrorMount.open({ flushes: true });
	const file = join(mount.path, "file");
	writeFileSync(file, "x");
	const timed = async <T>(call: Promise<T>): Promise<T> => {
		const startedAt = performance.now();
		const answer = await call;
		expect(performance.now() - startedAt).toBeLessThan(LONGEST_MS);
		return answer;
	};
	// What has left an ended session is looked for among all processes, now and then and by lists.
	await client.call("start", { name: "left", command: "(setsid sleep 600 >/dev/null 2>&1 </dev/null &)", ...patient });
	const program = [compiled("exec-on-file"), file];
	const started = { until: { text: "ready" }, ...patient };
	const { facts } = await client.call("start", { name: "stuck", argv: program, ...started });
	const pid = (await client.call("list", {})).facts.sessions.find(({ name }) => name === "stuck")!.pid!;
	const background = await client.call("run", { command: `${program.join(" ")} &`, shell: "shell", ...patient });
	const [job] = background.facts.jobs;
	// Before that, the signal would end it.
	await until("the job is ready", async () =>
		(await client.call("read", { session: "shell", view: "lines" })).facts.text.includes("ready"),
	);
	await mount.stop();
	for (const one of [pid, job!.pid]) {
		process.kill(one, "SIGUSR1");
		const heldUp = () => spawnSync("cat", [`/proc/${one}/stat`], { timeout: 500 }).signal !== null;
		await until("it waits inside execve", heldUp);
	}

	const session = facts.session;
	expect((await timed(client.call("read", { session }))).facts).toMatchObject({ status: "running" });
	expect((await timed(client.call("wait", { session, timeoutMs: 300 }))).facts).toMatchObject({ returned: "timeout" });
	expect((await timed(client.call("list", {}))).facts.sessions).toHaveLength(3);
	// Stopped at its timeout, for which the shell's processes are looked at.
	const run = await timed(client.call("run", { command: "sleep 600", shell: "shell", timeoutMs: 500 }));
	expect(run.facts.timedOut).toBe(true);
	const other = await timed(client.call("start", { name: "other", argv: ["cat"], ...patient }));
	expect(other.facts).toMatchObject({ waitingFor: "line" });
	expect((await timed(client.call("list", {}))).facts.sessions).toHaveLength(4);
	mount.continue();
	await until(
		"it goes on",
		async () => (await client.call("wait", { session, ...patient })).facts.waitingFor === "line",
	);
});
