// A session's past over HTTP and on the command line: who typed how much and never what, the screen of a moment, and
// files to keep.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { readTurns } from "../../src/journal/turns.ts";
import type { Mark, Timeline } from "../../src/protocol/timeline.ts";
import type { MomentFacts } from "../../src/tools/past.ts";
import { until } from "../condition.ts";
import { MONOSPACE, needing } from "../programs.ts";
import { RealServer } from "./real-server.ts";

let server: RealServer;
beforeAll(async () => {
	server = await RealServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const call = async <T = Record<string, unknown>>(tool: string, input: object): Promise<T> => {
	const answer = await server.post(`/v1/tools/${tool}`, { timeoutMs: 30_000, ...input });
	expect(answer.status, await answer.clone().text()).toBe(200);
	return (await answer.json()) as T;
};
/** One that takes no timeout. */
const dialect = async (tool: string, input: object) => {
	const answer = await server.post(`/v1/tools/${tool}`, input);
	expect(answer.status, await answer.clone().text()).toBe(200);
	return (await answer.json()) as Record<string, string>;
};
const get = async <T>(path: string): Promise<T> => (await server.get(path)).json() as Promise<T>;
const timeline = (name: string) => get<Timeline>(`/v1/sessions/${name}/timeline`);
type Turn = Extract<Mark, { kind: "turn" }>;
const turnsOf = async (name: string) =>
	(await timeline(name)).marks.filter((mark): mark is Turn => mark.kind === "turn");
const turnsSoon = (name: string, count: number) =>
	until(`${name} has ${count} turns`, async () => {
		const turns = await turnsOf(name);
		return turns.length >= count && turns;
	});

/** Every file below the home that has this text in it. */
function filesWith(text: string, directory = server.home): string[] {
	return readdirSync(directory, { recursive: true, encoding: "utf8" })
		.map((name) => join(directory, name))
		.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).includes(text));
}

