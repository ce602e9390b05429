// G7: who calls on the daemon's socket is known by its process. One inside a session, or confined by
// something else, gets no more than what it has there.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Home, MAIN } from "./home.ts";

const RAW = join(import.meta.dirname, "../fixtures/raw-caller.mjs");
const patient = { timeoutMs: 60_000 };
const caller = { owner: "test", cwd: "/tmp", env: { PATH: process.env.PATH ?? "" } };
const asRoot = { skip: process.getuid?.() !== 0 };

const policyOf = (home: Home, policy: object) =>
	writeFileSync(join(home.path, "policy.json"), JSON.stringify(policy), { mode: 0o600 });

interface Said {
	readonly fault?: { readonly fault: string; readonly message: string };
	readonly done?: { readonly answer?: { readonly facts: Record<string, unknown> } };
}

/** Asks the daemon from inside a session: its only way is the socket. */
async function askInside(client: SocketClient, session: string, request: object): Promise<Said> {
	const { socket } = await client.status();
	const directory = mkdtempSync(join(tmpdir(), "dt-asked-"));
	const answer = join(directory, "answer");
	const command = `${process.execPath} ${RAW} ${socket} '${JSON.stringify({ id: 1, ...request })}' > ${answer}`;
	const text = `${command}; echo asked in ${directory}`;
	await client.call("send", {
		session,
		text,
		submit: true,
		until: { text: `\nasked in ${directory}`, only: true },
		...patient,
	});
	const said = JSON.parse(execFileSync("cat", [answer], { encoding: "utf8" })) as Said;
	rmSync(directory, { recursive: true });
	return said;
}

const call = (tool: string, input: object, more: object = {}) => ({
	do: "call",
	tool,
	input,
	caller: { ...caller, ...more },
});

const shell = (client: SocketClient, name: string, more: object = {}) =>
	client.call("start", { name, argv: ["bash", "--norc"], ...more, ...patient });

test("G7 a child of one session can neither use another, nor act as a person, open HTTP, or stop the daemon", async () => {
	await using home = new Home();
	const client = await home.connect();
	await shell(client, "inner");
	const other = (await client.call("start", { name: "other", argv: ["cat"], ...patient })).facts.session;
	const refused: readonly object[] = [
		call("send", { session: other, text: "typed" }),
		// Whatever it says of itself.
		call("send", { session: "other", text: "typed" }, { inside: null, token: "admin", sessionsOf: "test" }),
		call("read", { session: other }),
		call("close", { session: other }),
		call("start", { name: "other", argv: ["cat"], ifExists: "replace" }),
		call("start", { name: "other", argv: ["cat"], ifExists: "use" }),
		{ do: "output", session: other, from: 0 },
		{ do: "snapshot", session: other },
		{ do: "view", session: other },
		{ do: "drivers", session: other },
		{ do: "act", session: other, act: { act: "take", who: "me" }, caller },
		{ do: "act", session: other, act: { act: "restart", who: "me" }, caller },
		{ do: "http", port: 0, exact: false, keep: "pin", caller },
		{ do: "stop", sessions: true },
	];
	for (const request of refused) {
		const { fault } = await askInside(client, "inner", request);
		expect(fault?.fault, JSON.stringify(request)).toBe("inside_session");
	}
	expect((await client.call("read", { session: "other", view: "screen" })).facts.text).not.toContain("typed");
	const { done } = await askInside(client, "inner", call("list", {}));
	expect(done?.answer?.facts.sessions).toEqual([]);
	// Nor does the command line make it a token, kill the daemon that refuses to stop, or tell what others did and may use.
	const verbs = ["token create mine", "daemon stop", "serve --port 0", "web"];
	for (const verb of [...verbs, "audit", "audit --verify", "secrets", "secrets test any"]) {
		const line = `DIALTONE_HOME=${home.path} ${process.execPath} ${MAIN} ${verb} --json; echo "exit $?"`;
		const until = { pattern: "exit \\d+\n", only: true };
		const { facts } = await client.call("send", { session: "inner", text: line, submit: true, until, ...patient });
		expect(facts.text, verb).toMatch(/inside_session|not allowed from inside session/);
		expect(facts.text, verb).not.toContain("exit 0");
	}
	expect((await client.status()).http).toBeNull();
	await client[Symbol.asyncDispose]();
});

