// More sessions of other machines than one answer lists: each way to a list gives all of them, page by page, or says how
// many it leaves out. The other machines are records only.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { openBuckets, type SessionEntry } from "../../src/fleet/buckets.ts";
import { keyToken } from "../../src/fleet/subjects.ts";
import { idsBeginning, listResources } from "../../src/mcp/resources.ts";
import type { ListFacts } from "../../src/protocol/answer.ts";
import { newId } from "../../src/session/identity.ts";
import { Home } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { OneServer } from "./one-server.ts";

const HOSTS = 100;
const EACH = 100;
const COUNT = HOSTS * EACH;

/** The last session of the last host is of this owner, who has no other. */
const OWNER = "late";

const recordOf = (owner: string, name: string): SessionEntry => ({
	...{ name, command: "npm run dev -- --port 3000", owner, createdAt: 1, updatedAt: 1, exit: null, sandbox: null },
	...{ status: "running", activity: "waiting", waitingFor: "line", boot: "12345678" },
});

async function fill(server: OneServer): Promise<void> {
	const { js } = await openBuckets(await server.connect());
	for (let host = 0; host < HOSTS; host++) {
		const written = Array.from({ length: EACH }, (_, i) => {
			const owner = host === HOSTS - 1 && i === EACH - 1 ? OWNER : `agent-${i % 50}`;
			const key = `h${String(host).padStart(3, "0")}.${keyToken(owner)}.${newId()}`;
			return js.publish(`$KV.dt_sessions.${key}`, JSON.stringify(recordOf(owner, `s${i}`)));
		});
		await Promise.all(written);
	}
}

describe(`${COUNT} sessions on ${HOSTS} other machines`, () => {
	let server: OneServer;
	let home: Home;
	let client: SocketClient;
	beforeAll(async () => {
		if (missing(...BROKER_NEEDS).length > 0) return;
		server = await OneServer.start();
		await fill(server);
		home = new Home();
		client = await home.connect();
		await client.fleet({ servers: [server.url], host: "alpha", labels: {} });
	});
	afterAll(async () => {
		await client?.[Symbol.asyncDispose]();
		await home?.[Symbol.asyncDispose]();
		await server?.[Symbol.asyncDispose]();
	});

	const isWhole = ({ sessions, next }: ListFacts) => {
		expect(new Set(sessions.map(({ session }) => session)).size).toBe(COUNT);
		expect([sessions.length, next]).toEqual([COUNT, undefined]);
	};

	test("are all in the pages of `list`; how long these take is printed", needing(...BROKER_NEEDS), async () => {
		const whole = async (limit: number): Promise<ListFacts> => {
			const sessions: ListFacts["sessions"][number][] = [];
			const since = performance.now();
			let page: ListFacts;
			let after: string | undefined;
			do {
				const input = { limit, ...(after !== undefined && { after }) };
				page = (await client.call<string>("list", input)).facts as ListFacts;
				sessions.push(...page.sessions);
				after = page.next;
			} while (after !== undefined);
			console.log(`${sessions.length} sessions in pages of ${limit}: ${Math.round(performance.now() - since)} ms`);
			return { ...page, sessions };
		};
		// The first one reads all records.
		for (const limit of [1000, 1000, 1000, 5000, 5000]) isWhole(await whole(limit));
	});

	test("are all in `ls`, as a table, as ids and as JSON", needing(...BROKER_NEEDS), async () => {
		isWhole(JSON.parse((await home.cli("ls", "--json")).stdout));
		isWhole(JSON.parse((await home.cli("fleet", "ls", "--json")).stdout));
		const lines = (text: string) => text.trimEnd().split("\n").length;
		expect(lines((await home.cli("ls")).stdout)).toBe(COUNT + 1);
		expect(lines((await home.cli("ls", "-q")).stdout)).toBe(COUNT);
	});

	test("are all found by a person who abbreviates", needing(...BROKER_NEEDS), async () => {
		const { stdout } = await home.cli("__complete", "--", "read", "h099/s9");
		expect(stdout).toContain("h099/s99\t");
	});

	test("are pages over HTTP", needing(...BROKER_NEEDS), async () => {
		const url = await client.http({ port: 0, exact: false, keep: "pin" });
		const { stdout: token } = await home.cli("token", "create", "all", "--role", "admin");
		const headers = { authorization: `Bearer ${token.trim()}` };
		const page = async (query: string): Promise<ListFacts> => {
			return (await (await fetch(`${url}/v1/sessions?${query}`, { headers })).json()) as ListFacts;
		};
		const described = JSON.stringify(await (await fetch(`${url}/v1/openapi.json`, { headers })).json());
		for (const name of ["status", "limit", "after"]) expect(described).toContain(`{"name":"${name}","in":"query"`);
		const first = await page("limit=4000&status=running");
		const second = await page(`limit=5000&after=${first.next}`);
		const third = await page(`after=${second.next}`);
		expect([first, second, third].map(({ sessions }) => sessions.length)).toEqual([4000, 5000, 1000]);
		isWhole({ ...third, sessions: [first, second, third].flatMap(({ sessions }) => sessions) });
	});

	test("are pages as MCP's resources, and all are completed", needing(...BROKER_NEEDS), async () => {
		const caller = { owner: OWNER, cwd: "/", env: {} };
		const uris: string[] = [];
		let cursor: string | undefined;
		do {
			const page = await listResources(client, caller, cursor);
			uris.push(...page.resources.map(({ uri }) => uri));
			cursor = page.nextCursor;
		} while (cursor !== undefined);
		expect([uris.length, new Set(uris).size]).toEqual([COUNT, COUNT]);
		expect(await idsBeginning("h099/", client, caller)).toHaveLength(EACH);
	});

	test("are counted where a dialect's list has no room for them", needing(...BROKER_NEEDS), async () => {
		const caller = { owner: OWNER, cwd: "/", env: {} };
		const pty = (await client.call<string>("pty_list", {}, { caller })).facts as { left_out?: number }[];
		expect(pty.length + pty.at(-1)!.left_out!).toBe(COUNT);
		const exec = await client.call<string>("list_pty_sessions", {}, { caller });
		expect(exec.facts).toMatchObject({ sessions: [{ session_id: expect.stringMatching(/^h099\//) }] });
		expect(exec.facts).not.toHaveProperty("left_out");
	});

	test("are not told as what keeps running where this machine's daemon stops", needing(...BROKER_NEEDS), async () => {
		expect((await home.cli("daemon", "stop")).stdout).not.toContain("h000/");
	});
});
