// Who gets what: every address, stream and tool × everyone who may ask. What is expected is computed from the
// tables (routes.ts, people-routes.ts, the catalogue, abilities.ts), and what is asked is taken from them: an address or a
// tool that is added is asked for here too, or fails the first test.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { httpApp } from "../../src/http/app.ts";
import { PEOPLE_ROUTES } from "../../src/http/people-routes.ts";
import type { Needs } from "../../src/http/roles.ts";
import { ROUTES } from "../../src/http/routes.ts";
import { ABILITIES } from "../../src/tools/abilities.ts";
import { catalogue } from "../../src/tools/catalogue.ts";
import { type Role, STARTING_TOOLS, type ToolSet } from "../../src/tools/client.ts";
import type { Effect } from "../../src/tools/tool.ts";
import { until } from "../condition.ts";
import { Person } from "./person.ts";
import { RealServer } from "./real-server.ts";

type Outcome = "no token" | "not allowed" | "not found" | "served";

interface Holder {
	readonly name: string;
	readonly headers: Readonly<Record<string, string>>;
	/** Null: what they show is worth nothing. */
	readonly role: Role | null;
	/** What their token is limited to does not include the session that is asked for. */
	readonly limited: "session" | "owner" | "parent" | null;
}

const MARK = "seen-by-those-who-may";
const NAME = "target";
let server: RealServer;
let holders: readonly Holder[];
let session: string;
let other: string;

beforeAll(async () => {
	server = await RealServer.start({ env: { DIALTONE_HTTP_BAD_TOKENS: "1000000" } });
	const person = await Person.logIn(server);
	const start = async (name: string) =>
		(await person.call("start", { name, command: `echo ${MARK}; exec cat`, until: { text: MARK } })).session;
	[session, other] = [await start(NAME), await start("other")];
	const made = async (name: string, ...flags: string[]) => (await server.createToken(name, ...flags)).token;
	const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
	const [revoked, expired] = [await server.createToken("revoked"), await made("expired", "--expires", "1ms")];
	await server.cli("token", "revoke", revoked.id);
	const worthless = (name: string, headers: Record<string, string>): Holder => ({
		name,
		headers,
		role: null,
		limited: null,
	});
	const holder = async (role: Role, limited: Holder["limited"] = null, ...flags: string[]): Promise<Holder> => {
		const name = limited === null ? role : `${role} of another ${limited}`;
		return { name, headers: bearer(await made(name.replaceAll(" ", "-"), "--role", role, ...flags)), role, limited };
	};
	const elsewhere = person.cookie.replace(/^dialtone-\d+/, "dialtone-1");
	holders = [
		worthless("nobody", {}),
		worthless("a bad token", bearer(`dt_${"x".repeat(43)}`)),
		worthless("an expired token", bearer(expired)),
		worthless("a revoked token", bearer(revoked.token)),
		worthless("the cookie of another port", { cookie: elsewhere, origin: server.url }),
		worthless("the cookie from another site", { cookie: person.cookie, "sec-fetch-site": "cross-site" }),
		await holder("view"),
		await holder("drive"),
		await holder("approve"),
		await holder("admin"),
		await holder("admin", "session", "--session", other),
		await holder("drive", "session", "--session", other),
		await holder("admin", "owner", "--owner", "mcp:*"),
		await holder("drive", "owner", "--owner", "mcp:*"),
		await holder("admin", "parent", "--parent", "another-conversation"),
		{ name: "a browser", headers: { cookie: person.cookie, origin: server.url }, role: "admin", limited: null },
	];
});
afterAll(() => server[Symbol.asyncDispose]());

interface Asked {
	readonly needs: Needs;
	/** It names the session. */
	readonly names: boolean;
	/** It starts something. */
	readonly starts: boolean;
}

function expected({ role, limited, headers }: Holder, { needs, names, starts }: Asked): Outcome {
	if (needs === "nothing" && headers["sec-fetch-site"] === undefined) return "served";
	if (role === null) return "no token";
	if (needs !== "tool" && needs !== "nothing" && !ABILITIES[role].includes(needs)) return "not allowed";
	if (limited === "session" && starts) return "not allowed";
	return names && limited !== null ? "not found" : "served";
}

/** What became of a request, whichever way it was told. */
function outcomeOf(status: number, body: string): Outcome {
	if (status === 401) return body.includes("This link cannot be used") ? "served" : "no token";
	// By a browser: its cookie does not count, or the request as a whole.
	if (status === 403 && body.includes("other sites")) return "no token";
	if (/"(?:fault|code)":"not_allowed"/.test(body)) return "not allowed";
	if (/"(?:fault|code)":"session_not_found"/.test(body)) return "not found";
	return "served";
}

