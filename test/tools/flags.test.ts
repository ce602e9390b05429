// On a command line fields are flags: what Dialtone says about a call names these.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import type { Caller } from "../../src/tools/tool.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const env = { PATH: process.env.PATH!, HOME: "/nonexistent", SHELL: "/bin/bash" };
const told = async (caller: Caller, tool: string, input: object) => {
	const { facts, text } = await dialtone.client.call(tool, input, { caller });
	return { notices: (facts as SessionFacts).notices ?? [], text };
};

test.each([
	["a model", false, ["`env` adds what the program needs", "`env`, `limits` had no effect", "`maxTokens`: 1 is less"]],
	[
		"a command line",
		true,
		["`--env` adds what the program needs", "`--env`, `--limit-…` had no effect", "`--max-tokens`: 1 is less"],
	],
])("C5: the notices for %s name its own words", async (who, commandLine, [adds, without, less]) => {
	const caller: Caller = { owner: who, cwd: "/", env, withheld: ["GITHUB_TOKEN"], commandLine };
	const started = await told(caller, "start", { argv: ["cat"], name: `cat-${commandLine}` });
	expect(started.text).toContain(adds);
	await told(caller, "run", { command: "true" });
	const again = await told(caller, "run", { command: "true", env: { A: "b" }, limits: { cpuSeconds: 60 } });
	expect(again.notices).toEqual([expect.stringContaining(without!)]);
	expect(again.text).toContain(without);
	expect((await told(caller, "read", { session: "main", maxTokens: 1 })).notices).toContainEqual(
		expect.stringContaining(less!),
	);
});
