import { createHash } from "node:crypto";
import {
	chmodSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Tokens } from "./tokens.ts";

let dir: string;
beforeEach(() => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-tokens-"));
});
afterEach(() => {
	vi.useRealTimers();
	rmSync(dir, { recursive: true });
});

test("a token opens the policy until it is revoked, also from another process", () => {
	const here = new Tokens(join(dir, "state", "tokens.json"));
	const there = new Tokens(here.file);
	const { id, token } = here.create({ name: "ci", role: "view" });
	expect(there.verify(token)).toMatchObject({ id, name: "ci", role: "view" });
	expect(here.revoke("ci")).toEqual([id]);
	expect(there.verify(token)).toBeNull();
	expect(here.revoke("ci")).toEqual([]);
});

test("the token itself is nowhere on the disk, and only its owner can read the file", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const { token } = tokens.create({ name: "x", role: "drive" });
	expect(readFileSync(tokens.file, "utf8")).not.toContain(token.slice(3));
	expect(statSync(tokens.file).mode & 0o777).toBe(0o600);
});

test("what is nearly a token is none", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const { token } = tokens.create({ name: "x", role: "drive" });
	for (const wrong of ["", "dt_", `${token}x`, token.slice(0, -1), token.toUpperCase()])
		expect(tokens.verify(wrong)).toBeNull();
});

test("G10: two tokens of one name are two, and each can be revoked by its id", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const [first, second] = (["drive", "view"] as const).map((role) => tokens.create({ name: "ci", role }));
	expect(tokens.revoke(first!.id)).toEqual([first!.id]);
	expect(tokens.verify(first!.token)).toBeNull();
	expect(tokens.verify(second!.token)).toMatchObject({ id: second!.id, role: "view" });
	tokens.create({ name: "ci", role: "drive" });
	expect(tokens.revoke("ci")).toHaveLength(2);
});

test("the tokens of an older version keep what they may, and no more", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const old = (id: string, more: object) => ({
		...{ id: id.repeat(8), name: "x", createdAt: 1, readOnly: false },
		...more,
		hash: createHash("sha256").update(`dt_${id}`).digest("hex"),
	});
	const all = [
		old("1", {}),
		old("2", { readOnly: true }),
		old("3", { role: "person" }),
		old("4", { role: "viewer", readOnly: true, session: "0py0", expiresAt: 8e15 }),
		old("5", { role: "person", link: true }),
		old("6", { role: "viewer" }),
	];
	writeFileSync(tokens.file, JSON.stringify(all), { mode: 0o600 });
	expect(tokens.verify("dt_1")).toMatchObject({ role: "drive", scope: null, browser: false, expiresAt: null });
	expect(tokens.verify("dt_2")).toMatchObject({ role: "view", scope: null, browser: false });
	expect(tokens.verify("dt_3")).toMatchObject({ role: "admin", scope: null, browser: true });
	expect(tokens.verify("dt_4")).toMatchObject({ role: "view", scope: { session: "0py0" }, expiresAt: 8e15 });
	expect(tokens.verify("dt_5")).toBeNull();
	expect(tokens.linkOf("dt_5")).toMatchObject({ role: "admin" });
	expect(tokens.verify("dt_6")?.scope).toHaveProperty("session");
	// The next change writes them as they are now.
	const { token } = tokens.create({ name: "y", role: "approve", scope: { owner: "mcp:*" } });
	const again = new Tokens(tokens.file);
	expect(again.verify("dt_2")).toMatchObject({ role: "view" });
	expect(again.verify(token)).toMatchObject({ role: "approve", scope: { owner: "mcp:*" } });
	expect(readFileSync(tokens.file, "utf8")).not.toContain("readOnly");
});

