// Text of several lines in one call arrives as a person types it: each line at the program that reads it, in its modes.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone, type Terminal } from "../../src/index.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

const PATIENT = { timeoutMs: 60_000 };

let dialtone: Dialtone;
let home: string;
beforeAll(async () => {
	dialtone = await Dialtone.open();
	home = mkdtempSync(join(tmpdir(), "dialtone-lines-"));
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
});

const start = (argv?: string[]): Promise<Terminal> =>
	dialtone.start({
		...(argv === undefined ? {} : { argv }),
		cwd: home,
		env: { HOME: home, HISTFILE: "", LC_ALL: "C.UTF-8", TERM: "xterm", GIT_CONFIG_GLOBAL: join(home, "none") },
		...PATIENT,
	});
const numbered = (count: number) => Array.from({ length: count }, (_, i) => (i % 3 === 0 ? "" : `line ${i} ä€😀`));

describe.each<readonly [name: string, argv: string[] | undefined]>([
	["bash", ["bash", "--norc"]],
	["bash with marks", undefined],
	["zsh", ["zsh", "-f"]],
	["sh, which has no line editor", ["sh"]],
])("at %s", (name, argv) => {
	const needed = name === "zsh" ? needing("zsh") : {};
	const hasEditor = argv?.[0] !== "sh";
	test.each<readonly [what: string, typed: string, written: string]>([
		["lines for a program, and its end", "cat > f\nhello\nworld\n\x04", "hello\nworld\n"],
		["… and a command after it", "cat > f\nhello\n\x04echo more >> f\n", "hello\nmore\n"],
		["the answer to a question", "read a\nhello\necho got=$a > f\n", "got=hello\n"],
		["two programs that read, one after the other", "head -n1 > f\none\ncat >> f\ntwo\n\x04", "one\ntwo\n"],
		["a here-document", "cat > f <<E\na\n\nä€😀\nE\n", "a\n\nä€😀\n"],
		["200 lines, some of them empty", `cat > f\n${numbered(200).join("\n")}\n\x04`, `${numbered(200).join("\n")}\n`],
		["a here-document of 400", `cat > f <<E\n${numbered(400).join("\n")}\nE\n`, `${numbered(400).join("\n")}\n`],
		["a line after work that takes long", "sleep 2; head -n1 > f\nlate\n", "late\n"],
	])("%s", needed, async (_what, typed, written) => {
		const file = join(home, "f");
		rmSync(file, { force: true });
		const shell = await start(argv);
		await shell.send({ text: typed, ...PATIENT });
		const all = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
		await until("all of it has arrived", () => all().length >= written.length);
		expect(all()).toBe(written);
		await shell.close({ force: true });
	});

	test("text that ends without Enter, and keys after it", needed, async () => {
		const shell = await start(argv);
		await shell.send({ text: "head -n1\nhello", keys: ["backspace", "p", "enter"], ...PATIENT });
		await shell.send({ text: "echo d$((1))ne\n", ...PATIENT });
		expect((await shell.read({ view: "screen" })).text).toMatch(/hellp\n(?:.*\n)*d1ne/);
		await shell.close({ force: true });
	});

	test.runIf(hasEditor)("what is pasted is one thing", needed, async () => {
		const shell = await start(argv);
		await shell.send({ paste: "cat > p <<E\na\nb\nE", submit: true, ...PATIENT });
		await until(
			`${name} has written`,
			() => existsSync(join(home, "p")) && readFileSync(join(home, "p"), "utf8") === "a\nb\n",
		);
		await shell.close({ force: true });
	});
});

test("Ctrl+C while lines wait drops them", async () => {
	const shell = await start(["bash", "--norc"]);
	await shell.send({ text: "sleep 1000\necho no1\necho no2\n", timeoutMs: 0 });
	await shell.signal({ ...PATIENT });
	const { text } = await shell.send({ text: "echo y$((1))s\n", ...PATIENT });
	expect(text).toContain("y1s");
	expect((await shell.read({ view: "screen" })).text).not.toMatch(/^no/m);
	await shell.close({ force: true });
});

describe("at python's prompt", () => {
	test.each([
		[
			"a line that it reads itself",
			"import sys\na = sys.stdin.readline()\nhello\nprint('got', repr(a))\n",
			"got 'hello\\n'",
		],
		["the answer to input()", "a = input('? ')\nhello\nprint('got', repr(a))\n", "got 'hello'"],
		[
			"a line for another program",
			"import subprocess\na = subprocess.run(['head', '-n1'], stdout=-1)\nhello\nprint('got', a.stdout)\n",
			"got b'hello\\n'",
		],
		["300 lines", `n = 0\n${"n += 1\n".repeat(300)}print('got', n)\n`, "got 300"],
	])("%s", needing("python3"), async (_what, text, printed) => {
		const python = await start(["python3", "-q"]);
		await python.send({ text, ...PATIENT });
		expect((await python.read({ view: "screen" })).text).toContain(printed);
		await python.close({ force: true });
	});
});

test("a commit message for git, typed behind the command", needing("git"), async () => {
	const shell = await start(["bash", "--norc"]);
	await shell.send({
		text: "git init -q r; cd r; git config user.email a@b.c; git config user.name n",
		submit: true,
		...PATIENT,
	});
	await shell.send({
		text: "git commit -q --allow-empty -F -\nsubject\n\nbody\n\x04git log --format=%B\n",
		...PATIENT,
	});
	expect((await shell.read({ view: "screen" })).text).toMatch(/%B\nsubject\n\nbody\n/);
	await shell.close({ force: true });
});

test("a line that is too long for who reads it: the call is told what was typed", async () => {
	const shell = await start(["bash", "--norc"]);
	const { notices, waitingFor } = await shell.send({ text: `cat > long\n${"x".repeat(12_000)}\n\x04`, ...PATIENT });
	expect(notices).toEqual([
		expect.stringMatching(/^only the first 11 bytes .* 12000 bytes.* at most 4095.*12002 bytes/),
	]);
	expect(waitingFor).toBe("line");
	await shell.send({ keys: ["ctrl+d"], ...PATIENT });
	expect(readFileSync(join(home, "long"), "utf8")).toBe("");
	await shell.close({ force: true });
});
