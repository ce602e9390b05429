// R4.9: a secret that is typed by its name works, and its value is nowhere but in the program.

import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import type { Caller } from "../../src/tools/tool.ts";
import { until } from "../condition.ts";
import { find, needing } from "../programs.ts";
import { startPostgres } from "../servers/postgres.ts";

const VALUE = 'pa"ss/wörd-8F3k+zq';
const FROM_ENV = "env-value-77hhQ";
const FROM_COMMAND = "command-value-51xK";
const SHORT = "abc12";

let home: string;
let dialtone: Dialtone;
const caller = (owner: string): Caller => ({
	owner,
	cwd: "/tmp",
	env: { PATH: process.env.PATH!, HOME: "/nonexistent", SHELL: "/bin/bash", LANG: "C.UTF-8" },
});
const call = (tool: string, input: object, owner = "mcp:agent") =>
	dialtone.client.call(tool, input, { caller: caller(owner) });
const facts = async (tool: string, input: object) => (await call(tool, input)).facts as SessionFacts;

const privately = (path: string, content: string) => {
	writeFileSync(path, content, { mode: 0o600 });
	return path;
};
const policy = (secrets: object) => privately(join(home, "policy.json"), JSON.stringify({ secrets }));

beforeAll(async () => {
	home = mkdtempSync(join(tmpdir(), "dt-secrets-"));
	chmodSync(home, 0o700);
	process.env.TEST_SECRET_VARIABLE = FROM_ENV;
	const file = privately(join(tmpdir(), `dt-secret-${process.pid}`), `${VALUE}\n`);
	policy({
		db: { from: { file }, description: "the database" },
		mine: { from: { file }, owners: ["cli", "mcp:boss*"] },
		python: { from: { file }, programs: ["/*/python3*"] },
		other: { from: { file }, programs: ["/opt/another/psql"] },
		variable: { from: { env: "TEST_SECRET_VARIABLE" } },
		command: { from: { command: ["/bin/sh", "-c", `echo ${FROM_COMMAND}; echo noise >&2`] } },
		failing: { from: { command: ["/bin/sh", "-c", "echo almost-a-secret; exit 3"] } },
		long: { from: { command: ["/bin/sh", "-c", "yes | head -c 100000"] } },
		missing: { from: { file: "/nonexistent/secret" } },
		open: { from: { file: privately(join(home, "open"), "readable-by-all") } },
		asked: { from: { person: true } },
		short: { from: { file: privately(join(home, "short"), SHORT) } },
	});
	chmodSync(join(home, "open"), 0o644);
	dialtone = await Dialtone.open({ home });
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
	rmSync(join(tmpdir(), `dt-secret-${process.pid}`));
});
afterEach(async () => {
	for (const { session } of (await dialtone.list()).sessions)
		await call("close", { session, force: true }).catch(() => {});
});

/** Asks for a password and says how long it was; then does as the rest says. */
const ASKS = (then: string) => `
import getpass, base64, html, sys, json, time, urllib.parse, os, termios
p = getpass.getpass("Password: ")
print("got", len(p), flush=True)
${then}
input("next> ")
`;
const asking = (name: string, then = "") => call("start", { name, argv: ["python3", "-c", ASKS(then)] });
const waitingFor = async (session: string) => (await facts("wait", { session, timeoutMs: 20_000 })).waitingFor;

/** Every byte of every file below a directory, searched for what must not be there. */
function filesWith(values: readonly string[], directory = home): string[] {
	return readdirSync(directory, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && !["policy.json", "open", "short"].includes(entry.name))
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => {
			const bytes = readFileSync(path);
			return values.some((value) => bytes.includes(Buffer.from(value)));
		});
}

const base64 = (value: string) => Buffer.from(value).toString("base64").replace(/=+$/, "").slice(0, -1);

