// What a model is told once: its own typing is not new to it, and what stays as it was is not said again.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { freePort } from "../servers/free-port.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "model" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const patient = { timeoutMs: 60_000 };
const call = async (tool: "send" | "read" | "run" | "start" | "wait" | "close", input: object) =>
	(await dialtone.client.call<string>(tool, input)).text;
const send = (session: string, input: object) => call("send", { session, ...patient, ...input });
/** An answer without the number of its fence. */
const plain = (text: string) => text.replace(/<<(\d+)\n([\s\S]*)\n\1/, "<<\n$2\n");

describe("T8 the echo of what the caller typed", () => {
	test("T8: the prompt that was seen, with the line that was typed, is left out", needing("python3"), async () => {
		const python = await dialtone.start({ command: "python3 -q", name: "py", ...patient });
		expect(plain(await send("py", { text: "6*7", submit: true }))).toBe("[py] waiting <<\n42\n>>> \n");
		expect(plain(await send("py", { text: "x = 1\n" }))).toBe("[py] waiting <<\n>>> \n");
		expect(plain(await send("py", { text: "if x:\n  x\n\n" }))).toContain(">>> if x:");
		expect(await send("py", { text: "exit()", submit: true })).toBe("[py] ended, exit code 0");
		await python.close();
	});

	test("T8: what a program prints where echo is off is its answer, even if it is what was typed", async () => {
		const command = `stty -echo; printf '= '; while read x; do echo "$x"; printf '= '; done`;
		const sums = await dialtone.start({ command, name: "sums", ...patient });
		expect(plain(await send("sums", { text: "42", submit: true }))).toContain("= 42\n= ");
		await sums.close({ force: true });
	});

	test("T10: a pattern that is none is refused before anything is typed or started", async () => {
		const cat = await dialtone.start({ command: "cat", name: "cat", ...patient });
		const until = { pattern: "(" };
		await expect(send("cat", { text: "typed", submit: true, until })).rejects.toMatchObject({ code: "bad_pattern" });
		await expect(call("start", { command: "sleep 1000", name: "none", until })).rejects.toMatchObject({
			code: "bad_pattern",
		});
		expect((await dialtone.list({})).sessions.map(({ name }) => name)).not.toContain("none");
		expect((await cat.read({ view: "screen" })).text).toBe("");
		await cat.close({ force: true });
	});

	test("T8: where nothing else came it is shown; another caller sees what was typed", async () => {
		const sink = await dialtone.start({ command: "cat > /dev/null", name: "sink", ...patient });
		expect(plain(await send("sink", { text: "one", submit: true }))).toBe("[sink] waiting <<\none\n");
		const watcher = { caller: { owner: "watcher", cwd: "/", env: {} } };
		const seen = await dialtone.client.call<string>("read", { session: sink.id }, watcher);
		expect(seen.text).toContain("one");
		await dialtone.client.call("send", { session: sink.id, text: "theirs", submit: true, ...patient }, watcher);
		expect(plain(await send("sink", { text: "two", submit: true }))).toBe("[sink] waiting <<\ntheirs\ntwo\n");
		await sink.close();
	});
});

describe("T8 what stays as it was", () => {
	test("T8: open ports are told when they change", needing("python3"), async () => {
		const port = await freePort();
		const listening = `listening on ${port}`;
		const command = `exec python3 -qic "import socket; s = socket.create_server(('127.0.0.1', ${port}))"`;
		expect(await call("start", { command, name: "server", ...patient })).toContain(listening);
		// Where it is what was waited for, "matched" says it.
		const other = await freePort();
		const again = `t = socket.create_server(('127.0.0.1', ${other}))`;
		const matched = await send("server", { text: again, submit: true, until: { port: other, only: true } });
		expect(matched).toMatch(/^\[server\] matched/);
		await send("server", { text: "t.close()", submit: true });
		expect(await send("server", { text: "6*7", submit: true })).not.toContain(listening);
		const { facts } = await dialtone.client.call("read", { session: "server" });
		expect(facts).toMatchObject({ ports: [port] });
		expect(await send("server", { text: "s.close()", submit: true })).toContain("no longer listening");
		expect(await send("server", { text: "6*7", submit: true })).not.toContain("listening");
		await call("close", { session: "server" });
	});

	test("T8: how a shell's command ended is told once", async () => {
		expect(await call("run", { command: "false", shell: "told", program: "bash", ...patient })).toMatch(/exit code 1$/);
		const look = { session: "told", view: "lines", lines: 1 };
		expect(await call("read", look)).not.toContain("exit code");
		expect(await send("told", { text: "(exit 3)", submit: true })).toContain("ended with exit code 3");
		expect(await call("read", look)).not.toContain("exit code");
		expect(await call("read", { session: "told", search: "no such words" })).toMatch(/\nno match in \d+ lines$/);
		await call("close", { session: "told" });
	});
});

describe("T12 an ended session", () => {
	test("T12: whose end was told shows its last lines again, and says that they are not new", async () => {
		await call("start", { command: "seq 1 30", name: "over", ...patient });
		expect(plain(await call("read", { session: "over" }))).toBe(
			`[over] ended, exit code 0 <<\n${Array.from({ length: 10 }, (_, i) => 21 + i).join("\n")}\n\nnothing new; its last lines again · lines 21–30 of 30`,
		);
		await call("start", { command: "true", name: "silent", ...patient });
		expect(await call("read", { session: "silent" })).toBe("[silent] ended, exit code 0");
	});
});

describe("T8 a long name", () => {
	test("T8: is shortened in the first line, and taken in that form", async () => {
		const name = "release-candidate-build-and-integration-test-runner";
		expect(await call("start", { command: "cat", name, ...patient })).toContain("[rel…ner] waiting");
		expect(await send("rel…ner", { text: "one", submit: true })).toContain("[rel…ner] waiting");
		await call("start", { command: "cat", name: "relay-of-another-runner", ...patient });
		await expect(send("rel…ner", { text: "two", submit: true })).rejects.toMatchObject({ code: "session_not_found" });
		await call("close", { session: "relay-of-another-runner", force: true });
		expect(await call("close", { session: "rel…ner", force: true })).toContain("ended");
	});
});