/** The answer, and of a stream as much as comes at once. */
async function ask(path: string, init: RequestInit): Promise<{ outcome: Outcome; body: string; headers: Headers }> {
	const stop = new AbortController();
	const answer = await fetch(`${server.url}${path}`, { ...init, signal: stop.signal });
	const { status, headers } = answer;
	const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
	if (!isStream) return { outcome: outcomeOf(status, await answer.text()), body: "", headers };
	const { value } = await answer.body!.getReader().read();
	stop.abort();
	const body = Buffer.from(value ?? []).toString();
	return { outcome: outcomeOf(status, body), body, headers };
}

/** Whatever is not right, all of it at once. */
async function differences(rows: readonly { what: string; asked: Asked; ask(holder: Holder): Promise<Outcome> }[]) {
	const wrong: string[] = [];
	for (const row of rows)
		for (const holder of holders) {
			const wanted = expected(holder, row.asked);
			const got = await row.ask(holder);
			if (got !== wanted) wrong.push(`${row.what} for ${holder.name}: ${got}, not ${wanted}`);
		}
	return wrong;
}

const requests = Object.entries(ROUTES)
	.map(([name, needs]) => ({ method: name.split(" ")[0]!, path: name.split(" ")[1]!, needs }))
	.filter(({ method }) => method !== "UPGRADE");

test("the app serves the addresses of the tables, and no other", () => {
	const anything = new Proxy({}, { get: () => () => undefined }) as never;
	const parts = { client: anything, version: "0", sets: [], caller: anything, people: anything };
	const access = {
		hosts: new Set<string>(),
		cookie: "",
		secure: false,
		url: "",
		verify: () => null,
		begin: anything,
		countBad: anything,
	};
	const app = httpApp({ ...parts, mcp: anything }, { access, tokens: anything, bodies: anything, limits: anything });
	expect(app).toBeInstanceOf(Hono);
	const served = app.routes.map(({ method, path }) => `${method} ${path}`).filter((one) => one !== "ALL /*");
	const declared = [...requests, ...PEOPLE_ROUTES].map(({ method, path }) => `${method.toUpperCase()} ${path}`);
	expect(served.sort()).toEqual(declared.sort());
});

test("the documents have the roles as they are", () => {
	const text = readFileSync(join(import.meta.dirname, "../../docs/http.md"), "utf8");
	const rows = [...text.matchAll(/^\| `(\w+)` *\|[^|]*\|([^|]*)\|/gm)].map(([, role, may]) => [role, may!.trim()]);
	for (const [role, abilities] of Object.entries(ABILITIES)) expect(rows).toContainEqual([role, abilities.join(", ")]);
});

describe("R3.6, R4.11: who gets what", () => {
	test("by every address", { timeout: 240_000 }, async () => {
		const at = (path: string) => path.replace(":id", NAME).replace(":name", "none.js");
		const rows = requests
			.filter(({ needs }) => needs !== "tool")
			.map(({ method, path, needs }) => ({
				what: `${method} ${path}`,
				asked: { needs, names: path.includes(":id"), starts: false },
				ask: async ({ headers }: Holder) =>
					(await ask(at(path) + (path.endsWith("moment") ? "?at=0" : ""), { headers })).outcome,
			}));
		expect(await differences(rows)).toEqual([]);
	});

	test("by what people do beside tools", { timeout: 240_000 }, async () => {
		const bodies: Readonly<Record<string, object>> = { rename: { name: "renamed" }, share: { minutes: 1 } };
		const rows = PEOPLE_ROUTES.map(({ method, path, needs, of }) => {
			const asked = { needs, names: of === undefined, starts: needs === "starts" };
			return {
				what: `${method} ${path}`,
				asked,
				ask: async (holder: Holder) => {
					// Who may gets as far as the check of the input: nothing is done to the session.
					const isServed = expected(holder, asked) === "served";
					const body = isServed ? { not: "a field" } : (bodies[path.split("/").at(-1)!] ?? {});
					const init = { method, headers: { ...holder.headers, "content-type": "application/json" } };
					const { outcome } = await ask(path.replace(":id", session), { ...init, body: JSON.stringify(body) });
					return outcome;
				},
			};
		});
		expect(await differences(rows)).toEqual([]);
		expect(await (await server.get(`/v1/sessions/${session}`)).json()).toMatchObject({ name: NAME, status: "running" });
	});

	test("by every WebSocket", { timeout: 240_000 }, async () => {
		const upgrades = Object.entries(ROUTES).filter(([name]) => name.startsWith("UPGRADE "));
		const rows = upgrades.map(([name, needs]) => {
			const path = name.split(" ")[1]!.replace(":id", NAME);
			return {
				what: name,
				asked: { needs, names: name.includes(":id"), starts: false },
				ask: ({ headers }: Holder) => outcomeOfSocket(path, headers),
			};
		});
		expect(await differences(rows)).toEqual([]);
	});
});