describe("turns", () => {
	test("every way to type is recorded: who, how many keys, why the call returned", async () => {
		await call("start", { argv: ["cat"], name: "cat" });
		await call("send", { session: "cat", text: "hello", submit: true, until: { text: "hello\nhello" } });
		await server.cli("send", "cat", "héllo", "--key", "enter");
		const [http, cli] = await turnsSoon("cat", 2);
		expect(http).toMatchObject({ by: "agent", who: expect.stringMatching(/^http:/), keys: 6, lines: 0 });
		expect(http!.returned).toMatch(/^(matched|waiting)$/);
		expect(http!.tookMs).toBeGreaterThanOrEqual(0);
		expect(cli).toMatchObject({ by: "agent", who: expect.stringContaining("cli"), keys: 6, returned: "waiting" });
		await call("signal", { session: "cat", signal: "INT" });
		expect((await turnsSoon("cat", 3))[2]).toMatchObject({ keys: 1, returned: "ended" });
	});

	test("over MCP, through the library, and by a person who is attached", async () => {
		await call("start", { argv: ["cat"], name: "shared" });
		const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
			requestInit: { headers: { authorization: `Bearer ${server.token}` } },
		});
		const mcp = new Client({ name: "tester", version: "1" });
		await mcp.connect(transport);
		await mcp.callTool({ name: "send", arguments: { session: "shared", text: "mcp", submit: true } });
		await mcp.close();
		await using library = await Dialtone.connect({ home: server.home, owner: "program" });
		const terminal = await library.find("shared");
		await terminal.send({ text: "library", submit: true });
		// What `attach` does with each key.
		const { lease = "" } = await library.client.act(terminal.id, { act: "take", who: "ana" });
		for (const key of "me\r") await library.client.act(terminal.id, { act: "keys", lease, base64: btoa(key) });
		await library.client.act(terminal.id, { act: "hand-back", lease, note: "mine" });
		const turns = await turnsSoon("shared", 3);
		expect(turns).toMatchObject([
			{ by: "agent", keys: 4, returned: "waiting" },
			{ by: "agent", who: "program", keys: 8, returned: "waiting" },
			{ by: "person", who: "ana", keys: 3, returned: null },
		]);
	});

	test("the dialects, too", async () => {
		const { session_id } = await dialect("unified_exec", { cmd: "cat", yield_time_ms: 300 });
		await dialect("write_stdin", { session_id, chars: "abc\n", yield_time_ms: 300 });
		expect((await turnsSoon(session_id!, 1))[0]).toMatchObject({ by: "agent", keys: 4, returned: "waiting" });
		const { session_id: number } = await dialect("exec_command", { cmd: "cat", yield_time_ms: 300 });
		await dialect("write_stdin", { session_id: number, chars: "ab\n", yield_time_ms: 300 });
		expect((await turnsSoon(String(number), 1))[0]).toMatchObject({ by: "agent", keys: 3, returned: "waiting" });
		const { terminal_id } = await dialect("pty_create", { command: "cat" });
		await dialect("pty_send_keys", { terminal_id, keys: "xyz", enter: true });
		expect((await turnsSoon(terminal_id!, 1))[0]).toMatchObject({ by: "agent", keys: 4, returned: null });
	});

	test("a paste counts by its lines", async () => {
		await call("start", { argv: ["cat"], name: "pasted" });
		await call("send", { session: "pasted", paste: "one\ntwo\nthree\n", force: true, until: { idleMs: 200 } });
		expect((await turnsSoon("pasted", 1))[0]).toMatchObject({ keys: 0, lines: 3 });
	});

	test("a command of a shell has its text as it is shown, its exit code and its time", async () => {
		await call("run", { command: "sleep 0.3; false", shell: "work" });
		await call("run", { command: "echo fine", shell: "work" });
		const { marks } = await timeline("work");
		const commands = marks.filter((mark) => mark.kind === "command");
		expect(commands).toMatchObject([
			{ command: "sleep 0.3; false", exitCode: 1 },
			{ command: "echo fine", exitCode: 0 },
		]);
		expect(commands[0]!.tookMs).toBeGreaterThanOrEqual(250);
		expect(commands[0]!.tookMs).toBeLessThan(20_000);
		expect(marks.filter((mark) => mark.kind === "turn")).toMatchObject([
			{ keys: "sleep 0.3; false".length + 1, returned: "ended" },
			{ keys: "echo fine".length + 1, returned: "ended" },
		]);
	});

	test("a secret is in no file, and not even its length is recorded", async () => {
		const secret = "hunter2-correct-horse";
		const script = 'stty -echo; printf "Password: "; read x; stty echo; echo; echo "got ${#x}"; read y';
		const started = await call("start", { argv: ["bash", "-c", script], name: "secret" });
		expect(started.waitingFor).toBe("secret");
		await call("send", { session: "secret", text: secret, submit: true });
		await call("send", { session: "secret", text: "seen-by-echo", submit: true });
		const { marks, endedAt } = await until("it has ended", async () => {
			const now = await timeline("secret");
			return now.endedAt !== null && now;
		});
		expect(endedAt).not.toBeNull();
		const turns = marks.filter((mark) => mark.kind === "turn");
		expect(turns[0]).toMatchObject({ keys: 0, lines: 0, secret: true });
		expect(turns[1]).toMatchObject({ keys: 13 });
		expect(marks.some((mark) => mark.kind === "state" && mark.state === "secret")).toBe(true);
		expect(marks.at(-1)).toMatchObject({ kind: "end", exit: { code: 0 }, status: "succeeded" });
		expect(filesWith(secret)).toEqual([]);
		const echoed = filesWith("seen-by-echo").map((path) => path.replace(/^.*\//, "").replace(/\.\d+$/, ""));
		for (const file of echoed)
			expect(["out", "text", "text.json", "keyframe.json", "meta.json", "meta.copy.json"]).toContain(file);
		for (const format of ["cast", "text", "svg"]) {
			const file = await (await server.get(`/v1/sessions/secret/export?format=${format}`)).text();
			expect(file).not.toContain(secret);
		}
	});
});

