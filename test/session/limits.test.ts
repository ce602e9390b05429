// D7, R2.13, R3.5: limits and signals as options, for every tool set.

import { describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { resolveOptions } from "../../src/session/options.ts";
import { limitsOf } from "../../src/session/start-spec.ts";

describe("R2.13 limits for all sessions", () => {
	test("are off by default, hold for all, and a call may ask for less but not for more", () => {
		expect(limitsOf({}, resolveOptions())).toEqual({});
		const options = resolveOptions({ limitWallMs: 1000, limitOpenFiles: 50 });
		expect(limitsOf({}, options)).toEqual({ wallMs: 1000, openFiles: 50 });
		expect(limitsOf({ wallMs: 10, openFiles: 100, cpuSeconds: 5 }, options)).toEqual({
			wallMs: 10,
			openFiles: 50,
			cpuSeconds: 5,
		});
	});

	test("D7: end a session of any set, and the answer says which limit it was", async () => {
		await using dialtone = await Dialtone.open({ options: { limitWallMs: 2000, limitOpenFiles: 77 } });
		const native = await dialtone.client.call("start", { argv: ["sh", "-c", "sleep 600"], until: { text: "never" } });
		expect(native.facts.because).toContain("wall-clock limit");
		const exec = await dialtone.client.call("unified_exec", { cmd: "ulimit -n", yield_time_ms: 5000 });
		expect(exec.facts).toMatchObject({ output: expect.stringContaining("77") });
	});
});

describe("R2.10 what a limit did is told by name", () => {
	/** tail keeps a line of 400 MB in memory, until it ends. */
	const HOG = "(head -c 400000000 /dev/zero; sleep 60) | tail -n 1 > /dev/null";

	test("to a model that ran it in a shell: the shell is gone, and why; a call cannot raise the limit", async () => {
		await using dialtone = await Dialtone.open({ options: { limitMemoryBytes: 100 * 2 ** 20 } });
		const ran = await dialtone.client.call("run", {
			command: HOG,
			limits: { memoryBytes: 2 ** 40 },
			timeoutMs: 60_000,
		});
		expect(ran.text).toContain("the shell is gone (ended: 100 MB memory limit); the next `run` gets a new one");
		expect((await dialtone.client.call("run", { command: "echo new" })).facts.exitCode).toBe(0);
	});

	test("also where it ended a single process of a shell", async () => {
		await using dialtone = await Dialtone.open({});
		const { client } = dialtone;
		const command =
			"cd $(mktemp -d); dd if=/dev/zero of=f bs=64K count=40 status=none; code=$?; rm -r $PWD; (exit $code)";
		const ran = await client.call("run", { command, limits: { fileBytes: 2 ** 20 }, timeoutMs: 60_000 });
		expect(ran.facts.exitCode).toBe(153);
		expect(ran.text).toContain("a process of it reached the 1 MB file size limit");
		const started = await client.call("start", { command, limits: { fileBytes: 2 ** 20 }, timeoutMs: 60_000 });
		expect(started.facts.because).toBe("exit code 153; a process of it reached the 1 MB file size limit");
	});

	test("and a signal that somebody sent is not a limit", async () => {
		await using dialtone = await Dialtone.open({ options: { limitMemoryBytes: 2 ** 30, limitProcesses: 50 } });
		await dialtone.client.call("start", { argv: ["cat"], name: "cat" });
		const { facts } = await dialtone.client.call("signal", { session: "cat", signal: "KILL" });
		expect(facts).toMatchObject({ because: "killed by SIGKILL", exit: { signal: "SIGKILL" } });
	});
});

test("R3.5: the signals that callers may send are an option", async () => {
	await using dialtone = await Dialtone.open({ options: { signals: "INT, TERM" } });
	const { client } = dialtone;
	await client.call("start", { argv: ["cat"], name: "cat" });
	await expect(client.call("signal", { session: "cat", signal: "USR1" })).rejects.toMatchObject({
		code: "not_allowed",
		message: expect.stringContaining("allowed: INT, TERM"),
	});
	expect((await client.call("read", { session: "cat" })).facts.status).toBe("running");
	expect((await client.call("signal", { session: "cat", signal: "TERM" })).facts.exit).toMatchObject({
		signal: "SIGTERM",
	});
});
