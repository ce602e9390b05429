// One call a turn, with the real programs: each test is a conversation as an
// agent would have it, without a sleep, a poll or a pattern for the program.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { startPostgres } from "../servers/postgres.ts";
import { SSHD_NEEDS, startSshd } from "../servers/sshd.ts";

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
		expect(product.text.split("\n").map((line) => line.trimEnd())).toEqual([">>> 6*7", "42", ">>>"]);

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

	test("psql: a query, a pager, a prompt that continues, the end", needing("psql", "postgres"), async () => {
		await using server = await startPostgres();
		const psql = await dialtone.start({ argv: ["psql", ...server.arguments], ...patient });
		expect(psql.facts).toMatchObject({ returned: "waiting" });
		expect(psql.facts.text).toContain("postgres=#");

		const answer = await psql.send({ text: "select 6*7 as answer;", submit: true, ...patient });
		expect(answer).toMatchObject({ returned: "waiting" });
		expect(answer.text).toMatch(/answer\s+-+\s+42\s+\(1 row\)/);

		const continued = await psql.send({ text: "select", submit: true, ...patient });
		expect(continued.text).toContain("postgres-#");
		await psql.send({ text: "1;", submit: true, ...patient });

		const pager = await psql.send({
			text: "\\pset pager always \\\\ select generate_series(1, 500);",
			submit: true,
			...patient,
		});
		expect(pager).toMatchObject({ returned: "waiting", waitingFor: "screen" });
		const back = await psql.send({ keys: ["q"], ...patient });
		expect(back.text).toContain("postgres=#");

		const ended = await psql.send({ text: "\\q", submit: true, ...patient });
		expect(ended).toMatchObject({ returned: "ended", status: "succeeded" });
	});

	test("gdb: a breakpoint, a value, the end of the program", needing("gdb"), async () => {
		const source = join(scratch, "sum.c");
		writeFileSync(
			source,
			'#include <stdio.h>\nint main(void) {\n\tint sum = 0;\n\tfor (int i = 1; i <= 4; i++)\n\t\tsum += i;\n\tprintf("%d\\n", sum);\n\treturn 0;\n}\n',
		);
		execFileSync("cc", ["-g", "-O0", "-o", join(scratch, "sum"), source]);
		const gdb = await dialtone.start({ argv: ["gdb", "-q", "-nx", join(scratch, "sum")], ...patient });
		expect(gdb.facts.text).toContain("(gdb)");
		await gdb.send({ text: "set debuginfod enabled off", submit: true, ...patient });
		expect((await gdb.send({ text: "break 6", submit: true, ...patient })).text).toContain("Breakpoint 1");
		const stopped = await gdb.send({ text: "run", submit: true, ...patient });
		expect(stopped).toMatchObject({ returned: "waiting" });
		expect(stopped.text).toContain("Breakpoint 1, main");
		expect((await gdb.send({ text: "print sum", submit: true, ...patient })).text).toContain("$1 = 10");
		expect((await gdb.send({ text: "continue", submit: true, ...patient })).text).toMatch(/10[\s\S]*exited normally/);
		expect((await gdb.send({ text: "quit", submit: true, ...patient })).returned).toBe("ended");
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

	test("git rebase -i: two commits become one in an editor", needing("git", "vim"), async () => {
		const repository = join(scratch, "repository");
		const git = (...args: string[]) =>
			execFileSync("git", ["-C", repository, "-c", "user.name=A", "-c", "user.email=a@b.c", ...args]);
		execFileSync("git", ["init", "-q", repository]);
		for (const name of ["one", "two", "three"]) {
			writeFileSync(join(repository, name), name);
			git("add", "-A");
			git("commit", "-qm", name);
		}
		const rebase = await dialtone.start({
			command: "git -c user.name=A -c user.email=a@b.c rebase -i HEAD~2",
			cwd: repository,
			env: { GIT_EDITOR: "vim -u NONE -N" },
			...patient,
		});
		expect(rebase.facts).toMatchObject({ returned: "waiting", waitingFor: "screen" });
		expect(rebase.facts.text).toContain("pick");
		await rebase.send({ text: ":2s/pick/fixup/", submit: true, ...patient });
		const ended = await rebase.send({ text: ":wq", submit: true, ...patient });
		expect(ended).toMatchObject({ returned: "ended", exit: { code: 0 } });
		expect(git("log", "--format=%s").toString().trim().split("\n")).toEqual(["two", "one"]);
	});

	test(
		"ssh: the host key is asked for, the password is not echoed, the remote shell answers",
		needing(...SSHD_NEEDS),
		async () => {
			await using server = await startSshd();
			const ssh = await dialtone.start({ argv: ["ssh", ...server.arguments], ...patient });
			expect(ssh.facts).toMatchObject({ returned: "waiting", waitingFor: "line" });
			expect(ssh.facts.text).toContain("Are you sure you want to continue connecting");
			const password = await ssh.send({ text: "yes", submit: true, ...patient });
			expect(password).toMatchObject({ returned: "waiting", waitingFor: "secret" });
			const shell = await ssh.send({ text: server.password, submit: true, ...patient });
			expect(shell).toMatchObject({ returned: "waiting" });
			expect(shell.text).not.toContain(server.password);
			const answered = await ssh.send({
				text: "echo $((6*7))",
				submit: true,
				until: { pattern: "^42\\s" },
				...patient,
			});
			expect(answered.text).toContain("42");
			const ended = await ssh.send({ text: "exit 5", submit: true, ...patient });
			expect(ended).toMatchObject({ returned: "ended", exit: { code: 5 } });
		},
	);
});