describe("moments", () => {
	test("by time and by offset, with what to write to a terminal to see it", async () => {
		const script = "printf one; sleep 0.4; printf '\\033[2J\\033[H\\033[31mtwo'; sleep 0.2";
		await call("start", { argv: ["bash", "-c", script], name: "moments", until: { text: "two" } });
		await call("wait", { session: "moments" });
		const at = (query: string) => get<MomentFacts>(`/v1/sessions/moments/moment?${query}`);
		const { durationMs } = await timeline("moments");
		expect((await at(`at=${durationMs}`)).lines[0]).toBe("two");
		const first = await at("offset=3");
		expect(first).toMatchObject({ offset: 3, cols: 120, rows: 40, gaps: [] });
		expect(first.lines[0]).toBe("one");
		expect(first.content).toContain("one");
		expect((await at(`at=${first.at}`)).lines[0]).toBe("one");
		expect((await at("at=0")).lines.join("")).toBe("");
		for (const bad of ["", "at=x", "at=-1", "at=1&offset=1"])
			expect((await server.get(`/v1/sessions/moments/moment?${bad}`)).status).toBe(400);
		expect((await server.get("/v1/sessions/nobody/timeline")).status).toBe(404);
	});

	test("of a session that runs", async () => {
		await call("start", { argv: ["bash", "--norc"], name: "live", env: { PS1: "> " } });
		await call("send", { session: "live", text: "echo $((6*7))", submit: true });
		const { offset, durationMs, endedAt } = await timeline("live");
		expect(endedAt).toBeNull();
		const now = await get<MomentFacts>(`/v1/sessions/live/moment?offset=${offset}`);
		expect(now.lines.filter(Boolean)).toEqual(["> echo $((6*7))", "42", "> "]);
		expect(now.at).toBeLessThanOrEqual(durationMs);
	});
});

describe("downloads", () => {
	test("asciicast v3 has output, resizes, marks and the exit, and never input", async () => {
		await call("start", {
			argv: ["bash", "-c", "read x; echo read; read x; exit 3"],
			name: "tape.1",
			cols: 60,
			rows: 20,
		});
		const session = "tape.1";
		await call("send", { session, text: "typed", submit: true });
		await dialect("resize", { session, cols: 70, rows: 21 });
		await call("send", { session, keys: ["enter"] });
		const answer = await server.get(`/v1/sessions/${encodeURIComponent(session)}/export`);
		expect(answer.headers.get("content-disposition")).toBe('attachment; filename="tape.1.cast"');
		const [header, ...events] = (await answer.text())
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(header).toMatchObject({ version: 3, term: { cols: 60, rows: 20 }, title: session });
		const codes = events.map(([, code]) => code);
		expect(new Set(codes)).toEqual(new Set(["o", "r", "m", "x"]));
		expect(events.filter(([, code]) => code === "m").map(([, , label]) => label)).toEqual([
			"agent typed 6 keys",
			"agent typed 1 key",
		]);
		expect(events.find(([, code]) => code === "r")![2]).toBe("70x21");
		expect(events.at(-1)).toEqual([expect.any(Number), "x", "3"]);
		for (const [seconds] of events) expect(seconds).toBeGreaterThanOrEqual(0);
	});

	test("all text, and the text of a moment", async () => {
		await call("start", { argv: ["bash", "-c", "seq 1 3000; printf '\\033[2J\\033[Hlast'"], name: "lines" });
		const text = await (await server.get("/v1/sessions/lines/export?format=text")).text();
		expect(text.split("\n").slice(0, 3)).toEqual(["1", "2", "3"]);
		expect(text).toMatch(/\n3000\n/);
		expect(text.trimEnd().endsWith("last")).toBe(true);
		const { durationMs } = await timeline("lines");
		const screen = await server.get(`/v1/sessions/lines/export?format=text&at=${durationMs}`);
		expect(await screen.text()).toBe("last\n");
		expect(screen.headers.get("content-disposition")).toMatch(/filename="lines-\d+ms\.txt"/);
		expect((await server.get("/v1/sessions/lines/export?format=gif")).status).toBe(400);
	});

	test("pictures of a moment", needing(MONOSPACE), async () => {
		const { durationMs } = await timeline("moments");
		const svg = await server.get(`/v1/sessions/moments/export?format=svg&at=${durationMs}`);
		expect(svg.headers.get("content-type")).toBe("image/svg+xml");
		expect(await svg.text()).toContain("two");
		const png = await server.get("/v1/sessions/moments/export?format=png&at=0");
		expect(
			Buffer.from(await png.arrayBuffer())
				.subarray(1, 4)
				.toString(),
		).toBe("PNG");
	});
});

