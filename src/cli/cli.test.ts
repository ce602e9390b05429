import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FAKE_CARDS, FakeClient } from "../../test/fake-client.ts";
import { cli } from "./cli.ts";
import type { Dependencies, Io } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT, EXIT_MEANINGS } from "./exit-codes.ts";

let client: FakeClient;
let stateDir: string;

beforeEach(() => {
	client = new FakeClient();
	stateDir = mkdtempSync(join(tmpdir(), "dialtone-cli-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

async function dialtone(args: string[], stdin = "") {
	let out = "";
	let err = "";
	const io: Io = {
		out: (text) => {
			out += typeof text === "string" ? text : Buffer.from(text).toString();
		},
		err: (text) => {
			err += text;
		},
		stdin: Readable.from([Buffer.from(stdin)]) as unknown as NodeJS.ReadStream,
		stdout: { on: () => {} } as unknown as NodeJS.WriteStream,
		env: { PATH: process.env.PATH },
		cwd: "/",
	};
	const dependencies = {
		version: "0.1.0",
		stateDir,
		connect: async () => client,
		peek: async () => client,
		toolCards: async () => FAKE_CARDS,
		mcpHelp: async () => "paste this",
		daemon: { status: async () => null },
	} as unknown as Dependencies;
	const code = await cli(args, dependencies, io);
	return { code, out, err };
}

const lastInput = () => client.calls.at(-1)!.input;

describe("commands become tool calls", () => {
	test("one word is a command for the shell, several are a program and its arguments", async () => {
		await dialtone(["start", "ls | wc"]);
		expect(lastInput()).toEqual({ command: "ls | wc", keep: false });
		await dialtone(["start", "--name", "py", "--", "python3", "-i"]);
		expect(lastInput()).toEqual({ argv: ["python3", "-i"], name: "py", keep: false });
	});

	test("a line is entered; keys, and text that says so, are not", async () => {
		await dialtone(["send", "py", "6*7"]);
		expect(lastInput()).toEqual({ session: "py", text: "6*7", submit: true });
		await dialtone(["send", "py", "--key", "ctrl+c"]);
		expect(lastInput()).toEqual({ session: "py", keys: ["ctrl+c"], submit: false });
		await dialtone(["send", "py", "-n", "abc"]);
		expect(lastInput()).toEqual({ session: "py", text: "abc", submit: false });
		await dialtone(["send", "py", "--paste", "-"], "one\ntwo\n");
		expect(lastInput()).toEqual({ session: "py", paste: "one\ntwo\n", submit: true });
	});

	test("conditions and times are handed on in the tool's own words", async () => {
		await dialtone(["send", "py", "x", "--until", "ready", "--still", "2s", "--port", "80", "--only", "-t", "1m"]);
		expect(lastInput()).toMatchObject({
			until: { text: "ready", stillMs: 2000, port: 80, only: true },
			timeoutMs: 60_000,
		});
	});

	test("a command's words reach the shell as they were", async () => {
		await dialtone(["run", "echo", "it's", "a b", "--json"]);
		expect(lastInput()).toEqual({ command: "echo 'it'\\''s' 'a b' --json", separate: false });
	});
});

describe("which session is meant", () => {
	test("what no session begins with is told with those that are open", async () => {
		const { code, err } = await dialtone(["read", "nope"]);
		expect(code).toBe(EXIT.noSuchSession);
		expect(err).toContain("Open sessions: py.");
	});
});

describe("answers", () => {
	test("--json gives the facts as one JSON object on one line", async () => {
		const { out } = await dialtone(["read", "py", "--json"]);
		expect(out.trim().split("\n")).toHaveLength(1);
		expect(JSON.parse(out)).toMatchObject({ session: "0py0", returned: "now" });
	});

	test("a fault is JSON too where JSON was asked for, and for `call` always", async () => {
		for (const args of [
			["read", "nope", "--json"],
			["call", "read", '{"session":"nope"}'],
		]) {
			const { code, out } = await dialtone(args);
			expect(code).toBe(EXIT.noSuchSession);
			expect(Object.keys(JSON.parse(out))).toEqual(["fault", "message", "next"]);
		}
	});

	test("`call` takes its JSON as a word or from stdin, and says when it is none", async () => {
		expect(JSON.parse((await dialtone(["call", "list"])).out)).toHaveProperty("sessions");
		expect(JSON.parse((await dialtone(["call", "read", "-"], '{"session":"py"}')).out)).toHaveProperty("offset");
		expect((await dialtone(["call", "read", "{"])).code).toBe(EXIT.usage);
	});

	test("`run` leaves with the command's own exit code and prints only its output", async () => {
		expect(await dialtone(["run", "false"])).toEqual({ code: 3, out: "hello\n", err: "" });
	});

	test("`logs` writes the bytes as they came", async () => {
		client.output_ = Buffer.from("a\r\n\x1b[31mb");
		expect((await dialtone(["logs", "py"])).out).toBe("a\r\n\x1b[31mb");
		expect((await dialtone(["logs", "py", "--from", "3"])).out).toBe("\x1b[31mb");
	});

	test("`attach` without a terminal says what to do instead", async () => {
		const { code, err } = await dialtone(["attach", "py"]);
		expect(code).toBe(EXIT.passedFault);
		expect(err).toContain("logs -f");
	});
});

describe("words about words", () => {
	test("no command, an unknown command, and a command with a wrong flag each lead to help", async () => {
		expect((await dialtone([])).out).toContain("First steps");
		expect(await dialtone(["strat", "x"])).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("start") });
		expect((await dialtone(["ls", "--nope"])).err).toContain("usage: dialtone ls");
		expect((await dialtone(["mcp", "--help"])).out).toContain("paste this");
	});

	test("every command has help, and the general help leaves none out", async () => {
		const { out } = await dialtone(["help"]);
		for (const { name, hidden } of COMMANDS) {
			if (hidden) continue;
			expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
			expect((await dialtone(["help", name])).out).toContain(`usage: dialtone ${name}`);
		}
	});

	test.each(["bash", "zsh", "fish"])("completion for %s knows every command and flag", async (shell) => {
		const { out } = await dialtone(["completion", shell]);
		for (const { name, flags = {}, hidden } of COMMANDS) {
			if (hidden) continue;
			expect(out).toContain(name);
			for (const flag of Object.keys(flags)) expect(out).toContain(shell === "fish" ? `-l ${flag}` : `--${flag}`);
		}
	});

	test("tools are listed as a table or as cards", async () => {
		expect((await dialtone(["tools"])).out).toMatch(/^send\s+types\s+What send does\.$/m);
		expect(JSON.parse((await dialtone(["tools", "--json"])).out).tools).toHaveLength(FAKE_CARDS.length);
		expect((await dialtone(["tools", "--tools", "nope"])).code).toBe(EXIT.usage);
	});
});

test("the documentation lists the exit codes as they are", () => {
	const page = readFileSync(join(import.meta.dirname, "../../docs/command-line.md"), "utf8").replace(/ +/g, " ");
	for (const [code, meaning] of EXIT_MEANINGS) expect(page).toContain(`| ${code} | ${meaning} |`);
});
