// H9: what is started from inside a session by Dialtone itself is not part of that session.

import { expect, test } from "vitest";
import { identityOf, isAlive } from "../../src/pty/process-stat.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { until } from "../condition.ts";
import { Home, MAIN } from "./home.ts";

const patient = { timeoutMs: 60_000 };
const COUNTER = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done";

test("H9 a session and its daemon that were started inside another session outlive it, with every byte", async () => {
	await using outer = new Home();
	await using inner = new Home();
	const client = await outer.connect();
	await client.call("start", { name: "outer", argv: ["bash", "--norc"], ...patient });
	const command = `DIALTONE_HOME=${inner.path} ${process.execPath} ${MAIN} start --name inner --timeout 100ms -- sh -c '${COUNTER}' > /dev/null; setsid sleep 300 & echo started`;
	await client.call("send", {
		session: "outer",
		text: command,
		submit: true,
		until: { text: "\nstarted" },
		...patient,
	});
	const before = await inner.connect();
	const daemon = (await before.status()).pid;
	const [session] = (await before.call("list", {})).facts.sessions;
	const holder = holderOf(session!.pid ?? 0);
	const [enclosing] = (await client.call("list", {})).facts.sessions;
	expect(holderOf(daemon), "the daemon is below the outer holder").toBe(holderOf(enclosing!.pid ?? 0));

	const { facts } = await client.call("close", { session: "outer" });
	expect(facts.survivors).toBeUndefined();
	for (const pid of [daemon, holder]) expect(facts.notices?.join()).toContain(`(${pid})`);
	for (const pid of [daemon, holder]) expect(isAlive({ pid, born: null })).toBe(true);
	const lines = await before.call("wait", { session: "inner", until: { text: "line 100" }, ...patient });
	expect(lines.facts.status).toBe("running");
	const read = await before.call("read", { session: "inner", view: "lines", from: 0, lines: 100 });
	expect(read.facts.text.split("\n").slice(0, 100)).toEqual(
		Array.from({ length: 100 }, (_, index) => `line ${index + 1}`),
	);
	// A session that the inner daemon starts later is its own, too.
	await before.call("start", { name: "later", argv: ["cat"], ...patient });
	await before[Symbol.asyncDispose]();
	await client[Symbol.asyncDispose]();
});

test("H9 a daemon that a call from inside a session started is not ended with that session", async () => {
	await using home = new Home();
	const first = await home.connect();
	await first.call("start", { name: "outer", argv: ["bash", "--norc"], ...patient });
	const [outer] = (await first.call("list", {})).facts.sessions;
	const holder = identityOf(holderOf(outer!.pid ?? 0));
	const { pid } = await first.status();
	const again = `DIALTONE_HOME=${home.path} ${process.execPath} ${MAIN} ls`;
	const text = `kill -9 ${pid}; while ! ${again} > /dev/null; do :; done`;
	await first.call("send", { session: "outer", text, submit: true, timeoutMs: 100 }).catch(() => {}); // it kills its own daemon
	await until("the daemon is gone", () => first.lost);
	await first[Symbol.asyncDispose]();
	const next = await until("the next one is there", () => home.find());
	const daemon = (await next.status()).pid;
	await until("the call has ended, and the daemon is the holder's child", () => holderOf(daemon) === holder.pid);
	await next.call("start", { name: "other", argv: ["cat"], ...patient });
	process.kill(holder.pid, "SIGTERM"); // ends the session and its tree
	await until("the session is over", () => !isAlive(holder));
	expect((await next.status()).pid).toBe(daemon);
	expect((await next.call("send", { session: "other", text: "on", submit: true, ...patient })).facts.text).toContain(
		"on",
	);
	await next[Symbol.asyncDispose]();
});
