// The daemon's bundle is a shortcut: whatever is missing or damaged of it, the daemon starts.
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Home } from "./home.ts";

const root = join(import.meta.dirname, "../..");
let copy = "";

beforeAll(() => {
	copy = mkdtempSync(join(tmpdir(), "dt-dist-"));
	cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true });
	for (const name of ["node_modules", "build", "shell", "package.json"])
		symlinkSync(join(root, name), join(copy, name));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

async function answers(): Promise<string> {
	await using home = new Home();
	await using client = await home.connect({ command: [process.execPath, join(copy, "dist/daemon.cjs")] });
	const { text } = await client.call("start", { name: "long", argv: ["seq", "3000"], timeoutMs: 60_000 });
	// What a model reads is not plain ASCII.
	expect(text).toMatch(/^\[\d+… lines \d+–\d+ of 3000 left out/m);
	await client.call("start", { name: "sh", argv: ["bash", "--norc"], timeoutMs: 60_000 });
	const { facts } = await client.call("send", {
		session: "sh",
		text: "echo $((6*7))",
		submit: true,
		timeoutMs: 60_000,
	});
	return facts.text;
}

describe("R2.7 the daemon starts by itself", () => {
	test("from its bundle with compiled code", async () => {
		expect(await answers()).toContain("42");
	});

	test("from its bundle when the compiled code is of another version or damaged", async () => {
		writeFileSync(join(copy, "dist/daemon-bundle.code"), "not what V8 wrote");
		expect(await answers()).toContain("42");
	});

	test("from its modules when there is no bundle", async () => {
		rmSync(join(copy, "dist/daemon-bundle.cjs"));
		expect(await answers()).toContain("42");
	});
});
