// R4.14: who did what when, as `dialtone audit` tells it, and what it never tells.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { AuditLine } from "../../src/journal/audit-chain.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";

const root = join(import.meta.dirname, "../..");

const linesOf = async (home: Home, ...flags: string[]): Promise<readonly AuditLine[]> =>
	(await home.cli("audit", "--json", ...flags)).stdout
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as AuditLine);

const verified = async (home: Home) => {
	const { stdout, code } = await home.cli("audit", "--verify", "--json");
	return { ...JSON.parse(stdout), code };
};

describe("the audit log of a daemon (R4.14)", () => {
	test("has who did what when, but not what was typed", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { facts } = await client.call("start", {
			name: "asks",
			command: "read -rsp 'Password: ' x; read -rp 'Name: ' y; cat",
		});
		const { session } = facts;
		await client.call("send", { session, text: "hunter2-very-secret", submit: true, until: { text: "Name: " } });
		await client.call("send", { session, text: "plain-words", submit: true, timeoutMs: 1000 });
		const { lease } = await client.act(session, { act: "take", who: "ana" });
		await client.act(session, { act: "keys", lease: lease!, base64: Buffer.from("typed-by-ana\r").toString("base64") });
		await client.act(session, { act: "hand-back", lease: lease!, note: "done\u001b[31m\nforged line" });
		await client.call("wait", { session, timeoutMs: 0 });
		await client.call("resize", { session, cols: 100, rows: 30 });
		await client.call("signal", { session, signal: "INT" });
		await client.call("close", { session });
		await home.cli("token", "create", "ci");
		await client.status();
		await home.cli("token", "revoke", "ci");
		await client.status();
		await until("the last is written", async () => (await linesOf(home)).at(-1)?.what === "revoked");
		const lines = await linesOf(home);
		expect(lines.filter((line) => line.owner === "test" && line.do !== "done").map((line) => line.do)).toEqual([
			...["start", "send", "send", "resize", "signal", "close"],
		]);
		const [start, secret, send] = lines.filter(({ owner, do: what }) => owner === "test" && what !== "done");
		expect(start).toMatchObject({ tool: "start", command: expect.stringContaining("read -rsp") });
		expect(secret).toMatchObject({ session, secret: true });
		expect(secret).not.toHaveProperty("chars");
		expect(secret).not.toHaveProperty("hmac");
		expect(send).toMatchObject({ session, chars: "plain-words".length, hmac: expect.stringMatching(/^[0-9a-f]{32}$/) });
		expect(lines.find((line) => line.do === "take")).toMatchObject({ owner: "person:ana", session });
		expect(lines.find((line) => line.do === "hand-back")?.note).toBe("done[31m↵forged line");
		expect(lines.filter((line) => line.do === "token").map(({ what, token }) => [what, token])).toEqual([
			["created", "ci"],
			["revoked", "ci"],
		]);
		const directory = join(home.path, "audit");
		const all = readdirSync(directory)
			.map((name) => readFileSync(join(directory, name), "utf8"))
			.join("\n");
		for (const typed of ["hunter2", "plain-words", "typed-by-ana"]) expect(all).not.toContain(typed);
		expect(await verified(home)).toMatchObject({ ok: true, code: 0 });
		expect((await linesOf(home, "--owner", "person:*")).map((line) => line.do)).toEqual(["take", "hand-back"]);
		expect((await linesOf(home, "--session", "asks")).length).toBeGreaterThan(5);
		expect(await linesOf(home, "--since", "2100-01-01")).toEqual([]);
		expect((await home.cli("audit", "--since", "never")).code).toBe(2);
		const shown = (await home.cli("audit")).stdout;
		expect(shown).toContain("hand-back");
		expect(shown).not.toContain("\u001b");
	}, 300_000);

	test("survives kill -9 in the middle, and the next daemon goes on with the chain", async () => {
		await using home = new Home();
		for (const round of [1, 2]) {
			await using client = await home.connect();
			const { pid } = await client.status();
			const calls = Array.from({ length: 40 }, (_, i) => client.call("signal", { session: `none-${round}-${i}` }));
			const ended = Promise.allSettled(calls);
			await until("some are written", async () => (await linesOf(home)).some(({ call }) => call !== undefined));
			process.kill(pid, "SIGKILL");
			await ended;
		}
		await using client = await home.connect();
		await client.call("signal", { session: "none" }).catch(() => {});
		await until("the third daemon has written", async () => (await linesOf(home)).at(-1)?.do === "refused");
		expect(await verified(home)).toMatchObject({ ok: true, code: 0 });
		const file = join(home.path, "audit/000001.jsonl");
		const lines = readFileSync(file, "utf8").split("\n");
		const changed = lines.findIndex((line) => line.includes('"owner":"test"'));
		writeFileSync(file, lines.join("\n").replace('"owner":"test"', '"owner":"else"'));
		const { ok, code, broken } = await verified(home);
		expect({ ok, code, file: broken.file }).toEqual({ ok: false, code: 1, file: "000001.jsonl" });
		expect((await home.cli("audit", "--verify")).stdout).toMatch(
			new RegExp(`^Broken at 000001.jsonl, line ${changed + 1}: this line was changed. Before that: .* in 1 file `),
		);
		writeFileSync(file, lines.slice(1).join("\n"));
		expect((await home.cli("audit", "--verify")).stdout).toMatch(
			/^Broken at 000001.jsonl, line 1: the line before it is missing. From there on: \d+ lines in 1 file are as they were written/,
		);
	});

	test("a full disk loses lines, which is told, and stops nothing", needing("mounts"), async () => {
		const tiny = mkdtempSync(join(tmpdir(), "dt-tiny-"));
		try {
			const run = `'${process.execPath}' --import tsx '${join(root, "test/fixtures/full-audit.ts")}' '${tiny}'`;
			const mounted = `mount -t tmpfs -o size=64k,mode=700 tmpfs ${tiny} && ${run}`;
			const { stdout } = await promisify(execFile)("unshare", ["-m", "sh", "-c", mounted], { cwd: root });
			const told = JSON.parse(stdout);
			expect(told.problem).toBe("200 lines could not be written (ENOSPC)");
			expect(told).toMatchObject({ after: null, lost: 200, torn: 0, broken: null });
			expect(told.owners).toEqual(["file", "before", "before", "before", "gap", "after", "after", "after"]);
		} finally {
			rmSync(tiny, { recursive: true, force: true });
		}
	});
});
