// People over HTTP, on a real daemon: who may do what, the live list, and what is done to a session.

import { mkdtempSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PEOPLE_ROUTES } from "../../src/http/people-routes.ts";
import { listChangeSchema } from "../../src/tools/facts.ts";
import { until } from "../condition.ts";
import { Person } from "./person.ts";
import { RealServer } from "./real-server.ts";

let server: RealServer;
let person: Person;
beforeAll(async () => {
	server = await RealServer.start();
	person = await Person.logIn(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const start = (name: string, command: string) =>
	person.call("start", { name, command, timeoutMs: 5000 }).then(({ session }) => session);

describe("R4.11: who may do what", () => {
	test("a person is one, an agent is one, and says so", async () => {
		expect(await (await person.get("/v1/me")).json()).toMatchObject({ role: "admin", pid: server.pid });
		expect(await (await server.get("/v1/me")).json()).toMatchObject({ role: "drive", name: "npm-start" });
	});

	test("an agent's token is refused what only a person may, and a read-only one whatever acts", async () => {
		const id = await start("guarded", "cat");
		const refused = await server.post(`/v1/sessions/${id}/share`, { minutes: 1 });
		expect(refused.status).toBe(403);
		expect(await refused.json()).toMatchObject({ fault: "not_allowed", message: expect.stringContaining("`drive`") });
		const { token } = await server.createToken("looks", "--read-only");
		for (const path of ["restart", "rename"])
			expect((await server.post(`/v1/sessions/${id}/${path}`, { name: "x" }, { token })).status).toBe(403);
		expect((await server.get(`/v1/sessions/${id}`, { token, method: "DELETE" })).status).toBe(403);
		expect(await (await server.get("/v1/sessions")).text()).toContain("guarded");
	});

	test("what a person starts is theirs, however often they log in", async () => {
		await start("theirs", "cat");
		const again = await Person.logIn(server);
		expect((await again.post("/v1/tools/read", { session: "theirs" })).status).toBe(200);
	});
});

describe("R4.11: a shared session", () => {
	test("its link shows that session alone, and lets nobody type", async () => {
		const [shown, hidden] = [await start("shown", "cat"), await start("hidden", "cat")];
		const { url, expiresAt } = (await (await person.post(`/v1/sessions/${shown}/share`, { minutes: 5 })).json()) as {
			url: string;
			expiresAt: number;
		};
		expect(expiresAt - Date.now()).toBeLessThanOrEqual(5 * 60_000);
		const viewer = await Person.open(server, url);
		expect(await (await viewer.get("/v1/me")).json()).toMatchObject({ role: "view", session: shown });
		const { sessions } = (await (await viewer.get("/v1/sessions")).json()) as { sessions: { session: string }[] };
		expect(sessions.map(({ session }) => session)).toEqual([shown]);
		await using list = await viewer.watch();
		await list.row("shown");
		await start("later", "cat");
		await person.call("send", { session: shown, text: "seen by all", submit: true });
		await list.row("shown", ({ lastLine }) => lastLine.includes("seen by all"));
		expect([...list.rows.keys()]).toEqual([shown]);
		expect((await viewer.post("/v1/tools/read", { session: shown })).status).toBe(200);
		for (const session of [hidden, "hidden", hidden.slice(0, 8), "-", "never-there"])
			expect((await viewer.post("/v1/tools/read", { session })).status).toBe(404);
		for (const path of [`/v1/sessions/${hidden}`, `/v1/sessions/${hidden}/snapshot`, "/v1/sessions/hidden/output"])
			expect([path, (await viewer.get(path)).status]).toEqual([path, 404]);
		for (const tool of ["send", "close", "start", "run"])
			expect((await viewer.post(`/v1/tools/${tool}`, { session: shown })).status).toBe(403);
		for (const path of ["share", "restart", "rename"])
			expect((await viewer.post(`/v1/sessions/${shown}/${path}`, { name: "x" })).status).toBe(403);
	});

	test("`dialtone share` prints such a link, `token list` shows it, and revoking it ends what it shows", async () => {
		await start("from-shell", "cat");
		const { session } = (await (await person.get("/v1/sessions/from-shell")).json()) as { session: string };
		const shared = JSON.parse((await server.cli("share", session, "--minutes", "10", "--json")).out);
		expect((await server.cli("token", "list")).out).toMatch(
			new RegExp(`${shared.id} +share:from-shell +view \\(unused link\\) +session ${session} `),
		);
		const viewer = await Person.open(server, shared.link);
		await using list = await viewer.watch();
		await list.row("from-shell");
		await expect(Person.open(server, shared.link)).rejects.toThrow("401");
		expect((await server.cli("token", "revoke", "share:from-shell")).code).toBe(0);
		await until("the viewer is refused", async () => (await viewer.get("/v1/me")).status === 401);
	});
});

describe("R4.11: the live list", () => {
	test("begins with all, then tells only what changed, from the start of a session to its removal", async () => {
		await start("quiet", "cat");
		await using list = await person.watch();
		await list.row("quiet");
		expect(list.messages[0]).toMatchObject({ full: true, removed: [] });
		const id = await start("talks", "cat");
		await list.row("talks", ({ state }) => state === "waiting");
		await list.row("quiet", ({ state }) => state === "waiting");
		const before = list.messages.length;
		await person.call("send", { session: id, text: "hello there", submit: true });
		const row = await list.row("talks", ({ lastLine }) => lastLine === "hello there");
		expect(row).toMatchObject({ cols: 120, rows: 40, ports: [], driver: { kind: "agent" }, needs: null, owner: "web" });
		for (const message of list.messages.slice(before)) {
			expect(message.full).toBe(false);
			expect(message.sessions.map(({ name }) => name)).toEqual(["talks"]);
		}
		await person.call("close", { session: id });
		await list.row("talks", ({ state }) => state === "ended");
		expect((await person.get(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
		await until("it is gone", () => !list.rows.has(id));
		expect(list.messages.at(-1)).toMatchObject({ full: false, removed: [id] });
		for (const message of list.messages) listChangeSchema.parse(message); // as /v1/openapi.json says
	});

	test("of a full screen there is no last line: the end of its output is a scrap of it", async () => {
		await using list = await person.watch();
		const id = await start("full", "printf 'before\\n\\033[?1049h\\033[5;5Hscrap'; exec sleep 600");
		await list.row("full", ({ state, lastLine }) => state === "working" && lastLine === "");
		await person.call("close", { session: id, force: true });
	});

	test("tells a state that nobody waits for: a secret, a port, a program that has stopped working", async () => {
		await using list = await person.watch();
		await person.call("start", { name: "login", command: "sleep 0.3; read -rsp 'Password: ' x", timeoutMs: 0 });
		const { needs } = await list.row("login", ({ state }) => state === "secret");
		expect(needs).toMatchObject({ kind: "secret", question: "Password:", host: null });
		const serve = "require('node:net').createServer().listen(0, '127.0.0.1')";
		await person.call("start", { name: "server", argv: [process.execPath, "-e", serve], timeoutMs: 0 });
		const { ports } = await list.row("server", (row) => row.state === "serving" && row.ports.length > 0);
		expect(ports).toHaveLength(1);
		await person.call("start", { name: "silent", command: "sleep 3; cat", timeoutMs: 0 });
		await list.row("silent", ({ state }) => state === "working");
		await list.row("silent", ({ state }) => state === "waiting");
	});

	test("what an agent asks a person is in it until something was entered, also for the next daemon", async () => {
		const id = await start("asking", "cat");
		const question = "May I delete it?";
		await server.post("/v1/tools/ask_human", { session: id, question, reason: "It is old" });
		{
			await using list = await person.watch();
			const { needs } = await list.row("asking", ({ state }) => state === "needs-you");
			expect(needs).toMatchObject({ kind: "question", question, reason: "It is old", program: "cat", command: "cat" });
			expect(Date.now() - needs!.since).toBeLessThan(60_000);
		}
		const { pid } = (await (await person.get("/v1/me")).json()) as { pid: number };
		process.kill(pid, "SIGKILL");
		await until("the next daemon serves", async () => {
			const answer = await person.get("/v1/me").catch(() => null);
			return answer?.ok && ((await answer.json()) as { pid: number }).pid !== pid;
		});
		server.pid = ((await (await person.get("/v1/me")).json()) as { pid: number }).pid;
		await using list = await person.watch();
		expect((await list.row("asking", ({ state }) => state === "needs-you")).needs).toMatchObject({ question });
		await person.call("send", { session: id, text: "yes", submit: true });
		await list.row("asking", ({ state, needs }) => state === "waiting" && needs === null);
	});

	test("a reader that stopped reading gets the newest state, and delays nobody", async () => {
		const id = await start("busy", "cat");
		const socket = connect(server.port, "127.0.0.1");
		socket.on("error", () => {}); // closed by us
		const host = new URL(server.url).host;
		socket.write(`GET /v1/watch HTTP/1.1\r\nHost: ${host}\r\nCookie: ${person.cookie}\r\n\r\n`);
		socket.pause();
		await using list = await person.watch();
		for (let at = 0; at < 5; at++) {
			await person.call("send", { session: id, text: `line ${at}`, submit: true });
			await list.row("busy", ({ lastLine }) => lastLine === `line ${at}`);
		}
		socket.destroy();
	});
});

describe("R4.12: restart, rename and remove", () => {
	test("a session is started again as it was: command, directory, environment, size, name and owner", async () => {
		const { token, id: tokenId } = await server.createToken("agent");
		const input = {
			name: "again",
			command: 'echo "$GREETING from $PWD"; stty size; cat',
			cwd: "/usr",
			env: { GREETING: "hello" },
			cols: 100,
			rows: 30,
		};
		const first = (await (await server.post("/v1/tools/start", input, { token })).json()) as { session: string };
		const answer = await person.post(`/v1/sessions/${first.session}/restart`);
		expect(answer.status).toBe(200);
		const { session } = (await answer.json()) as { session: string };
		expect(session).not.toBe(first.session);
		await using list = await person.watch();
		const row = await list.row("again", (one) => one.session === session && one.lastLine.includes("30 100"));
		expect(row).toMatchObject({ cwd: "/usr", owner: `http:${tokenId}:agent`, cols: 100, rows: 30 });
		const screen = await (await person.get(`/v1/sessions/${session}`)).json();
		expect(screen).toMatchObject({ text: expect.stringContaining("hello from /usr") });
		expect([...list.rows.values()].find((one) => one.session === first.session)).toMatchObject({ state: "ended" });
		const again = await person.post(`/v1/sessions/${first.session}/restart`);
		expect([again.status, await again.json()]).toMatchObject([409, { fault: "name_taken" }]);
	});

	test("that one was ended which cannot be started again is in the audit log", async () => {
		const cwd = mkdtempSync(join(tmpdir(), "dt-gone-"));
		const { session } = (await person.call("start", { name: "not-again", argv: ["cat"], cwd })) as { session: string };
		rmdirSync(cwd);
		expect((await person.post(`/v1/sessions/${session}/restart`)).status).toBe(422);
		const lines = await server.cli("audit", "--session", session, "--json");
		expect(lines.out).toContain('"do":"restart"');
	});

	test("a session has its new name everywhere, and the old one is free", async () => {
		const id = await start("before", "cat");
		await start("other", "cat");
		await using list = await person.watch();
		const taken = await person.post(`/v1/sessions/${id}/rename`, { name: "other" });
		expect([taken.status, await taken.json()]).toMatchObject([409, { fault: "name_taken" }]);
		expect((await person.post(`/v1/sessions/${id}/rename`, { name: "no good" })).status).toBe(400);
		expect((await person.post(`/v1/sessions/${id}/rename`)).status).toBe(400);
		expect(await (await person.post(`/v1/sessions/${id}/rename`, { name: "after" })).json()).toEqual({
			session: id,
			name: "after",
		});
		await list.row("after");
		expect(await (await person.get("/v1/sessions/after")).json()).toMatchObject({ session: id, name: "after" });
		expect((await person.post("/v1/tools/read", { session: "before" })).status).toBe(404);
		expect(await start("before", "cat")).not.toBe(id);
		await person.call("close", { session: "after" });
		expect((await person.post(`/v1/sessions/${id}/rename`, { name: "last" })).status).toBe(200);
		expect(await (await person.get("/v1/sessions/last")).json()).toMatchObject({ session: id });
	});

	test("only what has ended can be removed", async () => {
		const id = await start("removed", "cat");
		const remove = () => person.get(`/v1/sessions/${id}`, { method: "DELETE" });
		const running = await remove();
		expect([running.status, await running.json()]).toMatchObject([409, { fault: "still_running" }]);
		await person.call("close", { session: id });
		expect((await remove()).status).toBe(200);
		expect((await remove()).status).toBe(404);
	});
});

test("every route of the page is in the description, with what it takes and answers", async () => {
	const api = (await (await person.get("/v1/openapi.json")).json()) as {
		paths: Record<string, Record<string, object>>;
	};
	for (const { method, path, needs } of PEOPLE_ROUTES)
		expect(api.paths[path.replace(":id", "{id}")]?.[method]).toMatchObject({
			"x-needs": needs,
			responses: { 200: {} },
		});
	for (const path of ["/v1/me", "/v1/watch", "/v1/sessions/{id}"]) expect(api.paths[path]?.get).toBeDefined();
});

describe("R4.11: the command line", () => {
	test("`dialtone web` opens HTTP and prints a link that logs in", async () => {
		const { out } = await server.cli("web");
		expect(out).toMatch(new RegExp(`^${server.url}/login\\?code=[0-9a-f]{32}\\n$`));
		const again = await Person.open(server, out.trim());
		expect(await (await again.get("/v1/me")).json()).toMatchObject({ role: "admin" });
		expect((await server.cli("serve")).out).toContain("/login?code=");
	});
});
