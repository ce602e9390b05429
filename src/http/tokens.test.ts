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
import { afterEach, beforeEach, describe, expect, test } from "vitest";
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

test("G10: two tokens of one name are two, and each can be revoked by its id", () => {
	const tokens = new Tokens(join(dir, "tokens.json"));
	const [first, second] = [false, true].map((readOnly) => tokens.create({ name: "ci", readOnly }));
	expect(tokens.revoke(first!.id)).toEqual([first!.id]);
	expect(tokens.verify(first!.token)).toBeNull();
	expect(tokens.verify(second!.token)).toMatchObject({ id: second!.id, readOnly: true });
	tokens.create({ name: "ci", readOnly: false });
	expect(tokens.revoke("ci")).toHaveLength(2);
});

describe("G10: a token file that is not as we write it is refused, and left as it is", () => {
	const line = { id: "12345678", name: "x", hash: "0".repeat(64), readOnly: false, createdAt: 1 };
	test.each([
		["cut off", '[{"id":'],
		["empty", ""],
		["no list", "{}"],
		["null", "null"],
		["a list of something else", '["dt_x"]'],
		["a hash that is none", JSON.stringify([{ ...line, hash: "abc" }])],
		["without the right to type", JSON.stringify([{ ...line, readOnly: undefined }])],
		["with an id twice", JSON.stringify([line, { ...line, hash: "1".repeat(64) }])],
	])("%s", (_, content) => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		writeFileSync(tokens.file, content, { mode: 0o600 });
		for (const use of [
			() => tokens.verify("dt_x"),
			() => tokens.list(),
			() => tokens.create({ name: "y", readOnly: false }),
			() => tokens.revoke("x"),
		])
			expect(use).toThrow(expect.objectContaining({ code: "tokens_invalid" }));
		expect(readFileSync(tokens.file, "utf8")).toBe(content);
	});

	test("open to others, or a link to another file", () => {
		const tokens = new Tokens(join(dir, "tokens.json"));
		const { token } = tokens.create({ name: "x", readOnly: false });
		chmodSync(tokens.file, 0o644);
		expect(() => tokens.verify(token)).toThrow("open to other users");
		chmodSync(tokens.file, 0o600);
		expect(tokens.verify(token)).not.toBeNull();
		renameSync(tokens.file, join(dir, "elsewhere"));
		symlinkSync(join(dir, "elsewhere"), tokens.file);
		expect(() => tokens.verify(token)).toThrow("symbolic link");
	});
});