describe("R4.9 send { secret }", needing("python3"), () => {
	test("from a file: typed, told by its name, and on no disk and in no answer", async () => {
		await asking("py");
		expect(await waitingFor("py")).toBe("secret");
		const answer = await call("send", { session: "py", secret: "db", submit: true });
		expect(answer.text).toContain('Secret "db" was typed.');
		expect(answer.text).toContain(`got ${VALUE.length}`);
		expect(JSON.stringify(answer)).not.toContain(VALUE);
		expect(filesWith([VALUE, base64(VALUE)])).toEqual([]);
		const { session } = answer.facts as SessionFacts;
		const turns = await until("the turn is recorded", () => {
			const path = join(home, "sessions", session, "turns");
			return existsSync(path) && readFileSync(path, "utf8").includes('"secret":true') && readFileSync(path, "utf8");
		});
		expect(turns).toContain('"keys":0,"lines":0,"secret":true,"named":"db"');
	});

	test.each([
		["variable", FROM_ENV],
		["command", FROM_COMMAND],
	])("from a %s", async (secret, value) => {
		await asking("py", "print('it is', p, flush=True)");
		await waitingFor("py");
		const { text } = await call("send", { session: "py", secret, submit: true });
		expect(text).toContain(`got ${value.length}`);
		expect(text).toContain(`it is ${"*".repeat(value.length)}`);
		expect(filesWith([value, base64(value)])).toEqual([]);
	});

	test.each([
		["failing", /failed \(exit code 3\)/],
		["long", /could not be used/],
		["missing", /ENOENT/],
		["open", /open to other users/],
	])("%s: what cannot be read is a fault without a value, and nothing is typed", async (secret, why) => {
		await asking("py");
		await waitingFor("py");
		const error = await call("send", { session: "py", secret, submit: true }).catch((fault) => fault);
		expect(error).toMatchObject({ code: "secret_unreadable", facts: { name: secret } });
		expect(error.message).toMatch(why);
		expect(JSON.stringify(error)).not.toMatch(/almost-a-secret|readable-by-all/);
		expect((await facts("read", { session: "py", view: "screen" })).waitingFor).toBe("secret");
	});

	test("a name that does not exist and one that is another owner's get the same refusal", async () => {
		await asking("py");
		await waitingFor("py");
		const refusal = async (secret: string) => {
			const error = await call("send", { session: "py", secret, submit: true }).catch((fault) => fault);
			return error.message.replaceAll(secret, "NAME");
		};
		expect(await refusal("mine")).toBe(await refusal("unheard-of"));
		const { session } = await facts("read", { session: "py", view: "screen" });
		const theirs = await call("send", { session, secret: "mine", submit: true }, "mcp:boss-1");
		expect(theirs.text).toContain(`got ${VALUE.length}`);
	});

	test("only for the programs that it names", async () => {
		await asking("py");
		await waitingFor("py");
		await expect(call("send", { session: "py", secret: "other", submit: true })).rejects.toMatchObject({
			code: "secret_refused",
			message: expect.stringMatching(/not for \/\S*python3/),
			next: expect.stringContaining("does not help"),
		});
		expect((await call("send", { session: "py", secret: "python", submit: true })).text).toContain("got");
	});

	test("not where the terminal echoes, nor where no secret is asked for", async () => {
		await call("start", { name: "sh", argv: ["/bin/sh", "-c", "printf 'Name: '; read x; echo $x"] });
		await expect(call("send", { session: "sh", secret: "db", submit: true })).rejects.toMatchObject({
			code: "secret_refused",
		});
		await call("start", { name: "bash", argv: ["bash", "--norc"] });
		await expect(call("send", { session: "bash", secret: "db", submit: true })).rejects.toMatchObject({
			code: "secret_refused",
		});
		await expect(call("send", { session: "bash", secret: "db", text: "x" })).rejects.toMatchObject({
			code: "bad_input",
		});
		expect((await call("read", { session: "bash", view: "screen" })).text).not.toContain("****");
	});

	test("not while a person drives", async () => {
		await asking("py");
		await waitingFor("py");
		await dialtone.client.act("py", { act: "take", who: "ana" });
		await expect(call("send", { session: "py", secret: "db", submit: true })).rejects.toMatchObject({
			code: "driven_by_human",
		});
	});

	test("a program that echoes as soon as it is asked gets it refused, or masked", async () => {
		const flips = `
import termios, time
new = termios.tcgetattr(0)
for _ in range(4000):
    new[3] ^= termios.ECHO; termios.tcsetattr(0, termios.TCSANOW, new)
    time.sleep(0.0005)
os._exit(0)
`;
		const program = `
import os, threading, sys
exec("""${flips}""") if os.fork() == 0 else None
print("Password: ", end="", flush=True); 
for line in sys.stdin: print("read", flush=True)`;
		await call("start", { name: "flip", argv: ["python3", "-c", program], timeoutMs: 2000 });
		for (let i = 0; i < 20; i++)
			await call("send", { session: "flip", secret: "db", submit: true, timeoutMs: 100 }).catch((fault) =>
				expect(fault.code).toBe("secret_refused"),
			);
		expect(filesWith([VALUE])).toEqual([]);
		expect((await call("read", { session: "flip", view: "lines" })).text).not.toContain(VALUE);
	});

	test("from a person: they are asked, and what they type is masked", async () => {
		await asking("py", "print('it is', p, flush=True)");
		await waitingFor("py");
		const sent = call("send", { session: "py", secret: "asked", submit: true, timeoutMs: 60_000 });
		const { session } = await facts("read", { session: "py", view: "screen" });
		await until("the person is asked", () => existsSync(join(home, "sessions", session, "asked.json")));
		const text = "typed-by-Ana-9";
		await dialtone.client.act(session, { act: "secret", who: "ana", text });
		const answer = await sent;
		expect(answer.text).toContain(`it is ${"*".repeat(text.length)}`);
		expect(answer.text).not.toContain('Secret "asked" was typed');
		expect(filesWith([text, base64(text)])).toEqual([]);
	});

	test("what an agent types itself at such a prompt is recorded nowhere", async () => {
		await asking("py");
		await waitingFor("py");
		const text = "typed-by-an-Agent-4";
		const answer = await call("send", { session: "py", text, submit: true, id: "once" });
		expect(answer.text).toContain(`got ${text.length}`);
		expect(JSON.stringify(answer)).not.toContain(text);
		const { session } = answer.facts as SessionFacts;
		await until("the turn is recorded", () =>
			readFileSync(join(home, "sessions", session, "turns"), "utf8").includes('"secret":true'),
		);
		expect(filesWith([text])).toEqual([]);
	});

	test("a secret of fewer than six characters is typed, and not masked", async () => {
		await asking("py", "print('it is', p, flush=True)");
		await waitingFor("py");
		expect((await call("send", { session: "py", secret: "short", submit: true })).text).toContain(`it is ${SHORT}`);
	});
});