/** What is told first, or with the refusal. Of a stream that stays silent, that it is open. */
async function outcomeOfSocket(path: string, headers: Readonly<Record<string, string>>): Promise<Outcome> {
	const socket = new WebSocket(`${server.url}${path}`, { headers });
	let outcome: Outcome | null = null;
	socket.on("error", () => {}); // told by "unexpected-response"
	socket.once("unexpected-response", (_request, response) => {
		let body = "";
		response.setEncoding("utf8").on("data", (text: string) => {
			body += text;
		});
		response.on("end", () => {
			outcome = outcomeOf(response.statusCode ?? 0, body);
		});
	});
	socket.on("message", (data: Buffer) => {
		outcome ??= outcomeOf(200, data.toString());
	});
	// Of events none may come: a session that everybody may see, or nobody, makes no difference to that.
	if (path === "/v1/events")
		socket.once("open", () => {
			outcome = "served";
		});
	await until(`${path} is answered`, () => outcome !== null);
	socket.terminate();
	return outcome!;
}

/** What would act on the session, or start one. A tool without a row fails. */
const INPUTS: { readonly [S in ToolSet]: Readonly<Record<(typeof catalogue)[S][number]["name"], object>> } = {
	native: {
		start: { command: "true" },
		send: { session: NAME, text: "typed" },
		read: { session: NAME },
		wait: { session: NAME, timeoutMs: 1 },
		run: { command: "true" },
		list: {},
		close: { session: NAME },
		signal: { session: NAME, signal: "TERM" },
		resize: { session: NAME, cols: 90, rows: 20 },
		ask_human: { session: NAME, question: "?" },
	},
	exec: {
		unified_exec: { cmd: "true" },
		write_stdin: { session_id: NAME, chars: "typed" },
		close_pty_session: { session_id: NAME },
		list_pty_sessions: {},
	},
	codex: { exec_command: { cmd: "true" }, write_stdin: { session_id: 4711, chars: "typed" } },
	pty: {
		pty_create: { cmd: "true" },
		pty_send_keys: { terminal_id: NAME, keys: "typed" },
		pty_capture: { terminal_id: NAME },
		pty_kill: { terminal_id: NAME },
		pty_list: {},
	},
	terminal: {
		run_bash: { command: "true" },
		start_background_process: { command: "true" },
		get_process_output: { process_id: "bg_999" },
		stop_background_process: { process_id: "bg_999" },
	},
};

const tools = Object.entries(catalogue).flatMap(([set, all]) =>
	all.map(({ name, effect }: { name: string; effect: Effect }) => {
		const input = (INPUTS[set as ToolSet] as Record<string, object>)[name]!;
		const names = Object.keys(input).some((key) =>
			["session", "session_id", "terminal_id", "process_id"].includes(key),
		);
		return { set, name, input, asked: { needs: effect, names, starts: STARTING_TOOLS.has(name) } };
	}),
);
/** Who may gets as far as the check of the input, so that nothing is done. */
const inputFor = (holder: Holder, { asked, input }: (typeof tools)[number]) =>
	expected(holder, asked) === "served" && holder.limited === null ? { "not a field": true } : input;

