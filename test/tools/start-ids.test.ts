// A start with an id is done once for its owner, whatever has become of what it started; also one that a client repeats by
// itself, because the daemon was killed before it answered.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LastingClient } from "../../src/daemon/lasting-client.ts";
import { Dialtone } from "../../src/index.ts";
import { startedId } from "../../src/session/identity.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";

const as = (owner: string) => ({ caller: { owner, cwd: "/", env: {} } });

test("S5: a repeated start gets what it started, also when that has ended or the name is another's by now", async () => {
	const home = mkdtempSync(join(tmpdir(), "dt-ids-"));
	try {
		let first = "";
		{
			await using dialtone = await Dialtone.open({ home });
			const start = async (owner: string, id: string, more: object = {}) =>
				(await dialtone.client.call("start", { name: "job", command: "echo ran", id, ...more }, as(owner))).facts;
			const both = await Promise.all([start("one", "a"), start("one", "a")]);
			first = both[0].session;
			expect(both.map(({ session }) => session)).toEqual([first, first]);
			expect(both[0]).toMatchObject({ status: "succeeded", text: expect.stringContaining("ran") });
			const others = [await start("one", "b"), await start("two", "a")];
			expect(new Set([first, ...others.map(({ session }) => session)]).size).toBe(3);
			const used = await start("one", "c", { command: "cat", ifExists: "use" });
			expect((await start("one", "d", { ifExists: "use" })).session).toBe(used.session);
			expect((await start("one", "a", { ifExists: "replace" })).session).toBe(first);
			expect(await dialtone.client.call("read", { session: used.session }, as("one"))).toMatchObject({
				facts: { status: "running" },
			});
			await dialtone.client.call("close", { session: used.session, force: true }, as("one"));
			// A daemon that was killed before it had recorded anything has left this, and nothing has run.
			mkdirSync(join(home, "sessions", startedId("one", "cut")));
			const begun = await start("one", "cut");
			expect(begun).toMatchObject({ status: "succeeded", text: expect.stringContaining("ran") });
			expect((await start("one", "cut")).session).toBe(begun.session);
			const wrong = dialtone.client.call("start", { argv: ["/none"], id: "wrong" }, as("one"));
			await expect(wrong).rejects.toMatchObject({ code: "spawn_failed" });
			const right = await start("one", "wrong");
			expect((await start("one", "wrong")).session).toBe(right.session);
		}
		await using next = await Dialtone.open({ home });
		const again = await next.client.call("start", { name: "job", command: "echo ran", id: "a" }, as("one"));
		expect(again.facts).toMatchObject({ session: first, status: "succeeded" });
	} finally {
		rmSync(home, { recursive: true, force: true });
	}
});

test("S5: a start that uses what runs does not run a program twice where the daemon is killed before it answers", async () => {
	await using home = new Home();
	const [ran, end] = [join(home.path, "ran"), join(home.path, "end")];
	const daemons: number[] = [];
	const connect = async () => {
		const client = await home.connect();
		daemons.push(client.daemonPid);
		if (daemons.length === 1) return client;
		// The program has ended before the next daemon is asked.
		writeFileSync(end, "");
		await until("it has ended", async () => {
			const { facts } = await client.call("list", {});
			return facts.sessions.some(({ name, status }) => name === "job" && status === "succeeded");
		});
		return client;
	};
	await using client = new LastingClient({ connect, find: connect });
	const asked = client.call("start", {
		name: "job",
		command: `echo ran >> ${ran}; until [ -e ${end} ]; do sleep 0.1; done`,
		ifExists: "use",
		until: { text: "never there" },
		timeoutMs: 60_000,
	});
	// Its launch is over: before, the holder would end the program with the daemon.
	await using other = await home.connect();
	await until("it runs", async () => {
		const { facts } = await other.call("list", {});
		return facts.sessions.some(({ name, status }) => name === "job" && status === "running");
	});
	await until("it has written", () => existsSync(ran) && readFileSync(ran, "utf8") !== "");
	process.kill(daemons[0]!, "SIGKILL");
	expect((await asked).facts).toMatchObject({ name: "job", status: "succeeded" });
	expect(readFileSync(ran, "utf8")).toBe("ran\n");
	expect(daemons.length).toBeGreaterThan(1);
});