describe("the command line", () => {
	test("replay --at and export --at show the screen of a moment", async () => {
		const { at } = await get<MomentFacts>("/v1/sessions/moments/moment?offset=3");
		expect((await server.cli("replay", "moments", "--at", `${at}ms`)).out).toBe("one\n");
		expect(JSON.parse((await server.cli("replay", "moments", "--at", "1h", "--json")).out).lines[0]).toBe("two");
		expect((await server.cli("export", "moments", "--format", "text", "--at", `${at}ms`)).out).toBe("one\n");
		expect((await server.cli("export", "moments", "--format", "svg", "--at", "1h")).out).toContain("two");
		expect((await server.cli("export", "moments", "--at", "1s")).code).toBe(2);
	});
});

test("turns survive the daemon's kill -9, and the next daemon goes on with them", async () => {
	await using own = await RealServer.start();
	await own.cli("start", "--name", "c", "--", "cat");
	await own.cli("send", "c", "first", "--key", "enter");
	const { sessions } = JSON.parse((await own.cli("ls", "--json")).out);
	const directory = join(own.home, "sessions", sessions[0].session ?? sessions[0].id);
	await until("the turn is on disk", async () =>
		(await readTurns(directory)).entries.some(({ kind }) => kind === "turn"),
	);
	process.kill(own.pid, "SIGKILL");
	await own.cli("send", "c", "second", "--key", "enter");
	await until("both turns are on disk", async () => {
		const turns = (await readTurns(directory)).entries.filter(({ kind }) => kind === "turn");
		return turns.length === 2;
	});
	expect((await readTurns(directory)).dropped).toBe(0);
	expect((await own.cli("replay", "c", "--at", "1h")).out).toBe("first\nfirst\nsecond\nsecond\n");

	await own.cli("daemon", "stop", "--sessions");
});

test("a command that ends while there is no daemon is on the timeline of the next one", async () => {
	await using own = await RealServer.start();
	const { pid } = JSON.parse((await own.cli("daemon", "status", "--json")).out);
	await own.cli("run", "--on-timeout", "leave", "--timeout", "100ms", "sleep 1; false");
	process.kill(pid, "SIGKILL");
	const { sessions } = JSON.parse((await own.cli("ls", "--json")).out);
	const directory = join(own.home, "sessions", sessions[0].session ?? sessions[0].id);
	const command = await until("the command is recorded", async () => {
		await own.cli("ls");
		return (await readTurns(directory)).entries.find(({ kind }) => kind === "command");
	});
	expect(command).toMatchObject({ exitCode: 1 });
	await own.cli("daemon", "stop", "--sessions");
});

test("what the quota dropped is said on the timeline, with the screen of a moment, and by replay", async () => {
	await using own = await RealServer.start({ env: { DIALTONE_QUOTA_BYTES: "400000" } });
	const started = await own.post("/v1/tools/start", { argv: ["seq", "1", "300000"], name: "much", timeoutMs: 30_000 });
	expect(started.status).toBe(200);
	const { dropped, marks, durationMs } = (await (await own.get("/v1/sessions/much/timeline")).json()) as Timeline;
	expect(dropped).toHaveLength(1);
	const { from, to } = dropped[0]!;
	expect(marks.find(({ kind }) => kind === "gap")).toMatchObject({ offset: from, to });
	const answer = await own.get(`/v1/sessions/much/moment?at=${durationMs}`);
	const { lines, gaps } = (await answer.json()) as MomentFacts;
	expect(gaps).toEqual([{ from, to }]);
	expect(lines.filter(Boolean).at(-1)).toBe("300000");
	expect((await own.cli("replay", "much", "--speed", "100000")).out).toContain(
		`${to - from} bytes of output are not kept`,
	);
});