describe("R3.6, R4.11: who may call what", () => {
	test("every tool of every set, by HTTP", { timeout: 240_000 }, async () => {
		const rows = tools.map((tool) => ({
			what: `${tool.set} ${tool.name}`,
			asked: tool.asked,
			ask: async (holder: Holder) => {
				const headers = { ...holder.headers, "content-type": "application/json" };
				const body = JSON.stringify(inputFor(holder, tool));
				return (await ask(`/v1/tools/${tool.name}`, { method: "POST", headers, body })).outcome;
			},
		}));
		expect(await differences(rows)).toEqual([]);
	});

	test("every tool that MCP offers, by MCP over HTTP", { timeout: 240_000 }, async () => {
		const connections = new Map<Holder, Promise<string | null>>();
		const post = (holder: Holder, message: object, connection: string | null = null) =>
			fetch(`${server.url}/mcp`, {
				method: "POST",
				headers: {
					...holder.headers,
					"content-type": "application/json",
					accept: "application/json, text/event-stream",
					...(connection !== null && { "mcp-session-id": connection }),
				},
				body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
			});
		const connect = async (holder: Holder) => {
			const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
			const answer = await post(holder, { method: "initialize", params });
			await answer.text();
			return answer.headers.get("mcp-session-id");
		};
		const rows = tools
			.filter(({ set }) => set === "native")
			.map((tool) => ({
				what: `mcp ${tool.name}`,
				asked: tool.asked,
				ask: async (holder: Holder): Promise<Outcome> => {
					const connection = connections.get(holder) ?? connect(holder);
					connections.set(holder, connection);
					const params = { name: tool.name, arguments: inputFor(holder, tool) };
					const answer = await post(holder, { method: "tools/call", params }, await connection);
					const body = await answer.text();
					// To one who may not call it, there is no such tool.
					return body.includes('"fault":"unknown_tool"') ? "not allowed" : outcomeOf(answer.status, body);
				},
			}));
		expect(await differences(rows)).toEqual([]);
	});

	test("what was refused was not done, and the others' session is as it was", async () => {
		expect(await (await server.get(`/v1/sessions/${session}`)).json()).toMatchObject({ name: NAME, status: "running" });
		expect(await (await server.get(`/v1/sessions/${session}`)).text()).not.toContain("typed");
	});
});

describe("R4.11: a token with a scope", () => {
	const limited = () => holders.filter((holder) => holder.limited !== null);

	test("sees no other session in any list, and cannot tell one from none", async () => {
		for (const { name, headers } of limited()) {
			const lists = [
				await (await fetch(`${server.url}/v1/sessions`, { headers })).text(),
				...(await Promise.all(
					["list", "list_pty_sessions", "pty_list"].map(async (tool) => {
						const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: "{}" };
						return (await fetch(`${server.url}/v1/tools/${tool}`, init)).text();
					}),
				)),
			];
			for (const list of lists) expect([name, list.includes(session) || list.includes(NAME)]).toEqual([name, false]);
			const refusal = async (reference: string) => {
				const answer = await fetch(`${server.url}/v1/sessions/${reference}`, { headers });
				return [answer.status, (await answer.text()).replaceAll(reference, "")];
			};
			const never = await refusal("never-there");
			for (const reference of [NAME, session, session.slice(0, 8)]) expect(await refusal(reference)).toEqual(never);
		}
	});

	test("hears of no other session: events, the live list, and MCP resources", async () => {
		const { token } = await server.createToken("one", "--role", "view", "--session", other);
		const headers = { authorization: `Bearer ${token}` };
		const stop = new AbortController();
		let heard = "";
		const listen = async (path: string) => {
			const answer = await fetch(`${server.url}${path}`, { headers, signal: stop.signal });
			for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) heard += text;
		};
		const streams = ["/v1/events?after=0", "/v1/watch"].map((path) => listen(path).catch(() => {})); // aborted at last
		const socket = new WebSocket(`${server.url}/v1/events`, { headers });
		socket.on("message", (data: Buffer) => {
			heard += data.toString();
		});
		await once(socket, "open");
		for (const one of [session, other])
			expect((await server.post("/v1/tools/resize", { session: one, cols: 101, rows: 31 })).status).toBe(200);
		await until(
			"it hears of its own on all three",
			() => (heard.match(/"event":"resized"/g) ?? []).length >= 2 && heard.includes("event: sessions"),
		);
		expect(heard).toContain(other);
		expect(heard).not.toContain(session);
		stop.abort();
		socket.terminate();
		await Promise.all(streams);
	});

	test("starts sessions within its scope only, whatever the call says", async () => {
		for (const holder of holders.filter(({ role, limited }) => role === "drive" && limited === "owner")) {
			const headers = { ...holder.headers, "content-type": "application/json", "x-dialtone-parent": "mine" };
			const body = JSON.stringify({ name: "own", command: "cat", parent: "elsewhere" });
			const started = await fetch(`${server.url}/v1/tools/start`, { method: "POST", headers, body });
			const { session: id } = (await started.json()) as { session: string };
			const { sessions } = (await (await server.get("/v1/sessions")).json()) as {
				sessions: { session: string; owner: string }[];
			};
			expect(sessions.find((one) => one.session === id)?.owner).toMatch(/^mcp:http:/);
			expect((await fetch(`${server.url}/v1/sessions/own`, { headers: holder.headers })).status).toBe(200);
		}
		const { headers } = holders.find(({ limited }) => limited === "parent")!;
		const init = {
			method: "POST",
			headers: { ...headers, "content-type": "application/json", "x-dialtone-parent": "mine" },
		};
		const body = JSON.stringify({ name: "in-parent", command: "cat", parent: "elsewhere" });
		expect((await fetch(`${server.url}/v1/tools/start`, { ...init, body })).status).toBe(200);
		const { sessions } = (await (await server.get("/v1/sessions")).json()) as {
			sessions: { name: string; parent: string }[];
		};
		expect(sessions.find(({ name }) => name === "in-parent")?.parent).toBe("another-conversation");
	});
});

