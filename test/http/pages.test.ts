// The page and the plain pages around the login, as a browser gets them. The list and the actions are in people.test.ts.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Listening, listen } from "../../src/http/listen.ts";
import { Tokens } from "../../src/http/tokens.ts";
import { until } from "../condition.ts";
import { FakeClient } from "../fake-client.ts";

let dir: string;
let tokens: Tokens;
let http: Listening;

const open = () =>
	listen({
		client: new FakeClient(),
		version: "0.1.0",
		sets: ["native"],
		tokens,
		port: 0,
		web: join(dir, "web"),
		caller: ({ name }) => ({ owner: `http:${name}`, cwd: "/", env: {} }),
	});

beforeEach(async () => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-pages-"));
	tokens = new Tokens(join(dir, "tokens.json"));
	http = await open();
});
afterEach(async () => {
	await http.close();
	rmSync(dir, { recursive: true });
});

function build(): void {
	mkdirSync(join(dir, "web/assets"), { recursive: true });
	writeFileSync(join(dir, "web/index.html"), "<!doctype html><title>Dialtone</title>");
	writeFileSync(join(dir, "web/assets/index-Bx3fk2a9.js"), "export {};");
	writeFileSync(join(dir, "web/assets/icon.svg"), "<svg/>");
	writeFileSync(join(dir, "outside.js"), "secret");
}

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${http.url}${path}`, { headers });
const login = (code: string, headers: Record<string, string> = {}) => get(`/login?code=${code}`, headers);
/** As a browser keeps it. */
const cookieIn = (answer: Response) => answer.headers.get("set-cookie")!.split(";")[0]!;
async function personCookie(): Promise<string> {
	return cookieIn(await login(tokens.createLink({ role: "admin" }).code));
}

/** Of a request that fetch would not send as it is. */
function rawStatus(path: string, headers: Record<string, string>): Promise<number | undefined> {
	const { port, host } = new URL(http.url);
	return new Promise((resolve, reject) => {
		request({ port, host: "127.0.0.1", path, headers: { host, ...headers } }, (answer) => {
			answer.resume();
			resolve(answer.statusCode);
		})
			.on("error", reject)
			.end();
	});
}

describe("R4.11: logging in", () => {
	test("a link gives a cookie that no script reads and no other site sends, and leads to the page", async () => {
		const answer = await login(tokens.createLink({ role: "admin" }).code);
		expect(answer.status).toBe(200);
		const { port } = new URL(http.url);
		const cookie = answer.headers.get("set-cookie")!;
		expect(cookie).toMatch(new RegExp(`^dialtone-${port}=dt_[\\w-]{43}; `));
		expect(cookie.split("; ").slice(1)).toEqual([
			"HttpOnly",
			"SameSite=Strict",
			"Path=/",
			expect.stringMatching(/^Max-Age=\d+$/),
		]);
		expect(await answer.text()).toContain('<meta http-equiv="refresh" content="0;url=/">');
		expect(answer.headers.get("cache-control")).toBe("no-store");
		expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
		const me = await (await get("/v1/me", { cookie: cookieIn(answer) })).json();
		expect(me).toMatchObject({ role: "admin", session: null, version: "0.1.0", url: http.url });
	});

	test("a link works once, also after the server was started again", async () => {
		const { code } = tokens.createLink({ role: "admin" });
		expect((await login(code)).status).toBe(200);
		const again = await login(code);
		expect([again.status, again.headers.get("set-cookie")]).toEqual([401, null]);
		expect(await again.text()).toContain("dialtone web");
		await http.close();
		http = await open();
		expect((await login(code)).status).toBe(401);
	});

	test("of many who open a link at the same time, one gets in", async () => {
		const { code } = tokens.createLink({ role: "admin" });
		const answers = await Promise.all(Array.from({ length: 8 }, () => login(code)));
		expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)]);
	});

	test("asking for its headers, or loading it ahead, does not use a link up", async () => {
		const { code } = tokens.createLink({ role: "admin" });
		expect((await fetch(`${http.url}/login?code=${code}`, { method: "HEAD" })).status).toBe(401);
		expect((await login(code, { "sec-purpose": "prefetch;prerender" })).status).toBe(401);
		expect((await login(code)).status).toBe(200);
	});

	test("a person who opens another link stays logged in as they are", async () => {
		const cookie = await personCookie();
		const before = tokens.list().length;
		const second = tokens.createLink({ role: "admin" }).code;
		const answer = await login(second, { cookie });
		expect([answer.status, answer.headers.get("set-cookie")]).toEqual([200, null]);
		expect(tokens.list()).toHaveLength(before);
		expect((await login(second)).status).toBe(401);
		const shared = { role: "view", name: "share:py", session: "0py0", expiresAt: Date.now() + 60_000 } as const;
		const { code } = tokens.createLink(shared);
		expect((await login(code, { cookie })).headers.get("set-cookie")).toBeNull();
		expect((await login(code)).headers.get("set-cookie")).toContain("dt_");
	});

	test("a link may say where on the page it leads, and nothing else", async () => {
		const to = async (fragment: string) => {
			const { code } = tokens.createLink({ role: "admin" });
			return /url=([^"]*)"/.exec(await (await login(`${code}&to=${encodeURIComponent(fragment)}`)).text())?.[1];
		};
		for (const good of ["py@12:30", "beta/py@12:30"]) expect(await to(good)).toBe(`/#${good}`);
		for (const bad of ['"><script>', "//evil.example", "a b", ""]) expect(await to(bad)).toBe("/");
	});

	test("nothing is a code but a code", async () => {
		const { token } = tokens.create({ name: "agent", role: "drive" });
		for (const wrong of ["", "x", token, "0".repeat(32)]) expect((await login(wrong)).status).toBe(401);
		expect((await get("/login")).status).toBe(401);
	});

	test("the agent's token cannot make a link", async () => {
		const { token } = tokens.create({ name: "agent", role: "drive" });
		const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
		const answer = await fetch(`${http.url}/login`, { method: "POST", headers, body: "{}" });
		expect(answer.status).toBe(404);
		expect(tokens.list()).toHaveLength(1);
	});
});

