// What a person does over one machine's HTTP and command line to a session of another as a whole: restart it, rename it,
// delete it, and show it to somebody by a link, who then sees that session and knows of nothing else.

import { join } from "node:path";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { auditLines } from "../../src/journal/audit-chain.ts";
import type { ListedSession } from "../../src/protocol/answer.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Person, type PersonServer } from "../http/person.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const ID = /^beta\/[0-9a-z]{26}$/;

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("issue 15: a session of another machine, as a whole", () => {
	let hosts: TwoHosts;
	let client: Client;
	let there: SocketClient;
	let server: PersonServer;
	let person: Person;
	beforeAll(async () => {
		hosts = await TwoHosts.start({ env: { DIALTONE_PORT: "0" } });
		client = hosts.client;
		there = await hosts.beta.connect();
		const cli = async (...args: string[]) => ({ out: (await hosts.alpha.cli(...args)).stdout });
		const { url } = JSON.parse((await cli("web", "--json")).out) as { url: string };
		server = { url, cli };
		person = await Person.logIn(server);
	});
	afterAll(async () => {
		await there?.[Symbol.asyncDispose]();
		await hosts?.[Symbol.asyncDispose]();
	});

	const started = async (name: string, more: object = {}): Promise<string> => {
		const input = { host: "beta", name, argv: ["cat"], timeoutMs: 60_000, ...more };
		return ((await called(client, "start", input)).facts as { session: string }).session;
	};
	const at = (session: string, rest = "") => `/v1/sessions/${encodeURIComponent(session)}${rest}`;
	const refusal = async (answer: Promise<Response>) => {
		const { status, ...rest } = await answer.then(async (one) => ({ status: one.status, ...(await one.json()) }));
		return { status, ...rest } as { status: number; fault: string; message: string };
	};
	const listed = async (from: Client, name: string) =>
		((await called(from, "list", {})).facts as { sessions: readonly ListedSession[] }).sessions.find(
			(one) => one.name === name && one.exit === null,
		);
	const auditedThere = (what: string) =>
		[...auditLines(join(hosts.beta.path, "audit"))].filter((line) => line.do === what);

	describe("over HTTP", () => {
		test("is started again there: its command, directory, size, name and owner, with that machine's environment", async () => {
			const command = 'echo "$GREETING $DIALTONE_PORT. in $PWD of $DIALTONE_NAME"; stty size; exec cat';
			const input = { argv: undefined, command, cwd: "/usr", env: { GREETING: "hello" }, cols: 100, rows: 30 };
			const first = await started("again", input);
			const answer = await person.post(at("beta/again", "/restart"));
			const { session } = (await answer.json()) as { session: string };
			expect([answer.status, session]).toEqual([200, expect.stringMatching(ID)]);
			expect(session).not.toBe(first);
			await until("it prints", async () => {
				const { facts } = await called(client, "read", { session, view: "screen" });
				return (facts as { text: string }).text.includes("30 100");
			});
			const { facts } = await called(client, "read", { session, view: "screen" });
			expect(facts).toMatchObject({
				name: "beta/again",
				cwd: "/usr",
				text: expect.stringContaining("hello . in /usr"),
			});
			expect((await listed(there, "again"))?.owner).toBe("test");
			expect(auditedThere("restart")).toMatchObject([
				{ owner: expect.stringMatching(/^person:.* \(fleet admin from alpha\)$/), name: "again", of: "test" },
			]);
			const once = await refusal(person.post(at(first, "/restart")));
			expect(once).toMatchObject({ status: 409, fault: "name_taken", message: expect.stringContaining("beta/again") });
		});

		test("is renamed for every machine, and the old name is free", async () => {
			const session = await started("before");
			await started("other");
			const taken = await refusal(person.post(at(session, "/rename"), { name: "other" }));
			expect(taken).toMatchObject({ status: 409, fault: "name_taken", message: expect.stringContaining("beta/other") });
			for (const name of ["no good", "beta/after"])
				expect(await refusal(person.post(at(session, "/rename"), { name }))).toMatchObject({ fault: "bad_input" });
			const answer = await person.post(at("beta/before", "/rename"), { name: "after" });
			expect(await answer.json()).toEqual({ session, name: "beta/after" });
			expect((await listed(there, "after"))?.session).toBe(session.slice("beta/".length));
			await until("alpha lists it so", async () => (await listed(client, "beta/after"))?.session === session);
			expect(await codeOf(called(client, "read", { session: "beta/before" }))).toBe("session_not_found");
			expect(await started("before")).not.toBe(session);
			expect(auditedThere("rename")).toMatchObject([{ name: "before", to: "after" }]);
		});

		test("is deleted once it has ended, with its output", async () => {
			const session = await started("removed");
			const remove = () => person.get(at(session), { method: "DELETE" });
			expect(await refusal(remove())).toMatchObject({ status: 409, fault: "still_running" });
			await called(client, "close", { session });
			const answer = await remove();
			expect([answer.status, await answer.json()]).toEqual([200, { session }]);
			expect(await refusal(remove())).toMatchObject({ status: 404, fault: "session_not_found" });
			expect(await codeOf(called(there, "read", { session: session.slice("beta/".length) }))).toBe("session_not_found");
			expect(auditedThere("remove")).toMatchObject([{ name: "removed" }]);
		});

		test("is left alone by who may not: an agent's token, and one that only looks", async () => {
			const session = await started("guarded");
			for (const flags of [[], ["--read-only"]]) {
				const { out } = await server.cli("token", "create", "guarded", ...flags);
				const headers = { authorization: `Bearer ${out.trim()}`, "content-type": "application/json" };
				for (const rest of ["/restart", "/rename", "/share"]) {
					const asked = fetch(`${server.url}${at(session, rest)}`, { method: "POST", headers, body: '{"name":"x"}' });
					expect(await refusal(asked)).toMatchObject({ status: 403, fault: "not_allowed" });
				}
				const removal = fetch(`${server.url}${at(session)}`, { method: "DELETE", headers });
				expect(await refusal(removal)).toMatchObject({ status: 403, fault: "not_allowed" });
			}
			expect((await listed(there, "guarded"))?.status).toBe("running");
		});
	});

	test("is deleted, started again and shared by the command line", async () => {
		const first = await hosts.alpha.cli("start", "--host", "beta", "--name", "shell", "--json", "--", "cat");
		const { session } = JSON.parse(first.stdout) as { session: string };
		expect((await hosts.alpha.cli("stop", "beta/shell")).code).toBe(0);
		const again = JSON.parse((await hosts.alpha.cli("start", "--again", "beta/shell", "--json")).stdout);
		expect(again).toMatchObject({ name: "beta/shell", session: expect.stringMatching(ID) });
		expect(again.session).not.toBe(session);
		const shared = JSON.parse((await hosts.alpha.cli("share", "beta/shell", "--json")).stdout);
		expect(shared.session).toBe(again.session);
		expect(auditedThere("share").at(-1)).toMatchObject({ name: "shell" });
		expect((await hosts.alpha.cli("rm", "beta/shell")).code).not.toBe(0);
		expect((await hosts.alpha.cli("rm", "--force", "beta/shell")).code).toBe(0);
		expect((await hosts.alpha.cli("rm", session)).code).toBe(0);
		expect(await listed(there, "shell")).toBeUndefined();
	});

	describe("shared by a link", () => {
		const open = async (session: string, minutes = 5) => {
			const answer = await person.post(at(session, "/share"), { minutes });
			return Person.open(server, ((await answer.json()) as { url: string }).url);
		};
		/** The session that was shared, and one of each machine that was not. */
		let shown: string;
		let viewer: Person;
		beforeAll(async () => {
			shown = await started("shown");
			await started("hidden");
			await called(client, "start", { name: "hidden-here", argv: ["cat"], timeoutMs: 60_000 });
			await until("they are listed", () => listed(client, "beta/hidden"));
			viewer = await open("beta/shown");
		});

		test("is seen: its list, screen, output, recording and events", async () => {
			expect(await (await viewer.get("/v1/me")).json()).toMatchObject({ role: "view", session: shown });
			const { sessions } = (await (await viewer.get("/v1/sessions")).json()) as { sessions: ListedSession[] };
			expect(sessions.map(({ session }) => session)).toEqual([shown]);
			await using list = await viewer.watch();
			await list.row("beta/shown");
			await started("later");
			await called(client, "send", { session: shown, text: "seen by all", submit: true });
			await list.row("beta/shown", ({ lastLine }) => lastLine.includes("seen by all"));
			await using everybody = await person.watch();
			await everybody.row("beta/later");
			expect([...list.rows.keys()]).toEqual([shown]);
			expect(JSON.stringify(list.messages)).not.toMatch(/hidden|later|alpha/);
			for (const rest of ["", "/snapshot", "/timeline", "/moment?at=1000", "/export?format=text"])
				expect([rest, (await viewer.get(at(shown, rest))).status]).toEqual([rest, 200]);
			expect(await (await viewer.get(at(shown, "/export?format=text"))).text()).toContain("seen by all");
			const lines = await viewer.post("/v1/tools/read", { session: shown, view: "lines", from: 1, to: 5 });
			expect(await lines.text()).toContain("seen by all");
			const terminal = new WebSocket(`${server.url.replace("http", "ws")}${at(shown, "/terminal")}`, {
				headers: { cookie: viewer.cookie, origin: server.url },
			});
			const told: string[] = [];
			terminal.on("message", (data) => told.push(String(data)));
			await until("its screen came", () => told.some((one) => one.includes("seen by all")));
			for (const message of [{ type: "take" }, { type: "input", text: "x" }, { type: "secret", text: "x" }]) {
				terminal.send(JSON.stringify(message));
				const isRefused = (one: string) => one.includes(`"to":"${message.type}"`) && one.includes("not_allowed");
				await until(`${message.type} is refused`, () => told.some(isRefused));
			}
			terminal.terminate();
		});

		/** What a link does not show has one answer, whichever machine has it, and whether it exists. */
		const OTHERS = ["beta/hidden", "beta/none", "hidden-here", "none", "alpha/hidden-here", "gamma/x", "beta/", "-"];

		test("is all that there is: no other session of any machine is reached in any way", async () => {
			const ids = [(await listed(client, "beta/hidden"))!.session, (await listed(client, "hidden-here"))!.session];
			const named = new Set<string>();
			for (const session of [...OTHERS, ...ids, shown.slice(0, -2), `${shown}/x`, shown.slice("beta/".length)]) {
				const answers = [
					...["", "/snapshot", "/output", "/timeline", "/moment?at=1", "/export?format=text"].map((rest) =>
						viewer.get(at(session, rest)),
					),
					viewer.post("/v1/tools/read", { session }),
					viewer.post("/v1/tools/wait", { session, timeoutMs: 0 }),
					viewer.post("/v1/tools/pty_capture", { terminal_id: session }),
					viewer.post("/v1/tools/get_process_output", { process_id: session }),
					// What names the session that is shown, and another one.
					viewer.post("/v1/tools/read", { session: shown, session_id: session }),
					viewer.post("/v1/tools/read", { session: shown, sessionId: session }),
					viewer.post("/v1/tools/read", { session: shown, terminal_id: session }),
				];
				for (const answer of await Promise.all(answers)) {
					const text = await answer.text();
					expect([session, answer.url, answer.ok && !text.includes('"error"'), text]).toEqual([
						...[session, answer.url, false, expect.stringMatching(/not_found|not_allowed|bad_input|error/)],
					]);
					for (const name of ["hidden", "later", "guarded", "alpha", "gamma"])
						if (!session.includes(name) && text.includes(name)) named.add(`${name}: ${session} ${answer.url} ${text}`);
				}
			}
			expect([...named]).toEqual([]);
		});

		test("tells nothing of hosts: each is refused alike", async () => {
			const asked = async (tool: string, input: object) => {
				const { fault, message } = await refusal(viewer.post(`/v1/tools/${tool}`, input));
				return { fault, message };
			};
			for (const tool of ["list", "read", "wait"]) {
				const session = tool === "list" ? {} : { session: "x" };
				const [first, ...others] = await Promise.all(
					["beta", "alpha-not", "gamma", "none"].map((host) => asked(tool, { ...session, host })),
				);
				expect(first).toMatchObject({ fault: "not_allowed" });
				for (const other of others) expect(other).toEqual(first);
			}
			for (const tool of ["list", "pty_list", "list_pty_sessions"]) {
				const text = await (await viewer.post(`/v1/tools/${tool}`, {})).text();
				expect(text).not.toMatch(/hidden|later|guarded|alpha|gamma/);
			}
		});

		test("is only looked at: nothing is done to it, nor by a token for it that could do more here", async () => {
			for (const tool of ["send", "close", "start", "run", "signal", "resize"])
				expect((await viewer.post(`/v1/tools/${tool}`, { session: shown, command: "true" })).status).toBe(403);
			for (const rest of ["/share", "/restart", "/rename"])
				expect((await viewer.post(at(shown, rest), { name: "x" })).status).toBe(403);
			expect((await viewer.get(at(shown), { method: "DELETE" })).status).toBe(403);
			for (const role of ["drive", "admin"]) {
				const { out } = await server.cli("token", "create", role, "--role", role, "--session", shown);
				const headers = { authorization: `Bearer ${out.trim()}`, "content-type": "application/json" };
				const post = (path: string, body: object) =>
					fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
				expect((await post("/v1/tools/read", { session: shown, view: "screen" })).status).toBe(200);
				for (const [tool, input] of [
					["send", { text: "typed by a token", submit: true }],
					["signal", { signal: "INT" }],
					["close", {}],
				] as const)
					expect(await refusal(post(`/v1/tools/${tool}`, { session: shown, ...input }))).toMatchObject({ status: 403 });
				for (const rest of ["/restart", "/rename", "/share"])
					expect(await refusal(post(at(shown, rest), rest === "/rename" ? { name: "x" } : {}))).toMatchObject({
						status: 403,
					});
			}
			const { facts } = await called(client, "read", { session: shown, view: "screen" });
			expect((facts as { text: string }).text).not.toContain("typed by a token");
			expect((await listed(there, "shown"))?.status).toBe("running");
		});

		test("is read over MCP, too, by its id, and nothing else is", async () => {
			const { out } = await server.cli("token", "create", "mcp", "--read-only", "--session", shown);
			const headers = { authorization: `Bearer ${out.trim()}` };
			const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } });
			const mcp = new McpClient({ name: "looks", version: "1" }, { versionNegotiation: { mode: "legacy" } });
			await mcp.connect(transport);
			const told = async (session: string) =>
				JSON.stringify(await mcp.callTool({ name: "read", arguments: { session, view: "screen" } }));
			expect(await told(shown)).toContain("seen by all");
			for (const session of OTHERS) {
				const text = await told(session);
				expect(text).toMatch(/not_found|not allowed|no session/i);
				for (const name of ["hidden", "later", "guarded", "alpha"])
					if (!session.includes(name)) expect(text).not.toContain(name);
			}
			const listed = JSON.stringify(await mcp.callTool({ name: "list", arguments: {} }));
			expect(listed).toContain("beta/shown");
			expect(listed).not.toMatch(/hidden|later|guarded|alpha/);
			await mcp.close();
		});

		test("tells events of that session alone", async () => {
			const over = new AbortController();
			const answer = await viewer.get("/v1/events", { signal: over.signal });
			let heard = "";
			const reading = (async () => {
				for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) heard += piece;
			})().catch(() => {}); // aborted
			await called(client, "close", { session: "beta/hidden", forget: true });
			await called(client, "close", { session: "hidden-here", forget: true });
			await called(client, "close", { session: shown });
			await until("its end is heard", () => heard.includes(shown) && heard.includes("ended"));
			over.abort();
			await reading;
			expect(heard).not.toContain("hidden");
			// Its output stays, until it is removed: then it is not found, and nothing else is named.
			expect((await viewer.get(at(shown, "/snapshot"))).status).toBe(200);
			await person.get(at(shown), { method: "DELETE" });
			for (const rest of ["", "/snapshot", "/timeline", "/export?format=text"]) {
				const text = await (await viewer.get(at(shown, rest))).text();
				expect([rest, text]).toEqual([rest, expect.stringContaining("session_not_found")]);
				expect(text).not.toMatch(/guarded|later|hidden|alpha/);
			}
			const gone = await (await viewer.post("/v1/tools/read", { session: shown })).text();
			expect(gone).toContain("session_not_found");
			expect(gone).not.toMatch(/guarded|later|hidden|alpha/);
		});

		test("ends when the link has expired or is revoked, also for who is looking", async () => {
			const session = await started("ends");
			const expiring = await open(session, 0.05);
			const lasting = await open(session);
			await using list = await lasting.watch();
			await list.row("beta/ends");
			expect((await expiring.get(at(session, "/snapshot"))).status).toBe(200);
			await until("it has expired", async () => (await expiring.get("/v1/me")).status === 401);
			expect((await expiring.get(at(session, "/snapshot"))).status).toBe(401);
			const stream = await lasting.get(at(session, "/output"));
			const reading = stream.text();
			expect((await lasting.get(at(session, "/snapshot"))).status).toBe(200);
			expect((await hosts.alpha.cli("token", "revoke", "share:beta/ends")).code).toBe(0);
			expect(await reading).toContain("event: fault");
			expect((await lasting.get(at(session, "/snapshot"))).status).toBe(401);
		});
	});

	test("is refused with which machine cannot be reached, and nothing is done", async () => {
		const session = await started("away");
		const found = await hosts.beta.find();
		const { pid } = await found!.status();
		await found![Symbol.asyncDispose]();
		process.kill(pid, "SIGKILL");
		await until("its lease has ended", async () => {
			const { facts } = await called(client, "list", {});
			return (facts as { sessions: readonly ListedSession[] }).sessions.some(
				({ name, unreachableSince }) => name === "beta/away" && unreachableSince !== undefined,
			);
		});
		const asked = () => [
			person.post(at(session, "/restart")),
			person.post(at(session, "/rename"), { name: "x" }),
			person.post(at(session, "/share"), { minutes: 1 }),
			person.get(at(session), { method: "DELETE" }),
		];
		for (const answer of asked())
			expect(await refusal(answer)).toMatchObject({
				...{ status: 503, fault: "host_unreachable" },
				message: expect.stringMatching(/^Host "beta" is unreachable since .*; nothing was done\.$/),
			});
		const removed = await hosts.alpha.cli("rm", "--force", session, "--json");
		expect([removed.code, JSON.parse(removed.stdout).fault]).toEqual([1, "host_unreachable"]);
		await there[Symbol.asyncDispose]();
		there = await hosts.beta.connect();
		expect((await listed(there, "away"))?.status).toBe("running");
		await hosts.brokers.kill(0);
		await until("the loss is known", async () => (await refusal(asked()[1]!)).fault === "fleet_unreachable");
		for (const answer of asked())
			expect(await refusal(answer)).toMatchObject({
				...{ status: 503, fault: "fleet_unreachable" },
				message: expect.stringContaining("nothing was done on another host"),
			});
		expect((await listed(there, "away"))?.status).toBe("running");
	});
});
