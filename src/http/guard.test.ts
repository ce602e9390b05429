import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, test } from "vitest";
import { type AccessRequest, admit, hostsOf } from "./guard.ts";
import type { TokenRecord } from "./tokens.ts";

const record: TokenRecord = {
	id: "1",
	name: "x",
	hash: "",
	createdAt: 0,
	role: "drive",
	expiresAt: null,
	scope: null,
	link: false,
	browser: false,
};
const known: Readonly<Record<string, TokenRecord>> = {
	dt_good: record,
	dt_person: { ...record, role: "admin" },
};
const policy = {
	hosts: hostsOf(17492, { ipv6: true }),
	secure: false,
	cookie: "dialtone-17492",
	verify: (token: string) => known[token] ?? null,
};
const HOST = "127.0.0.1:17492";
const request = (headers: IncomingHttpHeaders, over: Partial<AccessRequest> = {}): AccessRequest => ({
	method: "GET",
	path: "/v1/tools",
	upgrade: false,
	...over,
	headers: { host: HOST, authorization: "Bearer dt_good", ...headers },
});
const status = (admission: ReturnType<typeof admit>) => ("refused" in admission ? admission.refused : 200);

describe("the policy", () => {
	test.each([
		["no token", { authorization: undefined }, "/v1/tools", 401],
		["a wrong token", { authorization: "Bearer dt_bad" }, "/v1/tools", 401],
		["another scheme", { authorization: "Basic dt_good" }, "/v1/tools", 401],
		[
			"a token as a subprotocol of a request that is no upgrade",
			{ authorization: undefined, "sec-websocket-protocol": "dt_good" },
			"/v1/tools",
			401,
		],
		["a rebound name", { host: "evil.example:17492" }, "/v1/tools", 403],
		["our name on another port", { host: "127.0.0.1:80" }, "/v1/tools", 403],
		["a name that only begins like ours", { host: "localhost:17492.evil.example" }, "/v1/tools", 403],
		["no Host", { host: undefined }, "/v1/tools", 403],
		["a page of another site", { origin: "https://evil.example" }, "/v1/tools", 403],
		["a page of another port", { origin: "http://localhost:3000" }, "/v1/tools", 403],
		["a sandboxed frame", { origin: "null" }, "/v1/tools", 403],
		["a foreign page where no token is needed", { origin: "https://evil.example" }, "/healthz", 403],
		["a foreign page that tries a login link", { origin: "https://evil.example" }, "/login", 403],
	] as const)("%s is refused", (_, headers, path, refused) => {
		expect(admit(request(headers, { path }), policy)).toMatchObject({ refused });
	});

	test("G13: where ::1 is not bound, a page of `localhost` or `[::1]` may be another user's", () => {
		const alone = { ...policy, hosts: hostsOf(17492, { ipv6: false }) };
		for (const name of ["localhost:17492", "[::1]:17492"]) {
			expect(admit(request({ host: name }), alone)).toMatchObject({ refused: 403 });
			expect(admit(request({ origin: `http://${name}` }), alone)).toMatchObject({ refused: 403 });
		}
		expect(admit(request({ origin: `http://${HOST}` }), alone)).toMatchObject({ token: record });
	});

	test("our own page and programs without an Origin come in", () => {
		expect(admit(request({ origin: "http://localhost:17492" }), policy)).toMatchObject({ token: record });
		expect(admit(request({}), policy)).toMatchObject({ token: record });
	});

	test("a WebSocket may carry its token as a subprotocol, and the server answers with one of those offered", () => {
		const offering = (protocols: string) =>
			admit(request({ authorization: undefined, "sec-websocket-protocol": protocols }, { upgrade: true }), policy);
		expect(offering("dialtone, dt_good")).toMatchObject({ protocol: "dialtone" });
		expect(offering("token.dt_good")).toMatchObject({ protocol: "token.dt_good" });
		expect(offering("dialtone")).toMatchObject({ refused: 401 });
	});
});

describe("R4.11: the cookie of the page", () => {
	const cookie = { authorization: undefined, cookie: "other=1; dialtone-17492=dt_person; dialtone-9=dt_bad" };
	const OURS = `http://${HOST}`;
	type Case = readonly [what: string, headers: IncomingHttpHeaders, over: Partial<AccessRequest>, status: number];
	const cases: readonly Case[] = [
		["a person opens the page", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }, { path: "/" }, 200],
		["the page loads its files", { "sec-fetch-site": "same-origin" }, { path: "/assets/x.js" }, 200],
		["the page posts", { origin: OURS, "sec-fetch-site": "same-origin" }, { method: "POST" }, 200],
		["the page opens a WebSocket", { origin: OURS }, { upgrade: true }, 200],
		[
			"a link elsewhere leads to the page",
			{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
			{ path: "/" },
			200,
		],
		["a link elsewhere leads into the API", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, {}, 403],
		["a page of another port reads", { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }, {}, 403],
		["a page of another port posts", { origin: "http://127.0.0.1:3000" }, { method: "POST" }, 403],
		["a page of another port opens a WebSocket", { origin: "http://127.0.0.1:3000" }, { upgrade: true }, 403],
		["a page of another site posts", { origin: "https://evil.example" }, { method: "POST" }, 403],
		["a post says nothing of its origin", {}, { method: "POST" }, 401],
		["a deletion says nothing of its origin", {}, { method: "DELETE" }, 401],
		["an upgrade says nothing of its origin", {}, { upgrade: true }, 401],
		["our page under its other name posts", { origin: "http://localhost:17492" }, { method: "POST" }, 401],
		["another server's cookie", { cookie: "dialtone-9=dt_person" }, {}, 401],
		["a cookie whose name only begins like ours", { cookie: "dialtone-174921=dt_person" }, {}, 401],
	];
	test.each(cases)("%s", (_, headers, over, expected) => {
		expect(status(admit(request({ ...cookie, ...headers }, over), policy))).toBe(expected);
	});

	test("a second cookie of that name does not hide the first", () => {
		const two = { authorization: undefined, cookie: "dialtone-17492=dt_bad; dialtone-17492=dt_person" };
		expect(admit(request(two), policy)).toMatchObject({ token: { role: "admin" } });
	});
});