describe("R4.11: the cookie at other hands", () => {
	test("a request that another page made is refused, whatever it asks for", async () => {
		const cookie = await personCookie();
		const { port, host } = new URL(http.url);
		const post = (origin: Record<string, string>) =>
			fetch(`${http.url}/v1/tools/read`, {
				method: "POST",
				headers: { cookie, "content-type": "application/json", ...origin },
				body: JSON.stringify({ session: "py" }),
			});
		expect((await post({ origin: http.url })).status).toBe(200);
		expect((await post({})).status).toBe(401);
		for (const origin of ["https://evil.example", `http://127.0.0.1:${Number(port) + 1}`, "null"])
			expect((await post({ origin })).status).toBe(403);
		expect((await get("/v1/me", { cookie, "sec-fetch-site": "same-site" })).status).toBe(403);
		expect(await rawStatus("/v1/me", { cookie, host: `evil.example:${port}` })).toBe(403);
		expect(await rawStatus("/v1/me", { cookie, host })).toBe(200);
	});

	test("an upgrade needs the Origin of our own page", async () => {
		const cookie = await personCookie();
		const upgrade = (headers: Record<string, string>) => {
			const socket = new WebSocket(`${http.url}/v1/events`, "dialtone", { headers: { cookie, ...headers } });
			socket.on("error", () => {}); // the refusal is told once, below
			return new Promise<number | undefined>((resolve) => {
				socket.once("unexpected-response", (_, answer) => {
					socket.terminate();
					resolve(answer.statusCode);
				});
				socket.once("open", () => {
					socket.terminate();
					resolve(101);
				});
			});
		};
		expect(await upgrade({ origin: http.url })).toBe(101);
		expect(await upgrade({})).toBe(401);
		expect(await upgrade({ origin: "https://evil.example" })).toBe(403);
		expect(await upgrade({ origin: "http://127.0.0.1:1" })).toBe(403);
	});
});

