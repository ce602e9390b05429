// What `run` tells of the command before, whose own call was answered before its end.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { RunFacts } from "../../src/protocol/answer.ts";
import { until } from "../dialects/ways.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "model" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const observer = { caller: { owner: "observer", cwd: "/", env: {} } };
const LATER = "echo a; read -t 2 < <(sleep 9); echo IMPORTANT; (exit 9)";
/** An answer without the numbers of its fences. */
const plain = (text: string) => text.replace(/<<(\d+)\n([\s\S]*?)\n\1(?=\n|$)/g, "<<\n$2\n>>");

/** A shell of its own; `begin` runs a command there that outlasts its call, `over` waits for its end as somebody else. */
async function shell(name: string) {
	const run = async (command: string, input: object = {}, options: object = {}) => {
		const { text, facts } = await dialtone.client.call(
			"run",
			{ command, shell: name, program: "bash", clean: true, timeoutMs: 60_000, ...input },
			options,
		);
		return { text: plain(text), facts: facts as RunFacts };
	};
	const { session } = (await run("true")).facts;
	const over = () =>
		until(
			async () => (await dialtone.client.call("read", { session }, observer)).facts,
			({ lastCommand, waitingFor }) => lastCommand !== undefined && waitingFor === "command",
		);
	const close = () => dialtone.client.call("close", { session, force: true });
	return { run, over, close, session };
}

describe("T8 the command before", () => {
	test.each([
		["was left at its timeout", { timeoutMs: 400, onTimeout: "leave" }, {}],
		["outlasted its caller's host", {}, { answerWithinMs: 400 }],
	])("T8: %s: the next `run` tells the rest of its output and its exit code, once", async (_, input, options) => {
		const { run, over, close, session } = await shell("rest");
		const first = await run(LATER, input, options);
		expect(first.facts).toMatchObject({ returned: "timeout", exitCode: null, text: "a\n" });
		expect(first.text).toMatch(/<<\na\n>>/); // no empty line at its end
		await over();
		const next = await run("echo q");
		expect(next.text).toBe("[rest] exit code 0 <<\nq\n>>\nbefore: exit code 9 <<\nIMPORTANT\n>>");
		expect(next.facts).toMatchObject({ exitCode: 0, text: "q\n", before: { text: "IMPORTANT", exitCode: 9 } });
		const third = await run("echo r");
		expect(third.text).toBe("[rest] exit code 0 <<\nr\n>>");
		expect(third.facts.before).toBe(undefined);
		// At most the prompt, which comes after the end of the command.
		expect((await dialtone.client.call("read", { session })).text).not.toMatch(/IMPORTANT|^[aqr]$/m);
		await close();
	});

	test("T8: printed nothing more: its exit code", async () => {
		const { run, over, close } = await shell("code");
		await run("echo a; read -t 2 < <(sleep 9); (exit 9)", { timeoutMs: 400, onTimeout: "leave" });
		await over();
		expect((await run("true")).text).toBe("[code] exit code 0\nbefore: exit code 9");
		await close();
	});

	test.each(["wait", "read"] as const)("T8: `%s` has told it: it is not told again", async (tool) => {
		const { run, over, close, session } = await shell("told");
		await run(LATER, { timeoutMs: 400, onTimeout: "leave" });
		await over();
		const { text } = await dialtone.client.call(tool, { session });
		expect(text).toContain("IMPORTANT");
		expect(text).toContain("exit code 9");
		const next = await run("echo q");
		expect(next.text).toBe("[told] exit code 0 <<\nq\n>>");
		expect(next.facts.before).toBe(undefined);
		await close();
	});

	test("T8: was told in part: the rest", async () => {
		const { run, over, close, session } = await shell("part");
		const command = "echo a; read -t 1 < <(sleep 9); echo b; read -t 2 < <(sleep 9); echo c; (exit 9)";
		await run(command, { timeoutMs: 300, onTimeout: "leave" });
		const { facts } = await dialtone.client.call("wait", { session, until: { text: "b", only: true } });
		expect(facts.text.trim()).toBe("b");
		await over();
		expect((await run("echo q")).facts.before).toEqual({ text: "c", exitCode: 9 });
		await close();
	});

	test("T8: both keep to one budget, and what is left out is named", async () => {
		const { run, over, close } = await shell("much");
		await run("read -t 2 < <(sleep 9); seq 5000", { timeoutMs: 400, onTimeout: "leave" });
		await over();
		const { text, facts } = await run("seq 5000", { maxTokens: 400 });
		expect(facts.before?.text).toMatch(/^1\n[\s\S]*lines \d+–\d+ of \d+[\s\S]*\n5000$/);
		expect(facts.text).toMatch(/^1\n[\s\S]*lines \d+–\d+ of \d+[\s\S]*\n5000$/);
		expect(facts.text.length + facts.before!.text.length).toBeLessThanOrEqual(400 * 4);
		expect(text).toContain("before: exit code 0 <<");
		await close();
	});
});