describe("R4.9 masking everywhere", needing("python3"), () => {
	test("as it is, encoded, split and wrapped; in this session and in others; on disk, in texts, streams and exports", async () => {
		const prints = `
def show(text):
    sys.stdout.write(text + "\\n"); sys.stdout.flush()
show("plain " + p)
for k in range(3):
    show("b64 " + base64.b64encode(b"x" * k + p.encode()).decode())
    show("b64url " + base64.urlsafe_b64encode(b"x" * k + p.encode() + b"yy").decode())
show("url " + urllib.parse.quote(p, safe=""))
show("form " + urllib.parse.quote_plus(p))
show("html " + html.escape(p))
show("json " + json.dumps(p)); show("json " + json.dumps(p, ensure_ascii=False))
for c in p:
    sys.stdout.write(c); sys.stdout.flush(); time.sleep(0.002)
show("")
show("-" * 75 + p)
show("colours " + p[:4] + "\\x1b[1;31m" + p[4:9] + "\\x1b[m" + p[9:])
for i, c in enumerate(p):
    sys.stdout.write("\\x1b[s\\x1b[1;%dH%s\\x1b[u" % (20 + i, c)); sys.stdout.flush()
show("END")
`;
		await asking("py", prints);
		await waitingFor("py");
		const { text, facts: told } = await call("send", { session: "py", secret: "db", submit: true });
		expect(text).toContain("END");
		const session = (told as SessionFacts).session;
		await call("start", { name: "other", argv: ["/bin/sh", "-c", `printf '%s' '${VALUE}' | base64; echo '${VALUE}'`] });
		const shown: string[] = [text];
		for (const view of ["screen", "lines", "new", "why"])
			shown.push((await call("read", { session, view, ...(view === "lines" && { from: 1 }) })).text);
		shown.push((await call("read", { session: "other", view: "lines", from: 1 })).text);
		shown.push((await call("list", {})).text);
		shown.push((await dialtone.client.snapshot(session)).content);
		const bytes: Uint8Array[] = [];
		const end = (told as SessionFacts).offset;
		for await (const chunk of dialtone.client.output(session, { from: 0, signal: AbortSignal.timeout(60_000) })) {
			if ("bytes" in chunk) bytes.push(chunk.bytes);
			if (!("gap" in chunk) && chunk.offset + chunk.bytes.length >= end) break;
		}
		const raw = Buffer.concat(bytes).toString();
		shown.push(raw, raw.replace(/\x1b\[[\d;]*m/g, ""));
		const inHtml = VALUE.replaceAll('"', "&quot;");
		const spellings = [VALUE, inHtml, base64(VALUE), encodeURIComponent(VALUE), JSON.stringify(VALUE).slice(1, -1)];
		for (const spelling of spellings) for (const each of shown) expect(each).not.toContain(spelling);
		for (const k of [1, 2]) {
			const aligned = Buffer.from("x".repeat(k) + VALUE)
				.toString("base64")
				.slice(4, 20);
			for (const each of shown) expect(each).not.toContain(aligned);
		}
		await call("close", { session, force: true });
		// The argv of `other` has it, in its record; while that is replaced there is a temporary file.
		expect(filesWith(spellings).filter((path) => !/\/meta(\.copy)?\.json(\.\w+\.tmp)?$/.test(path))).toEqual([]);
	});
});

describe("R4.9 a real server", needing("psql", "initdb", "postgres"), () => {
	test("psql asks for the password and connects", async () => {
		await using server = await startPostgres();
		policy({ pg: { from: { command: ["/bin/echo", "server-password-1"] }, programs: ["/usr/*psql*"] } });
		const psql = find("psql")!;
		await call("start", { name: "psql", argv: [psql, "-W", ...server.arguments] });
		expect(await waitingFor("psql")).toBe("secret");
		const { text } = await call("send", { session: "psql", secret: "pg", submit: true, timeoutMs: 20_000 });
		expect(text).toContain("postgres=#");
		expect(filesWith(["server-password-1"])).toEqual([]);
	});
});
