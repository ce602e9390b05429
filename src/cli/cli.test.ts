import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { declaredTools, PAGE, referencePage } from "../../scripts/generate.ts";
import { FAKE_CARDS, FakeClient, listed } from "../../test/fake-client.ts";
import { type CleanLine, oneLine } from "../protocol/clean.ts";
import { Fault, type FaultCode, type FaultFacts, faults } from "../protocol/fault.ts";
import { cli } from "./cli.ts";
import type { Dependencies, Io } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { flagOf } from "./declared-tool.ts";
import { EXIT, EXIT_MEANINGS, exitCodeOfFault, exitCodeOfRun } from "./exit-codes.ts";
import { takesSession } from "./session-host.ts";
import { TOOL_FIELDS } from "./tool-fields.ts";
import { fieldFlags, VERBS } from "./tool-verbs.ts";
import { findCommand } from "./which-command.ts";

let client: FakeClient;
let stateDir: string;
const MEMBER = { host: "alpha", serves: true, role: "admin", owner: null, hosts: [], problem: null, since: 0 };
let fleet: object = MEMBER;

beforeEach(() => {
	client = new FakeClient();
	fleet = MEMBER;
	stateDir = mkdtempSync(join(tmpdir(), "dialtone-cli-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

interface Terminal {
	readonly columns?: number;
	readonly env?: object;
	/** Whether stdin is one. */
	readonly isTTY?: boolean;
}

async function dialtone(args: string[], stdin = "", { columns, env = {}, isTTY = false }: Terminal = {}) {
	let out = "";
	let err = "";
	const io: Io = {
		out: (text) => {
			out += typeof text === "string" ? text : Buffer.from(text).toString();
		},
		err: (text) => {
			err += text;
		},
		stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY }) as unknown as NodeJS.ReadStream,
		stdout: { on: () => {}, columns, isTTY: columns !== undefined } as unknown as NodeJS.WriteStream,
		env: { PATH: process.env.PATH, ...env },
		cwd: "/",
	};
	const dependencies = {
		version: "0.1.0",
		owner: "cli",
		self: () => ["dialtone"],
		stateDir,
		observer: () => ({ owner: "cli:observer", sessionsOf: "cli", cwd: "/", env: {} }),
		connect: async () => client,
		peek: async () => client,
		toolCards: async () => FAKE_CARDS,
		mcpHelp: async () => "paste this",
		daemon: { status: async () => null },
		fleet: { ask: async () => fleet },
	} as unknown as Dependencies;
	const code = await cli(args, dependencies, io);
	return { code, out, err };
}

const lastInput = () => client.calls.at(-1)!.input;

describe("commands become tool calls", () => {
	test("one word is a command for the shell, several are a program and its arguments", async () => {
		await dialtone(["start", "ls | wc"]);
		expect(lastInput()).toMatchObject({ command: "ls | wc" });
		await dialtone(["start", "--name", "py", "--", "python3", "-i"]);
		expect(lastInput()).toEqual({ argv: ["python3", "-i"], name: "py" });
	});

	test("a line is entered; keys, and text that says so, are not", async () => {
		await dialtone(["send", "py", "6*7"]);
		expect(lastInput()).toEqual({ session: "py", text: "6*7", submit: true });
		await dialtone(["send", "py", "--key", "ctrl+c"]);
		expect(lastInput()).toEqual({ session: "py", keys: ["ctrl+c"], submit: false });
		await dialtone(["send", "py", "--no-submit", "abc"]);
		expect(lastInput()).toEqual({ session: "py", text: "abc", submit: false });
		await dialtone(["send", "py", "--paste", "-"], "one\ntwo\n");
		expect(lastInput()).toEqual({ session: "py", paste: "one\ntwo\n", submit: true });
		// A line from a pipe has its Enter: another one would answer the next question.
		await dialtone(["send", "py", "-"], "one\n");
		expect(lastInput()).toEqual({ session: "py", text: "one\n", submit: false });
		await dialtone(["send", "py", "-"], "one");
		expect(lastInput()).toEqual({ session: "py", text: "one", submit: true });
	});

	test("`fleet hosts` says where its table is of before", async () => {
		expect(await dialtone(["fleet", "hosts"])).toMatchObject({ code: EXIT.ok, err: "" });
		fleet = { ...fleet, problem: "the connection to its servers is lost", since: 0 };
		expect(await dialtone(["fleet", "hosts"])).toMatchObject({
			err: expect.stringContaining("servers is lost (since "),
		});
	});

	test("who joins a fleet without credentials is told what that means", async () => {
		const told = /without credentials/;
		expect(await dialtone(["join", "nats://127.0.0.1:4222"])).toMatchObject({
			code: EXIT.ok,
			err: expect.stringMatching(told),
		});
		expect(await dialtone(["join", "--creds", "/x.creds"])).toMatchObject({ code: EXIT.ok, err: "" });
	});

	test("Ctrl+C is for the command, on the machine where it runs", async () => {
		const interrupted = async (...flags: string[]) => {
			const before = process.listeners("SIGINT");
			client.calls.length = 0;
			const call = client.call.bind(client);
			client.call = ((tool: string, ...rest: [unknown]) => {
				const answer = call(tool as never, ...rest);
				const added = process.listeners("SIGINT").filter((listener) => !before.includes(listener));
				if (tool === "run") for (const listener of added) listener("SIGINT");
				return answer;
			}) as typeof client.call;
			await dialtone(["run", ...flags, "sleep 9"], "", { isTTY: true });
			client.call = call;
			return client.calls.filter(({ tool }) => tool === "signal").map(({ input }) => input);
		};
		const signal = { signal: "INT", timeoutMs: 0 };
		expect(await interrupted()).toEqual([{ session: "main", ...signal }]);
		expect(await interrupted("--host", "build1")).toEqual([{ session: "main", host: "build1", ...signal }]);
		expect(await interrupted("--placement", "least-loaded")).toEqual([]);
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
		expect(lastInput()).toMatchObject({ command: "echo 'it'\\''s' 'a b' --json" });
	});

	test("C4: flags behind a line for the shell are refused, and nothing is run", async () => {
		for (const verb of ["run", "start"]) {
			const { code, err } = await dialtone([verb, "sleep 5", "-t", "1s"]);
			expect(code).toBe(EXIT.usage);
			expect(err).toContain("flags go before the command");
		}
		expect(client.calls).toEqual([]);
		await dialtone(["run", "--", "sleep 5", "-t"]);
		expect(lastInput()).toMatchObject({ command: "'sleep 5' -t" });
	});
});

describe("C5: verbs follow the declarations of the tools", () => {
	test("the generated files are those that `npm run generate` writes now", async () => {
		expect(TOOL_FIELDS, "stale: run `npm run generate`").toEqual(declaredTools());
		// The formatter pads the cells of a table.
		const unpadded = (page: string) => page.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
		expect(unpadded(readFileSync(PAGE, "utf8")), "stale: run `npm run generate`").toBe(unpadded(await referencePage()));
	});

	test("every field of every native tool is a flag or a word of some verb", () => {
		for (const [tool, { fields }] of Object.entries(declaredTools())) {
			const verbs = VERBS.filter((verb) => verb.tool === tool);
			const reached = verbs.flatMap((verb) => [
				...fieldFlags(verb).map(({ path }) => path),
				...(verb.words ?? []).map(({ field }) => field),
				...(verb.without === "all" ? [] : (verb.without ?? [])), // its own `input` makes them from words
			]);
			expect(
				Object.keys(fields).filter((path) => !reached.includes(path)),
				tool,
			).toEqual([]);
		}
	});

	test("no two fields of a verb have the same flag, and a new field is one without another edit", () => {
		for (const verb of VERBS) {
			const names = [...fieldFlags(verb).map(({ name }) => name), ...Object.keys(verb.flags ?? {})];
			expect(new Set(names).size, verb.name).toBe(names.length);
		}
		const flag = flagOf("someNewMs", { type: "integer", about: "Something new", default: 90_000 });
		expect(flag).toMatchObject({ name: "some-new", kind: "duration", default: "90s", summary: "Something new" });
	});

	test("what had drifted is there: pictures, onTimeout, limits, again", async () => {
		await dialtone(["read", "py", "--view", "picture"]);
		expect(lastInput()).toMatchObject({ view: "picture" });
		await dialtone(["run", "--on-timeout", "leave", "true"]);
		expect(lastInput()).toMatchObject({ onTimeout: "leave" });
		await dialtone(["start", "--limit-memory", "1G", "--limit-wall", "1m", "--again", "old"]);
		expect(lastInput()).toMatchObject({ limits: { memoryBytes: 2 ** 30, wallMs: 60_000 }, again: "old" });
		await dialtone(["start", "-e", "A=1", "-e", "B=x=y", "env"]);
		expect(lastInput()).toMatchObject({ env: { A: "1", B: "x=y" } });
		await dialtone(["signal", "py", "HUP", "-t", "1s"]);
		expect(lastInput()).toEqual({ session: "py", signal: "HUP", timeoutMs: 1000 });
		await dialtone(["ask", "py", "type", "it"]);
		expect(lastInput()).toEqual({ session: "py", question: "type it" });
	});
});

describe("C3: exit codes", () => {
	test("every fault has one of the documented codes", () => {
		const documented = EXIT_MEANINGS.map(([code]) => code);
		for (const code of Object.keys(faults) as FaultCode[]) expect(documented).toContain(exitCodeOfFault(code));
		expect(exitCodeOfFault("session_not_found")).toBe(EXIT.noSuchSession);
	});

	test.each([
		["its own code", { exitCode: 3, timedOut: false, exit: null }, 3],
		["124 after a timeout, though Ctrl+C ended it with 130", { exitCode: 130, timedOut: true, exit: null }, 124],
		["that of the shell it killed", { exitCode: null, timedOut: false, exit: { code: null, signal: "SIGKILL" } }, 137],
		["that of the shell it left", { exitCode: null, timedOut: false, exit: { code: 5, signal: null } }, 5],
		["124 while it waits for input", { exitCode: null, timedOut: false, exit: null }, 124],
	])("`run` exits with %s", (_, facts, code) => {
		expect(exitCodeOfRun(facts)).toBe(code);
	});

	test("a wait that came back without what was asked for is told by the exit code", async () => {
		client.answer = { returned: "timeout" };
		for (const verb of ["wait", "send"]) expect((await dialtone([verb, "py"])).code).toBe(EXIT.notMet);
		client.answer = { returned: "waiting", matched: false } as object;
		expect((await dialtone(["wait", "py", "--until", "zzz"])).code).toBe(EXIT.notMet);
		client.answer = { returned: "matched", matched: true } as object;
		expect((await dialtone(["wait", "py", "--until", "zzz"])).code).toBe(EXIT.ok);
		client.answer = { returned: "timeout" };
		expect((await dialtone(["signal", "py"])).code).toBe(EXIT.ok); // it was sent
	});
});

describe("which command is meant", () => {
	const meant = (word: string) => {
		const found = findCommand(word, COMMANDS);
		return "run" in found ? found.name : found;
	};

	test.each([
		["ps", "ls"],
		["list", "ls"],
		["new", "start"],
		["close", "stop"],
		["att", "attach"],
		["sig", "signal"],
		["--version", "version"],
		["-v", "version"],
		["-V", "version"],
	])("`%s` is `%s`", (word, name) => {
		expect(meant(word)).toBe(name);
	});

	test.each([
		["stpo", ["stop"]],
		["strat", ["start"]],
		["st", ["start", "stop"]],
		["end", ["stop"]],
		["delete", ["rm"]],
		["capture-pane", ["screen"]],
		["l", ["ls", "logs"]],
		["x", []],
		["nosuch", []],
	])("`%s` is none, and may be %j", (word, names) => {
		expect(meant(word)).toEqual(names);
	});

	test("C4: nothing that means to end one is taken for a start", () => {
		for (const word of ["stop", "stpo", "stopp", "sotp", "end", "quit", "terminate", "kil", "clos", "halt", "remove"])
			expect([meant(word)].flat(), word).not.toContain("start");
	});
});

describe("which session is meant", () => {
	test("C4: the beginning of a name of one's own is enough, and several are named", async () => {
		client.list = [listed("build"), listed("bundle"), listed("other", { owner: "mcp:x:1" })];
		expect((await dialtone(["read", "p"])).code).toBe(EXIT.noSuchSession);
		client.list.push(listed("py"));
		expect((await dialtone(["read", "p"])).code).toBe(EXIT.ok);
		expect(lastInput()).toMatchObject({ session: "py" });
		expect((await dialtone(["read", "bu"])).err).toContain("build or bundle");
		expect((await dialtone(["read", "oth"])).code).toBe(EXIT.noSuchSession);
	});

	test("C5: a refusal names the flags that were given, not the fields of a tool", async () => {
		const problems = ["give `search` or `pattern`, not both", "view `raw` has no `timeoutMs`"];
		client.refusal = new Fault("bad_input", { problems });
		expect((await dialtone(["read", "py"])).err).toContain(
			"give `--search` or `--pattern`, not both; view `raw` has no `timeoutMs`",
		);
	});

	test("`exec` runs in a shell that is there, and opens none", async () => {
		client.list = [listed("dev")];
		await dialtone(["exec", "dev", "make", "-j2"]);
		expect(lastInput()).toMatchObject({ command: "make -j2", shell: "dev" });
		expect((await dialtone(["exec", "nope", "make"])).code).toBe(EXIT.passedFault);
		expect(client.calls.filter(({ tool }) => tool === "run")).toHaveLength(1);
	});

	test("C4: `exec` takes no session that has ended for a shell, which would open another one", async () => {
		client.list = [listed("gone", { status: "succeeded", exit: { code: 0, signal: null } })];
		const { code, err } = await dialtone(["exec", "gone", "make"]);
		expect(code).toBe(EXIT.passedFault);
		expect(err).toContain('Session "gone" has ended (');
		expect(client.calls.filter(({ tool }) => tool === "run")).toEqual([]);
	});

	test("C4: no text, or a host alone, is the beginning of no name, also where there is one session only", async () => {
		client.list = [listed("beta/dev", { host: "beta" })];
		expect((await dialtone(["exec", "", "make"])).code).toBe(EXIT.passedFault);
		expect((await dialtone(["rm", "-f", "beta/"])).code).toBe(EXIT.noSuchSession);
		expect((await dialtone(["rm", "-f", "--host", "beta", ""])).code).toBe(EXIT.noSuchSession);
		expect(client.calls.map(({ tool, input }) => input.session ?? tool)).not.toContain("beta/dev");
		expect(client.calls.map(({ tool }) => tool)).not.toContain("run");
	});

	test("what no session begins with is told with those that are open", async () => {
		const { code, err } = await dialtone(["read", "nope"]);
		expect(code).toBe(EXIT.noSuchSession);
		expect(err).toContain("Open sessions: py.");
	});

	test("T13: `exec` names the open sessions of its owner, not those of others", async () => {
		client.list = [listed("dev"), listed("theirs", { owner: "mcp:x:1" })];
		expect((await dialtone(["exec", "nope", "ls"])).err).toContain("Open sessions: dev.");
	});

	test("C4: several sessions are stopped or removed in one command, also after one that is not there", async () => {
		expect(await dialtone(["stop", "py", "0py0"])).toMatchObject({ code: EXIT.ok, err: "" });
		expect(client.calls.filter(({ tool }) => tool === "close").map(({ input }) => input)).toEqual([
			{ session: "py" },
			{ session: "0py0" },
		]);
		const { code, err } = await dialtone(["rm", "-f", "nope", "py"]);
		expect(code).toBe(EXIT.noSuchSession);
		expect(err).toContain('"nope"');
		expect(lastInput()).toMatchObject({ forget: true });
	});

	test("C5: a fault speaks of commands and flags, not of tools and fields", () => {
		const samples: { readonly [C in FaultCode]?: FaultFacts<C> } = {
			name_taken: { name: "py" },
			still_running: { id: "py", what: "program" },
			too_large: { what: "The input", limit: 1 },
			screen_moved: { expected: 1, offset: 2 },
			paste_refused: { lines: 2 },
			shell_busy: { shell: "main", running: "make", session: "main" },
			not_a_shell: { name: "py", command: "python3" },
			session_ended: { id: "py", how: "exit code 0" },
			queue_full: { free: 0 },
		};
		const tools = new RegExp(`\`(${Object.keys(TOOL_FIELDS).join("|")})\\b|"session":|\`(text|force|shell|ifExists)`);
		for (const [code, facts] of Object.entries(samples) as [FaultCode, never][]) {
			const { message, next } = new Fault(code, facts, { words: "commandLine" });
			expect(`${message} ${next}`, code).not.toMatch(tools);
		}
	});
});

describe("issue 15: on which machine of a fleet", () => {
	const OF_A_SESSION = COMMANDS.filter(takesSession);
	/** What a command needs beside its session. */
	const MORE: Readonly<Record<string, readonly string[]>> = {
		exec: ["make"],
		resize: ["80x24"],
		"ask-human": ["why"],
		export: ["--format", "text"],
	};

	test.each(OF_A_SESSION.map(({ name }) => name))("`%s --host beta x` is for beta/x", async (name) => {
		client.list = [];
		const given = async (...args: string[]) => {
			client.calls.length = 0;
			const { code, out, err } = await dialtone([name, ...args, ...(MORE[name] ?? [])]);
			return { code, out, err, calls: client.calls.map(({ tool, input }) => ({ tool, input })) };
		};
		const whole = await given("beta/x");
		expect(await given("--host", "beta", "x")).toEqual(whole);
		expect(await given("--host", "Beta", "beta/x")).toEqual(whole);
		expect(JSON.stringify(whole)).toContain("beta/x");
		expect(JSON.stringify(whole.calls)).not.toContain("placement");
	});

	test("only what starts something has --placement; all that take a session, start or list have --host", () => {
		const having = (flag: string) => COMMANDS.filter(({ flags = {} }) => flag in flags).map(({ name }) => name);
		expect(having("placement")).toEqual(["start", "run"]);
		const others = ["start", "run", "ls", "serve"];
		expect(having("host").sort()).toEqual([...OF_A_SESSION.map(({ name }) => name), ...others].sort());
	});

	test("a session of another host than --host, and a --host that is none, are refused before anything is done", async () => {
		for (const args of [
			["stop", "--host", "beta", "x", "alpha/y"],
			["logs", "--host", "", "x"],
			["send", "--host", "beta/x", "y", "text"],
		])
			expect(await dialtone(args)).toMatchObject({ code: EXIT.usage, err: expect.stringMatching(/--host/) });
		expect(client.calls).toEqual([]);
		expect((await dialtone(["stop", "--host", "beta", "x", "alpha/y"])).err).toContain(
			'"alpha/y" names its host, and --host another one (beta)',
		);
	});

	test("each of several sessions is of that machine, and words that are no session stay as they are", async () => {
		await dialtone(["stop", "x", "beta/y", "--host", "beta"]);
		const closed = client.calls.filter(({ tool }) => tool === "close");
		expect(closed.map(({ input }) => input)).toEqual([{ session: "beta/x" }, { session: "beta/y" }]);
		await dialtone(["send", "--host", "beta", "x", "a", "b"]);
		expect(client.calls.find(({ tool }) => tool === "send")?.input).toMatchObject({ session: "beta/x", text: "a b" });
	});

	test("`attach --host beta` is for the session used last there", async () => {
		expect((await dialtone(["attach", "--host", "beta"])).err).toContain("dialtone logs -f beta/-");
	});

	test("`exec` runs in the shell of that machine, as that machine lists it", async () => {
		client.list = [listed("beta/dev", { host: "beta" })];
		await dialtone(["exec", "--host", "beta", "dev", "make"]);
		expect(client.calls.map(({ tool, input }) => [tool, input])).toEqual([
			["list", { host: "beta" }],
			["run", { command: "make", shell: "beta/dev", maxTokens: 100_000 }],
		]);
		client.list = [];
		expect((await dialtone(["exec", "--host", "beta", "dev", "make"])).code).toBe(EXIT.passedFault);
		expect(client.calls.filter(({ tool }) => tool === "run")).toHaveLength(1);
		// This machine lists its own without its name.
		client.list = [listed("dev")];
		await dialtone(["exec", "Alpha/de", "make"]);
		expect(lastInput()).toMatchObject({ shell: "alpha/dev" });
	});

	test("Ctrl+C at `exec` is for the shell in which it runs, also where its name was abbreviated", async () => {
		client.list = [listed("beta/dev", { host: "beta" })];
		const before = process.listeners("SIGINT");
		const call = client.call;
		client.call = (tool, ...rest) => {
			const added = process.listeners("SIGINT").filter((listener) => !before.includes(listener));
			if (tool === "run") for (const listener of added) listener("SIGINT");
			return call(tool, ...rest);
		};
		await dialtone(["exec", "--host", "beta", "de", "make"], "", { isTTY: true });
		const signals = client.calls.filter(({ tool }) => tool === "signal");
		expect(signals.map(({ input }) => input)).toEqual([{ session: "beta/dev", signal: "INT", timeoutMs: 0 }]);
	});

	test("--placement is what a start takes", async () => {
		for (const [given, placement] of [
			["least-loaded", "least-loaded"],
			["same-as:beta/x", { sameAs: "beta/x" }],
			["gpu=a100", { labels: { gpu: "a100" } }],
			["gpu=a100,zone=b=c", { labels: { gpu: "a100", zone: "b=c" } }],
		] as const)
			for (const verb of ["start", "run"]) {
				await dialtone([verb, "--placement", given, "make"]);
				expect(lastInput()).toMatchObject({ command: "make", placement });
			}
	});

	test.each(["gpu", "gpu=a100,zone", "=a100", "gpu=a100,", "same-as:", "least", ""])(
		"--placement %j is refused, and nothing is started",
		async (given) => {
			const { code, err } = await dialtone(["start", "--placement", given, "make"]);
			expect({ code, calls: client.calls }).toEqual({ code: EXIT.usage, calls: [] });
			expect(err).toContain("--placement takes least-loaded, same-as:SESSION, or labels such as gpu=a100,zone=b");
		},
	);
});

test("`start --in` names another place, whose directories are not looked for here", async () => {
	await dialtone(["start", "--in", "ssh:build@far:2222", "--cwd", "/no/such/directory", "make", "-j2"]);
	expect(lastInput()).toEqual({ in: "ssh:build@far:2222", cwd: "/no/such/directory", argv: ["make", "-j2"] });
	const { code, err } = await dialtone(["start", "--cwd", "/no/such/directory", "make"]);
	expect({ code, err }).toEqual({ code: EXIT.usage, err: expect.stringContaining("a directory that exists") });
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
			expect(Object.keys(JSON.parse(out))).toEqual(["fault", "message", "next", "facts"]);
		}
	});

	test("C6 `help options` lists the options with default and bounds", async () => {
		const { code, out } = await dialtone(["help", "options"]);
		expect(code).toBe(0);
		expect(out).toMatch(/DIALTONE_MAX_SESSIONS\s+64 \(1 to 10,000\): running sessions at once/);
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

	test("C4: what was not given, or not right, is told with the usage and where the help is", async () => {
		expect(await dialtone(["stop"])).toEqual({
			code: EXIT.usage,
			out: "",
			err: "dialtone: Invalid input: SESSION is missing.\nusage: dialtone stop [flags] SESSION…\nSee dialtone help stop.\n",
		});
		expect((await dialtone(["l"])).err).toContain("Did you mean ls or logs?");
	});

	test("C4: help has no flag that would have no effect, and names flags as such", async () => {
		const { out } = await dialtone(["help", "exec"]);
		expect(out).not.toMatch(/--(?:env|inherit|limit-|program|clean)/);
		expect(out).toContain("then --on-timeout");
		expect(out).toMatch(/--max-tokens N +Print at most this much .*\(default: all\)/);
		expect((await dialtone(["exec", "py", "--env", "A=1", "true"])).code).toBe(EXIT.usage);
	});

	test("`attach` without a terminal says what to do instead", async () => {
		const { code, err } = await dialtone(["attach", "py"]);
		expect(code).toBe(EXIT.passedFault);
		expect(err).toContain("`dialtone logs -f py` to follow and `dialtone send py …` to type");
	});
});

describe("C4: `ls`", () => {
	const now = 1_800_000_000_000;
	beforeEach(() => {
		client.now = now;
		client.list = [
			listed("py", { createdAt: now - 5_000, command: oneLine("python3 -q") }),
			listed("web", {
				createdAt: now - 7_260_000,
				activity: "serving",
				waitingFor: null,
				command: oneLine(`x${"y".repeat(90)}`),
			}),
		];
	});

	test("one line for each that runs: name, state, age, command", async () => {
		const { out } = await dialtone(["ls"]);
		expect(out.split("\n").slice(0, 2)).toEqual([
			"NAME  STATE           AGE  COMMAND",
			"py    waiting (line)  5s   python3 -q",
		]);
		expect(out).toMatch(/^web {3}serving {9}2h {3}xy+$/m);
		expect(lastInput()).toEqual({ status: "running" });
		await dialtone(["ls", "-a"]);
		expect(lastInput()).toEqual({});
		expect((await dialtone(["ps", "-q"])).out).toBe("id-py\nid-web\n");
	});

	test("the owner is shown where not all are one's own", async () => {
		client.list.push(listed("theirs", { owner: "mcp:claude-code:7" }));
		expect((await dialtone(["ls"])).out).toMatch(/^theirs {2}waiting \(line\) {2}\d+\w {2,}mcp:claude-code:7 {2}/m);
	});

	test("a command of several lines, or with escapes, is one line", async () => {
		client.list = [listed("odd", { command: "echo 'a\n\x1b[2Jb'" as CleanLine })];
		const { out } = await dialtone(["ls"]);
		expect(out.trimEnd().split("\n")).toHaveLength(2);
		expect(out).not.toContain("\x1b");
	});

	test("nor is any other text of another machine", async () => {
		const odd = "a\n\x1b[2Jb";
		const left = [{ pid: 1, command: odd as CleanLine }];
		client.list = [
			listed(odd, { session: odd, byName: false, owner: odd, status: "failed", exit: { code: null, signal: odd } }),
			listed("over", { status: "succeeded", left }),
		];
		const { out } = await dialtone(["ls", "-a"]);
		expect(out.trimEnd().split("\n")).toHaveLength(3);
		expect(out).not.toContain("\x1b");
		expect((await dialtone(["ls", "-aq"])).out).toBe("a↵[2Jb\nid-over\n");
	});

	test("events are a line each, whatever another machine says in them, and whenever", async () => {
		const odd = "a\n\x1b[2Jb";
		client.happen({ name: odd, status: odd as "failed", at: 1e300 });
		client.happen({ name: odd, event: "ended", exit: { code: null, signal: odd }, because: odd, at: 86_399_999 });
		const { events } = client;
		client.events = async function* (options) {
			let left = 2;
			for await (const event of events.call(client, { ...options, afterSeq: 0 })) {
				yield event;
				if (--left === 0) return;
			}
		};
		const { out } = await dialtone(["events"]);
		expect(out).toBe(
			"--:--:--.---  a↵[2Jb  attention: a↵[2Jb\n23:59:59.999  a↵[2Jb  ended: running (a↵[2Jb) · a↵[2Jb\n",
		);
	});

	test("the machines of a fleet are a line each, too", async () => {
		const odd = "a\n\x1b[2Jb";
		const host = { host: "beta", reachable: true, since: 0, version: odd, labels: { [odd]: odd } };
		fleet = { ...fleet, hosts: [{ ...host, running: null, capacity: null, load: null }] };
		const { out } = await dialtone(["fleet", "hosts"]);
		expect(out.trimEnd().split("\n")).toHaveLength(2);
		expect(out).not.toContain("\x1b");
	});

	test("on a terminal it fits the width, and states have colours unless NO_COLOR says no", async () => {
		const { out } = await dialtone(["ls"], "", { columns: 60, env: { NO_COLOR: "1" } });
		expect(Math.max(...out.split("\n").map((line) => line.length))).toBe(60);
		expect(out).toMatch(/y…$/m);
		expect((await dialtone(["ls"], "", { columns: 60 })).out).toContain("\x1b[33mwaiting (line)\x1b[0m");
		expect((await dialtone(["ls"])).out).not.toContain("\x1b");
		expect((await dialtone(["ls"], "", { env: { FORCE_COLOR: "1" } })).out).toContain("\x1b[33m");
	});

	test("nothing is said on stderr, with what to do", async () => {
		client.list = [];
		expect(await dialtone(["ls"])).toMatchObject({ code: 0, out: "", err: expect.stringContaining("dialtone start") });
	});
});

test("a person at a terminal sees the header in colour and no fence; a pipe gets what a model reads", async () => {
	expect((await dialtone(["send", "py", "x"], "", { columns: 80 })).out).toBe("\x1b[33m[py] waiting\x1b[0m\n>>> \n");
	expect((await dialtone(["send", "py", "x"])).out).toBe("[py] waiting <<754\n>>> \n754\n");
});

describe("words about words", () => {
	test("no command, an unknown command, and a command with a wrong flag each lead to help", async () => {
		expect((await dialtone([])).out).toContain("First steps");
		expect(await dialtone(["strat", "x"])).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("start") });
		expect((await dialtone(["ls", "--nope"])).err).toContain("usage: dialtone ls");
		expect((await dialtone(["mcp", "--help"])).out).toContain("paste this");
		expect(await dialtone(["help", "nosuch"])).toMatchObject({ code: EXIT.usage, out: "" });
		expect((await dialtone(["help", "ps"])).out).toContain("usage: dialtone ls");
	});

	test("C4: help names every value of a flag that takes one of several, and fits 80 columns", async () => {
		for (const { name, flags = {}, hidden } of COMMANDS) {
			if (hidden) continue;
			const { out } = await dialtone(["help", name], "", { columns: 80, env: { NO_COLOR: "1" } });
			const flat = out.replaceAll(/\s+/g, " ");
			for (const { choices = [] } of Object.values(flags))
				if (choices.length > 0)
					expect([choices.join("|"), choices.join(", ")].some((list) => flat.includes(list))).toBe(true);
			expect(Math.max(...out.split("\n").map((line) => line.length)), name).toBeLessThanOrEqual(80);
		}
	});

	test("every command has help, and the general help leaves none out", async () => {
		const { out } = await dialtone(["help"]);
		for (const { name, hidden } of COMMANDS) {
			if (hidden) continue;
			expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
			expect((await dialtone(["help", name])).out).toContain(`usage: dialtone ${name}`);
		}
	});

	test.each([
		[["sta"], ["start"]],
		[["p"], ["ps"]],
		[["read", "py", "--vi"], ["--view"]],
		[["read", "py", "--view", "s"], ["screen"]],
		[["read", "py", "--view=s"], ["--view=screen"]],
		[["read", "py", "--view", "=", "s"], ["screen"]],
		[
			["start", "--if-exists", ""],
			["fail", "use", "replace"],
		],
		[
			["read", ""],
			["py", "old"],
		],
		[["attach", ""], ["py"]],
		[["rm", ""], ["old"]],
		[["attach", "py", ""], []],
		[
			["daemon", "st"],
			["status", "stop"],
		],
		[
			["signal", "py", "T"],
			["TERM", "TSTP"],
		],
		[["help", "at"], ["attach"]],
		[["nosuch", ""], []],
	])("completion of %j offers %j", async (words, offered) => {
		client.list = [listed("old", { status: "failed" }), listed("py"), listed("$(id)"), listed("a b")];
		const { out } = await dialtone(["__complete", "--", ...words]);
		const [how, ...lines] = out.trimEnd().split("\n");
		expect(how).toBe("words");
		expect(lines.map((line) => line.split("\t")[0])).toEqual(offered);
	});

	test.each([
		[["start", ""], "commands"],
		[["start", "--", ""], "commands"],
		[["start", "vim", ""], "files"],
		[["start", "--cwd", ""], "files"],
		[["export", "py", "-o", ""], "files"],
	])("completion of %j is left to the shell: %s", async (words, how) => {
		expect((await dialtone(["__complete", "--", ...words])).out).toBe(`${how}\n`);
	});

	test("tools are listed as a table or as cards", async () => {
		expect((await dialtone(["tools"])).out).toMatch(/^send\s+types\s+What send does\.$/m);
		expect(JSON.parse((await dialtone(["tools", "--json"])).out).tools).toHaveLength(FAKE_CARDS.length);
		expect((await dialtone(["tools", "--tools", "nope"])).code).toBe(EXIT.usage);
	});
});
