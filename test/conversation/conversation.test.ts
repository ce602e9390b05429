// One call a turn, as the library tells it: the facts of each answer. The conversations of an agent over MCP are in
// conversations.test.ts.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";

let dialtone: Dialtone;
let scratch: string;

beforeAll(async () => {
	scratch = mkdtempSync(join(tmpdir(), "dt-talk-"));
	dialtone = await Dialtone.open({ options: { timeoutMs: 60_000 } });
});
afterAll(async () => {
	await dialtone?.[Symbol.asyncDispose]();
	rmSync(scratch, { recursive: true, force: true });
});

const patient = { timeoutMs: 60_000 };

describe("R1.6 a conversation in one call a turn", () => {
	test("python: a question, an answer, a multi-line definition, the end", needing("python3"), async () => {
		const python = await dialtone.start({ command: "python3 -q", ...patient });
		expect(python.facts).toMatchObject({ returned: "waiting", activity: "waiting" });
		expect(python.facts.text).toContain(">>> ");

		const product = await python.send({ text: "6*7", submit: true, ...patient });
		expect(product).toMatchObject({ returned: "waiting" });
		expect(product.text.split("\n").map((line) => line.trimEnd())).toEqual(["42", ">>>"]);

		const open = await python.send({ text: "def double(x):", submit: true, ...patient });
		expect(open.text).toContain("... ");
		const closed = await python.send({ text: "    return 2 * x\n\ndouble(21)", submit: true, ...patient });
		expect(closed.text).toContain("42");

		const asked = await python.send({ text: 'name = input("Your name? ")', submit: true, ...patient });
		expect(asked).toMatchObject({ returned: "waiting", waitingFor: "line" });
		expect(asked.text).toMatch(/Your name\? ?$/);
		const answered = await python.send({ text: "Ada", submit: true, ...patient });
		expect(answered.text).toContain(">>>");

		const secret = await python.send({ text: "import getpass; p = getpass.getpass()", submit: true, ...patient });
		expect(secret).toMatchObject({ returned: "waiting", waitingFor: "secret" });
		const told = await python.send({ text: "hunter2", submit: true, ...patient });
		expect(told.text).not.toContain("hunter2");

		const ended = await python.send({ text: "exit(3)", submit: true, ...patient });
		expect(ended).toMatchObject({ returned: "ended", status: "failed", exit: { code: 3, signal: null } });
	});

	test("vim: a text is written and saved", needing("vim"), async () => {
		const file = join(scratch, "note.txt");
		const vim = await dialtone.start({ argv: ["vim", "-u", "NONE", "-N", file], ...patient });
		expect(vim.facts).toMatchObject({ returned: "waiting", waitingFor: "screen", view: "screen" });
		const written = await vim.send({ text: "ihello from an agent", keys: ["esc"], ...patient });
		expect(written.text).toContain("hello from an agent");
		// Vim takes a second to know that Escape was not the beginning of an arrow key; told earlier, it would still insert.
		expect(written.text).not.toContain("INSERT");
		const ended = await vim.send({ text: ":wq", submit: true, ...patient });
		expect(ended).toMatchObject({ returned: "ended", exit: { code: 0 } });
		expect(readFileSync(file, "utf8")).toBe("hello from an agent\n");
	});
});
