// What becomes of the sessions of a program that uses the library without a home of their own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { identityOf, isAlive } from "../../src/pty/process-stat.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { within } from "../../src/pty/wait.ts";
import { until } from "../condition.ts";
import { root } from "../pty/stage.ts";

test.each(["SIGKILL", "process.exit"])("they end when the program ends by %s", async (how) => {
	// What was killed leaves its files.
	const temporary = mkdtempSync(join(tmpdir(), "dt-host-"));
	onTestFinished(() => rmSync(temporary, { recursive: true, maxRetries: 10 }));
	const host = spawn(process.execPath, ["--import", "tsx", join(root, "test/fixtures/library-host.ts")], {
		cwd: root,
		env: { ...process.env, TMPDIR: temporary },
		stdio: ["pipe", "pipe", "inherit"],
	});
	onTestFinished(() => void host.kill("SIGKILL"));
	const [line] = await once(host.stdout, "data");
	const program = identityOf(Number(line));
	expect(isAlive(program)).toBe(true);
	const holder = identityOf(holderOf(program.pid));
	if (how === "SIGKILL") host.kill("SIGKILL");
	else host.stdin.end();
	await until("its session has ended", () => !isAlive(program) && !isAlive(holder));
});

test("a home in which something still runs is not removed, and that is said", async () => {
	const warnings: string[] = [];
	const note = ({ message }: Error) => void warnings.push(message);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const dialtone = await Dialtone.open({ options: { endGraceMs: 100 } });
	await dialtone.start({ name: "stuck", argv: ["sleep", "1000"], timeoutMs: 100 });
	const program = identityOf((await dialtone.list()).sessions[0]?.pid ?? 0);
	const holder = holderOf(program.pid);
	process.kill(holder, "SIGSTOP");
	await dialtone[Symbol.asyncDispose]();
	const said = /^dialtone: disposing: stuck could not be ended; the files stay in (.*)$/;
	const home = await until("it was said", () => warnings.map((each) => said.exec(each)?.[1]).find(Boolean));
	expect(warnings.filter((each) => each.includes("undefined"))).toEqual([]);
	expect(existsSync(join(home, "sessions"))).toBe(true);
	expect(isAlive(program)).toBe(true);
	process.kill(holder, "SIGCONT");
	await until("it ended without an owner", () => !isAlive(program) && !isAlive(identityOf(holder)));
	rmSync(home, { recursive: true });
});

test("loops over events and output end when the library is disposed, and say that they were cut off", async () => {
	const dialtone = await Dialtone.open({});
	const { signal } = new AbortController();
	const session = await dialtone.start({ argv: ["cat"] });
	const drained = async (stream: AsyncIterable<unknown>) => {
		for await (const _ of stream);
	};
	const loops = [dialtone.events(signal), session.output({ signal })].map((stream) => drained(stream));
	const ends = Promise.allSettled(loops);
	await dialtone[Symbol.asyncDispose]();
	const cutOff = { status: "rejected", reason: { code: "daemon_replaced" } };
	const [events, output] = await within(5000, "ending the loops", ends);
	expect(events).toMatchObject(cutOff);
	// Its session ended with the library, which the loop may have seen first.
	if (output?.status === "rejected") expect(output).toMatchObject(cutOff);
});
