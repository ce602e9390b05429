import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Tokens } from "./tokens.ts";

let dir: string;
beforeEach(() => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-tokens-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("a token opens the policy until it is revoked, also from another process", () => {
	const here = new Tokens(join(dir, "state", "tokens.json"));
	const there = new Tokens(here.file);
	const { id, token } = here.create({ name: "ci", readOnly: true });
	expect(there.verify(token)).toMatchObject({ id, name: "ci", readOnly: true });
	expect(here.revoke("ci")).toEqual([id]);
	expect(there.verify(token)).toBeNull();
	expect(here.revoke("ci")).toEqual([]);
});

test("the token itself is nowhere on the disk, and only its owner can read the file", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const { token } = tokens.create({ name: "x", readOnly: false });
	expect(readFileSync(tokens.file, "utf8")).not.toContain(token.slice(3));
	expect(statSync(tokens.file).mode & 0o777).toBe(0o600);
});

test("what is nearly a token is none", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const { token } = tokens.create({ name: "x", readOnly: false });
	for (const wrong of ["", "dt_", `${token}x`, token.slice(0, -1), token.toUpperCase()])
		expect(tokens.verify(wrong)).toBeNull();
});