describe("R4.11: login links", () => {
	const MINUTE_MS = 60_000;
	const at = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: ms });

	test("a link becomes a person's token once, also for another process", () => {
		const [here, there] = [new Tokens(join(dir, "tokens.json")), new Tokens(join(dir, "tokens.json"))];
		const { code } = here.createLink({ role: "admin" });
		expect(here.verify(code)).toBeNull();
		const { token, record } = there.redeem(code)!;
		expect(record).toMatchObject({ role: "admin", scope: null, link: false, browser: true });
		expect(here.verify(token)).toMatchObject({ role: "admin" });
		expect(here.redeem(code)).toBeNull();
		expect(new Tokens(here.file).redeem(code)).toBeNull();
		expect(readFileSync(here.file, "utf8")).not.toContain(code);
		expect(statSync(here.file).mode & 0o777).toBe(0o600);
	});

	test("a link is good for 10 minutes", () => {
		at(0);
		const tokens = new Tokens(join(dir, "tokens.json"));
		const [early, late] = [tokens.createLink({ role: "admin" }), tokens.createLink({ role: "admin" })];
		at(10 * MINUTE_MS - 1);
		expect(tokens.redeem(early.code)).not.toBeNull();
		at(10 * MINUTE_MS);
		expect(tokens.redeem(late.code)).toBeNull();
	});

	test("a shared session ends when it was to end, however late the link is opened", () => {
		at(0);
		const tokens = new Tokens(join(dir, "tokens.json"));
		const share = { role: "view", name: "share:py", session: "0py0", expiresAt: 60 * MINUTE_MS } as const;
		const { code } = tokens.createLink(share);
		at(59 * MINUTE_MS);
		const { token, record } = tokens.redeem(code)!;
		expect(record).toMatchObject({ role: "view", scope: { session: "0py0" }, expiresAt: 60 * MINUTE_MS });
		at(60 * MINUTE_MS);
		expect(tokens.verify(token)).toBeNull();
		expect(tokens.list()).toEqual([]);
	});

	test("what has expired leaves the file with the next change, or when it is pruned", () => {
		at(0);
		const tokens = new Tokens(join(dir, "tokens.json"));
		const kept = () => JSON.parse(readFileSync(tokens.file, "utf8")).length;
		tokens.create({ name: "short", role: "drive", expiresAt: 1000 });
		tokens.create({ name: "long", role: "drive" });
		at(1000);
		tokens.prune();
		expect(kept()).toBe(1);
		tokens.create({ name: "short", role: "drive", expiresAt: 2000 });
		at(2000);
		tokens.create({ name: "other", role: "drive" });
		expect(kept()).toBe(2);
	});

	test("of many browsers the newest stay logged in, and no agent's token goes for them", () => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		const agent = tokens.create({ name: "agent", role: "drive" });
		const logIn = () => tokens.redeem(tokens.createLink({ role: "admin" }).code)!.token;
		const browsers = Array.from({ length: 52 }, logIn);
		expect(browsers.map((token) => tokens.verify(token) !== null)).toEqual(browsers.map((_, at) => at >= 2));
		expect(tokens.verify(agent.token)).not.toBeNull();
	});

	test("a link that was not opened can be revoked", () => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		const { id, code } = tokens.createLink({ role: "admin" });
		expect(tokens.list()).toMatchObject([{ id, role: "admin", link: true }]);
		expect(tokens.revoke(id)).toEqual([id]);
		expect(tokens.redeem(code)).toBeNull();
	});
});

describe("G10: a token file that is not as we write it is refused, and left as it is", () => {
	const line = { id: "12345678", name: "x", hash: "0".repeat(64), role: "drive", createdAt: 1 };
	test.each([
		["cut off", '[{"id":'],
		["empty", ""],
		["no list", "{}"],
		["null", "null"],
		["a list of something else", '["dt_x"]'],
		["a hash that is none", JSON.stringify([{ ...line, hash: "abc" }])],
		["without a role", JSON.stringify([{ ...line, role: undefined }])],
		["with a role that is none", JSON.stringify([{ ...line, role: "root" }])],
		["with two scopes", JSON.stringify([{ ...line, scope: { owner: "x", session: "y" } }])],
		["with an id twice", JSON.stringify([line, { ...line, hash: "1".repeat(64) }])],
	])("%s", (_, content) => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		writeFileSync(tokens.file, content, { mode: 0o600 });
		for (const use of [
			() => tokens.verify("dt_x"),
			() => tokens.list(),
			() => tokens.create({ name: "y", role: "drive" }),
			() => tokens.revoke("x"),
		])
			expect(use).toThrow(expect.objectContaining({ code: "tokens_invalid" }));
		expect(readFileSync(tokens.file, "utf8")).toBe(content);
	});

	test("open to others, or a link to another file", () => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		const { token } = tokens.create({ name: "x", role: "drive" });
		chmodSync(tokens.file, 0o644);
		expect(() => tokens.verify(token)).toThrow("open to other users");
		chmodSync(tokens.file, 0o600);
		expect(tokens.verify(token)).not.toBeNull();
		renameSync(tokens.file, join(dir, "elsewhere"));
		symlinkSync(join(dir, "elsewhere"), tokens.file);
		expect(() => tokens.verify(token)).toThrow("symbolic link");
	});
});