describe("R4.11: what has an end", () => {
	test("a token that expires ends what is open with it, and is refused from then on", async () => {
		const { token, id } = tokens.create({ name: "short", role: "view", expiresAt: Date.now() + 700 });
		const headers = { authorization: `Bearer ${token}` };
		const stream = await get("/v1/events", headers);
		expect(stream.status).toBe(200);
		expect(await stream.text()).toContain("expired");
		expect((await get("/v1/sessions", headers)).status).toBe(401);
		await until("it has left the file", () => !tokens.list().some((one) => one.id === id));
	});
});

describe("the page", () => {
	test("says what to run where it was not built, and is served without a restart once it is", async () => {
		const cookie = await personCookie();
		const missing = await get("/", { cookie });
		expect(missing.status).toBe(404);
		expect(await missing.text()).toContain("not built");
		build();
		await until("the page is there", async () => (await get("/", { cookie })).status === 200);
	});

	test("without a cookie says how to log in; a link from elsewhere is tried again from our own page", async () => {
		build();
		const stranger = await get("/");
		expect(stranger.status).toBe(401);
		expect(stranger.headers.get("content-type")).toContain("text/html");
		const text = await stranger.text();
		expect(text).toContain("dialtone web");
		expect(text).not.toContain("<script");
		expect(text).toContain('<link rel="icon"'); // or a browser asks for /favicon.ico
		// Not by fetch, which has a mode of its own.
		const again = await new Promise<string>((read) => {
			const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
			request(`${http.url}/`, { headers }, (answer) => {
				let page = "";
				answer.on("data", (piece: Buffer) => {
					page += piece.toString();
				});
				answer.on("end", () => read(page));
			}).end();
		});
		const [, script] = /<script src="([^"]+)">/.exec(again)!;
		expect(await (await get(script!)).text()).toContain("location.reload()");
		expect((await get("/assets/index-Bx3fk2a9.js")).status).toBe(401);
	});

	test("comes with a policy that lets in no script of another's, and no frame", async () => {
		build();
		const answer = await get("/", { cookie: await personCookie() });
		expect(await answer.text()).toContain("<title>Dialtone</title>");
		const policy = answer.headers.get("content-security-policy")!;
		for (const rule of [
			"default-src 'none'",
			"script-src 'self'",
			"frame-ancestors 'none'",
			"base-uri 'none'",
			"form-action 'none'",
		])
			expect(policy.split("; ")).toContain(rule);
		expect(Object.fromEntries(answer.headers)).toMatchObject({
			"content-type": "text/html; charset=utf-8",
			"cache-control": "no-store",
			"x-content-type-options": "nosniff",
			"referrer-policy": "no-referrer",
			"cross-origin-opener-policy": "same-origin",
		});
	});

	test("files that are named by their content are kept by the browser, others are not", async () => {
		build();
		const cookie = await personCookie();
		const script = await get("/assets/index-Bx3fk2a9.js", { cookie });
		expect(script.headers.get("content-type")).toContain("text/javascript");
		expect(script.headers.get("cache-control")).toContain("immutable");
		const icon = await get("/assets/icon.svg", { cookie });
		expect([icon.headers.get("content-type"), icon.headers.get("cache-control")]).toEqual([
			"image/svg+xml",
			"no-store",
		]);
	});

	test("no address leads out of its directory", async () => {
		build();
		const cookie = await personCookie();
		for (const path of [
			"/assets/../../outside.js",
			"/assets/..%2f..%2foutside.js",
			"/assets/%2e%2e/%2e%2e/outside.js",
			"/assets/....//outside.js",
			"/assets//etc/passwd",
			"/assets/",
			"/assets/\\..\\outside.js",
			"/index.html",
			"/assets/index-Bx3fk2a9.js%00",
		])
			expect([path, [404, 400].includes((await rawStatus(path, { cookie })) ?? 0)]).toEqual([path, true]);
	});
});