test("G7 what a session's program starts is its own to use, for its owner and conversation, also after a restart of the daemon", async () => {
	await using home = new Home();
	const first = await home.connect();
	await shell(first, "inner", { parent: "conversation-1" });
	const started = await askInside(first, "inner", call("start", { name: "own", argv: ["cat"] }, { owner: "forged" }));
	expect(started.done?.answer?.facts.name).toBe("own");
	const listed = (await first.call("list", {})).facts.sessions.find(({ name }) => name === "own");
	expect(listed).toMatchObject({ owner: "test", parent: "conversation-1" });
	await first.stop({ sessions: false });
	const next = await home.connect();
	const typed = await askInside(next, "inner", call("send", { session: "own", text: "hello", submit: true }));
	expect(typed.done?.answer?.facts.text).toContain("hello");
	const again = await askInside(next, "inner", call("close", { session: "inner" }));
	expect(again.fault?.fault).toBe("inside_session");
	const ended = await askInside(next, "inner", call("close", { session: "own" }));
	expect(ended.done?.answer?.facts.status).toBe("cancelled");
	await next[Symbol.asyncDispose]();
});

test('G7 the owner of the machine allows more with "inside": "all"; an invalid policy allows nothing', async () => {
	await using home = new Home();
	const client = await home.connect();
	await shell(client, "inner");
	await client.call("start", { name: "other", argv: ["cat"], ...patient });
	policyOf(home, { inside: "all" });
	const typed = await askInside(client, "inner", call("send", { session: "other", text: "hello", submit: true }));
	expect(typed.done?.answer?.facts.text).toContain("hello");
	policyOf(home, {});
	// Nothing can be typed while the policy is damaged: a program that waits for it.
	const path = join(home.path, "answer");
	const { socket } = await client.status();
	const ask = `${process.execPath} ${RAW} ${socket} '${JSON.stringify({ id: 1, ...call("list", {}) })}'`;
	const script = `until [ -e ${home.path}/now ]; do sleep 0.05; done; ${ask} > ${path}.new; mv ${path}.new ${path}`;
	await client.call("start", { name: "later", argv: ["bash", "-c", script], timeoutMs: 0 });
	policyOf(home, { inside: "everything" });
	writeFileSync(join(home.path, "now"), "");
	const said = await until("it has asked", () => spawnSync("cat", [path], { encoding: "utf8" }).stdout || null);
	expect(JSON.parse(said)).toMatchObject({ fault: { fault: "policy_invalid" } });
	policyOf(home, {});
	await client[Symbol.asyncDispose]();
});

test.for([
	["with no_new_privs", "setpriv --no-new-privs"],
	["in another network namespace", "unshare -n"],
	["in another mount namespace", "unshare -m"],
	["in another user namespace", "unshare -r"],
] as const)("G7 a caller %s is refused, unless the policy allows it", asRoot, async ([, confine]) => {
	await using home = new Home();
	const client = await home.connect();
	const { socket } = await client.status();
	const ask = (request: object): Said => {
		const [program = "", ...args] = confine.split(" ");
		const line = [...args, process.execPath, RAW, socket!, JSON.stringify({ id: 1, ...request })];
		return JSON.parse(execFileSync(program, line, { encoding: "utf8", timeout: 60_000 })) as Said;
	};
	for (const request of [
		call("start", { command: "id" }),
		call("list", {}),
		{ do: "status" },
		{ do: "stop", sessions: true },
	])
		expect(ask(request).fault?.fault, JSON.stringify(request)).toBe("caller_confined");
	policyOf(home, { elsewhere: "allow" });
	expect(ask(call("list", {})).done?.answer?.facts.sessions).toEqual([]);
	await client[Symbol.asyncDispose]();
});

/** The command line under another program, as an agent in a session could run it. */
const cliUnder = (home: Home, ...argv: string[]) =>
	spawnSync(argv[0]!, [...argv.slice(1), process.execPath, MAIN, "send", "victim", "touched"], {
		env: home.env,
		cwd: home.path,
		encoding: "utf8",
	});

test("G7 a caller in another PID namespace finds the daemon, and does not replace it", asRoot, async () => {
	await using home = new Home();
	await using client = await home.connect();
	await client.call("start", { name: "victim", argv: ["cat"], ...patient });
	for (const more of [["--mount-proc"], []]) {
		const { stderr } = cliUnder(home, "unshare", "--pid", "--fork", ...more);
		expect(stderr).toContain("You are confined");
	}
	expect(client.lost).toBe(false);
	expect((await client.call("read", { session: "victim", view: "screen" })).facts.text).toBe("");
});

