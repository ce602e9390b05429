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
