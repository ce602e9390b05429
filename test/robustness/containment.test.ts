// R2.10, R3.5: programs that take all they can get are contained, by name; everybody else goes on.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Conversation } from "./conversation.ts";
import { hogs } from "./hogs.ts";
import { Stage } from "./stage.ts";

const OTHERS = 20;

test("R2.10 R3.5 a fork bomb, a memory hog, a flood, a spinner and disk fillers are ended by name, and 20 sessions answer meanwhile", async () => {
	const directory = mkdtempSync(join(tmpdir(), "dt-fillers-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	await using stage = await Stage.open();
	const client = await stage.connect();
	const honest = await stage.connect();
	const others = await Promise.all(Array.from({ length: OTHERS }, () => Conversation.start(honest, "bash")));
	const wanted = hogs(directory);
	await Promise.all(
		wanted.map(({ name, argv, limits }) => client.call("start", { name, argv: [...argv], limits, timeoutMs: 0 })),
	);
	// Everybody is asked at least once while the hogs are at it, and until the last of them has ended.
	const names = new Set(wanted.map(({ name }) => name));
	const anyRuns = async () => {
		const { sessions } = (await client.call("list", { status: "running" })).facts;
		return sessions.some(({ name }) => names.has(name));
	};
	do await Promise.all(others.map((other) => other.turn()));
	while (await anyRuns());

	for (const { name, because } of wanted) {
		const { facts } = await client.call("wait", { session: name, timeoutMs: 60_000 });
		expect({ name, because: facts.because.split(";")[0] }).toEqual({ name, because });
	}
	for (const file of ["workspace", "tmp"])
		expect(statSync(join(directory, file)).size).toBeLessThanOrEqual(8 * 2 ** 20);
	const flood = await client.call("read", { session: "flood", view: "lines", lines: 1 });
	expect(flood.facts.text).toBe("y");
	await Promise.all(others.map((other) => other.turn()));
	expect(stage.death).toBeNull();
	expect(stage.exceptions()).toEqual([]);
	await stage.idle();
	await client[Symbol.asyncDispose]();
	await honest[Symbol.asyncDispose]();
});
