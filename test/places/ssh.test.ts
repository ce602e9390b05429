// `in: ssh:…`: a program beyond a real sshd on loopback, as callers meet it.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { SSHD_NEEDS, type Sshd, startSshd } from "../servers/sshd.ts";

const patient = { timeoutMs: 60_000 } as const;

describe("a program over ssh", needing(...SSHD_NEEDS, "bwrap"), () => {
	let sshd: Sshd;
	let path: string | undefined;
	const opened: Dialtone[] = [];
	beforeAll(async () => {
		sshd = await startSshd();
		path = process.env.PATH;
		process.env.PATH = `${sshd.bin}:${path}`;
	});
	afterAll(async () => {
		process.env.PATH = path;
		await sshd[Symbol.asyncDispose]();
	});
	const open = async (home?: string) => {
		const dialtone = await Dialtone.open({ owner: "place", ...(home !== undefined && { home }) });
		opened.push(dialtone);
		return dialtone;
	};
	afterEach(async () => {
		for (const dialtone of opened.splice(0)) await dialtone[Symbol.asyncDispose]();
	});

	test("gets its arguments, directory and variables as they are, and nothing else of ours", async () => {
		process.env.OURS = "here";
		const dialtone = await open();
		const argv = ["sh", "-c", 'printf "%s|" "$PWD" "$A" "$OURS" "$@"; echo', "sh", "it's", "a\\ b", "$HOME !x"];
		const { facts } = await dialtone.start({ in: "ssh:far", argv, cwd: "/usr/lib", env: { A: "1 '2'" }, ...patient });
		delete process.env.OURS;
		expect(facts.text).toContain("/usr/lib|1 '2'||it's|a\\ b|$HOME !x|");
		expect(facts).toMatchObject({ status: "succeeded", in: "ssh:far", cwd: "/usr/lib" });
	});

	test("is a login shell without a command, is typed to, and is ended with the session", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ in: "ssh:far", ...patient });
		expect(shell.facts).toMatchObject({
			name: "ssh",
			activity: "waiting",
			waitingFor: "line",
			certainty: "likely",
			cwd: "~",
			notices: ["runs in ssh:far"],
		});
		// Escapes of ssh are off: what is typed is the program's.
		expect((await shell.send({ text: "echo $((6*7)) $$", submit: true, ...patient })).text).toMatch(/^42 \d+/m);
		expect((await shell.send({ text: "~.", submit: true, ...patient })).text).toContain("not found");
		const { sessions } = await dialtone.list({});
		expect(sessions[0]).toMatchObject({ command: "shell", in: "ssh:far", cwd: "~" });
		expect((await dialtone.client.call("list", {})).text).toContain("shell · in ssh:far");
		expect((await shell.close()).status).toBe("cancelled");
	});

	test("is started again where it ran, with its directory and variables, and with others that are given", async () => {
		const dialtone = await open();
		const command = 'echo "$PWD $A $B"';
		const first = await dialtone.start({ name: "p", in: "ssh:far", command, cwd: "/usr", env: { A: "1" }, ...patient });
		expect(first.facts.text).toContain("/usr 1");
		const again = await dialtone.start({ again: "p", env: { B: "2" }, ...patient });
		expect(again.facts).toMatchObject({ name: "p", in: "ssh:far", text: expect.stringContaining("/usr 1 2") });
		await expect(dialtone.start({ again: "p", in: "ssh:far" })).rejects.toMatchObject({ code: "bad_input" });
	});

	test("asks for its password on the terminal, for certain: that is ssh itself", async () => {
		const dialtone = await open();
		const asks = await dialtone.start({ in: "ssh:far-asks", command: "read -p 'name? ' n; echo hi $n", ...patient });
		expect(asks.facts).toMatchObject({ waitingFor: "secret", certainty: "certain" });
		const there = await asks.send({ text: sshd.password, submit: true, ...patient });
		expect(there).toMatchObject({ activity: "waiting", waitingFor: "line", certainty: "likely" });
		const end = await asks.send({ text: "ann", submit: true, ...patient });
		expect(end).toMatchObject({ status: "succeeded", text: expect.stringContaining("hi ann") });
	});

	test("says what ssh said where there is no such host or port, or no ssh", async () => {
		const dialtone = await open();
		const { facts } = await dialtone.start({ in: "ssh:127.0.0.1:1", command: "true", ...patient });
		expect(facts).toMatchObject({
			status: "failed",
			exit: { code: 255 },
			because: "exit code 255; ssh itself may have failed",
			text: expect.stringMatching(/connect to host 127.0.0.1 port 1: Connection refused/),
		});
		const bin = process.env.PATH;
		process.env.PATH = "/nonexistent";
		try {
			const none = await open();
			await expect(none.start({ in: "ssh:far", command: "true" })).rejects.toMatchObject({
				code: "spawn_failed",
				next: expect.stringContaining("Install ssh on this machine"),
			});
		} finally {
			process.env.PATH = bin;
		}
	});

	test("is refused, asked for and written down by what it runs and where", async () => {
		const home = mkdtempSync(join(tmpdir(), "dt-places-"));
		const rules = [
			{ command: "git push *", then: "deny", because: "reviewed" },
			{ command: "ssh far-asks *", then: "deny", because: "not there" },
			{ command: "touch *", then: "ask" },
		];
		writeFileSync(join(home, "policy.json"), JSON.stringify({ rules }), { mode: 0o600 });
		const dialtone = await open(home);
		const denied = (input: object) =>
			expect(dialtone.start({ timeoutMs: 2000, ...input })).rejects.toMatchObject({ code: "denied_by_policy" });
		await denied({ in: "ssh:far", command: "cd /; git push origin" });
		await denied({ in: "ssh:far", argv: ["env", "X=1", "git", "push"] });
		await denied({ in: "ssh:far-asks" });
		await expect(
			dialtone.start({ in: "ssh:far", command: "touch x", cwd: "/srv", timeoutMs: 500 }),
		).rejects.toMatchObject({ code: "approval_pending" });
		const shell = await dialtone.start({ name: "s", in: "ssh:far", ...patient });
		await expect(shell.send({ text: "git push", submit: true })).rejects.toMatchObject({ code: "denied_by_policy" });
		await shell.close();
		// Again: the same rules, by what the record says.
		await dialtone.start({ name: "t", in: "ssh:far", command: "true", ...patient });
		rules.push({ command: "true *", then: "deny", because: "now" });
		writeFileSync(join(home, "policy.json"), JSON.stringify({ rules }), { mode: 0o600 });
		await denied({ again: "t" });
		for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
		rmSync(home, { recursive: true });
	});

	test("a sandbox holds ssh itself: without a network nothing is reached, and nothing of ours is there", async () => {
		const dialtone = await open();
		const workspace = mkdtempSync(join(tmpdir(), "dt-places-ws-"));
		const made = join(tmpdir(), `dt-places-made-${process.pid}`);
		mkdirSync(join(workspace, "bin"));
		const sandbox = { workspace, ro: [join(sshd.bin, "..")] };
		const { facts } = await dialtone.start({ in: "ssh:far", command: `touch ${made}`, cwd: "/", sandbox, ...patient });
		expect(facts).toMatchObject({ status: "failed", exit: { code: 255 }, sandbox: "enforced", in: "ssh:far" });
		expect(facts.text).toMatch(/Connection refused|Network is unreachable/);
		expect(existsSync(made)).toBe(false);
		rmSync(workspace, { recursive: true });
	});
});