test("G7 where no daemon runs, a confined caller does not become that of the sessions which do", asRoot, async () => {
	await using home = new Home();
	const first = await home.connect();
	await first.call("start", { name: "victim", argv: ["cat"], ...patient });
	await first.stop({ sessions: false });
	for (const [program, ...args] of [
		["unshare", "-n"],
		["unshare", "-Ur"],
		["unshare", "-pf", "--mount-proc"],
		["setpriv", "--no-new-privs"],
	])
		expect(cliUnder(home, program!, ...args).stderr, args.join(" ")).toContain("You are confined");
	await using next = await home.connect();
	expect((await next.call("read", { session: "victim", view: "screen" })).facts.text).toBe("");
	// With the policy's word it may.
	await next.stop({ sessions: false });
	policyOf(home, { elsewhere: "allow" });
	expect(cliUnder(home, "unshare", "-n").stderr).toBe("");
});

test.for(["-Ur", "-Urn", "-Urm"])(
	"G7 who finds a daemon that a confined caller has started (unshare %s) is told which process to end",
	asRoot,
	async (how) => {
		await using home = new Home();
		cliUnder(home, "unshare", how); // there is no such session; the daemon stays
		const told = JSON.parse((await home.cli("ls", "--json")).stdout);
		expect(told).toMatchObject({ fault: "daemon_confined", next: expect.stringContaining(`kill ${told.facts.pid}`) });
		const { pid } = told.facts as { pid: number };
		process.kill(pid, "SIGTERM");
		await until("it has ended", () => !existsSync(`/proc/${pid}`));
		expect((await home.cli("ls", "--json")).code).toBe(0);
		// Nobody is told to end a daemon that is free.
		expect(cliUnder(home, "unshare", how).stderr).toContain("You are confined");
	},
);

test("R4.9 a confined caller ends no unconfined session of another, and may end its own", async () => {
	await using home = new Home();
	await using client = await home.connect();
	const agent = { caller: { ...caller, owner: "agent" } };
	const start = { argv: ["cat"], ...patient };
	const other = (await client.call("start", { name: "other", ...start })).facts.session;
	const own = (await client.call("start", { name: "own", ...start }, agent)).facts.session;
	policyOf(home, { confine: [{ owner: "agent", sandbox: { workspace: home.path } }] });
	for (const [tool, input] of [
		["close", { session: other }],
		["signal", { session: other, signal: "TERM" }],
	] as const)
		await expect(client.call(tool, input, agent)).rejects.toMatchObject({ code: "sandbox_exceeded" });
	expect((await client.call("read", { session: other })).facts.status).toBe("running");
	expect((await client.call("close", { session: own }, agent)).facts.status).not.toBe("running");
});

test("R4.9 a confined program does not reach the daemon's socket, nor its files", needing("bwrap"), async () => {
	await using home = new Home();
	const workspace = realpathSync(mkdtempSync(join(tmpdir(), "dt-workspace-")));
	const client = await home.connect();
	const { socket } = await client.status();
	const reach = `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("${socket}")' 2>&1; ls -d ${home.path} 2>&1`;
	const { facts } = await client.call("start", { command: reach, cwd: workspace, sandbox: true, ...patient });
	expect(facts.sandbox).toBe("enforced");
	// Also in what a model reads, once.
	expect(facts.notices).toContain("sandbox: enforced");
	expect(facts.text).toMatch(/FileNotFoundError|No such file/);
	expect(facts.text).toContain("No such file or directory");
	await client[Symbol.asyncDispose]();
	rmSync(workspace, { recursive: true });
});

test(
	"R4.9 a sandbox is kept in the record: the next daemon tells it, and a start again has it",
	needing("bwrap"),
	async () => {
		await using home = new Home();
		const workspace = realpathSync(mkdtempSync(join(tmpdir(), "dt-workspace-")));
		const first = await home.connect();
		await first.call("start", { name: "kept", argv: ["cat"], cwd: workspace, sandbox: true, ...patient });
		await first.stop({ sessions: false });
		const next = await home.connect();
		const { facts } = await next.call("send", { session: "kept", text: "on", submit: true, ...patient });
		expect(facts).toMatchObject({ sandbox: "enforced", cwd: workspace });
		const [listed] = (await next.call("list", {})).facts.sessions;
		expect(listed?.sandbox).toBe("enforced");
		await next.call("close", { session: "kept" });
		const again = await next.call("start", { again: "kept", ...patient });
		expect(again.facts.sandbox).toBe("enforced");
		// A shell that runs unconfined is not what a call means that asks for a sandbox.
		await next.call("run", { command: "true", ...patient });
		const run = next.call("run", { command: "true", sandbox: { workspace }, ...patient });
		await expect(run).rejects.toMatchObject({ code: "sandbox_exceeded" });
		await next[Symbol.asyncDispose]();
		rmSync(workspace, { recursive: true });
	},
);