describe("R4.11: an agent's token", () => {
	/** What the terminal's WebSocket answers to this message. */
	const said = async (headers: Readonly<Record<string, string>>, message: object) => {
		const socket = new WebSocket(`${server.url}/v1/sessions/${session}/terminal`, { headers });
		const answers: { type: string; to?: string; fault?: { fault: string } }[] = [];
		socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (!isBinary) answers.push(JSON.parse(data.toString()));
		});
		await once(socket, "open");
		socket.send(JSON.stringify(message));
		const about = () => answers.find(({ type, to }) => (type === "refused" && to !== "watch") || type === "typed");
		await until("it is answered", about);
		socket.terminate();
		return about()?.fault?.fault ?? "typed";
	};

	test("neither answers for a person, nor types a secret, nor takes over; one to approve only takes not over", async () => {
		const as = (role: Role) => holders.find((one) => one.role === role && one.limited === null)!.headers;
		const id = "0".repeat(32);
		const messages = [
			{ type: "secret", text: "x", id },
			{ type: "answer", text: "x", id },
			{ type: "take" },
			{ type: "input", text: "x", id },
		];
		for (const role of ["drive", "view"] as const)
			for (const message of messages) expect([role, await said(as(role), message)]).toEqual([role, "not_allowed"]);
		for (const message of messages.slice(2)) expect(await said(as("approve"), message)).toBe("not_allowed");
		// Nothing asks for either: it is refused for that, and not for who types it.
		for (const message of messages.slice(0, 2)) expect(await said(as("approve"), message)).not.toBe("not_allowed");
	});
});

describe("every answer, also a refusal", () => {
	test("carries the headers that keep it out of other pages, and none that lets them in", async () => {
		const admin = holders.find(({ name }) => name === "admin")!.headers;
		const post = { method: "POST", headers: { ...admin, "content-type": "application/json" }, body: "{}" };
		const asked: [string, RequestInit][] = [
			["/", { headers: admin }],
			["/healthz", {}],
			["/login?code=x", {}],
			["/v1/sessions", {}],
			["/v1/sessions", { headers: admin }],
			["/v1/sessions/nobody", { headers: admin }],
			["/nowhere", { headers: admin }],
			["/v1/events", { headers: admin }],
			["/v1/tools/list", post],
			["/v1/tools/list", { ...post, headers: { ...admin, "content-type": "text/plain" } }],
			["/mcp", post],
			[`/v1/sessions/${session}/export?format=svg`, { headers: admin }],
		];
		for (const [path, init] of asked) {
			const { headers } = await ask(path, init);
			const given = Object.fromEntries(headers);
			expect([path, given]).toEqual([
				path,
				expect.objectContaining({
					"content-security-policy": expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
					"referrer-policy": "no-referrer",
					"x-content-type-options": "nosniff",
					"cross-origin-resource-policy": "same-origin",
				}),
			]);
			expect(Object.keys(given).filter((name) => name.startsWith("access-control-"))).toEqual([]);
		}
	});
});

describe("bad tokens", () => {
	test("are refused with 429 when there are too many, and valid ones are served meanwhile", async () => {
		await using strict = await RealServer.start({ env: { DIALTONE_HTTP_BAD_TOKENS: "5" } });
		const bad = async (path = "/v1/sessions") => (await strict.get(path, { token: "dt_bad" })).status;
		const statuses = [];
		for (let n = 0; n < 8; n++) statuses.push(await bad());
		// A slow machine may have begun the next ten seconds.
		expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
		await until("one is too many", async () => (await bad()) === 429);
		expect((await strict.get("/v1/sessions")).status).toBe(200);
		expect((await fetch(`${strict.url}/v1/sessions`)).status).toBe(401); // shows none
		await until("a code is too many", async () => (await fetch(`${strict.url}/login?code=bad`)).status === 429);
		expect((await Person.logIn(strict)).cookie).toContain("dt_");
	});
});
