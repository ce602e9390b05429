// The programs' share of the processor: small while the owner says so, and never longer.

import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { nobodysSession } from "./nobody.ts";
import { Client, cleanUp, type Launch, launch } from "./raw-holder.ts";

afterEach(cleanUp);

const niceOf = (pid: number) => Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))?.[1]);
const becomes = (pid: number, nice: number) => until(`the group of ${pid} is ${nice}`, () => niceOf(pid) === nice);
/** As its user would; who is not root may every 100 ms. */
const set = (pid: number, nice: number) =>
	until(`the group of ${pid} is set to ${nice}`, () => {
		try {
			writeFileSync(`/proc/${pid}/autogroup`, String(nice));
			return true;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
			return false;
		}
	});

/** A program, and one that it started in a session of its own. */
async function family(more: Partial<Launch> = {}) {
	const session = await launch({ argv: ["sh", "-c", "setsid sleep 300 & echo up $!; exec cat"], ...more });
	const client = await Client.open(session.socket, { epoch: 5 });
	await client.until(() => /up \d+\r\n/.test(client.text));
	const inner = Number(/up (\d+)/.exec(client.text)?.[1]);
	await until("it has a session of its own", () => groupOf(inner) !== groupOf(session.pid));
	return { ...session, client, inner };
}
const groupOf = (pid: number) => readFileSync(`/proc/${pid}/autogroup`, "utf8").split(" ")[0];

describe("SHARE", needing("autogroups"), () => {
	test("counts for every session below, not for the holder, and is taken back", async () => {
		const { client, pid, inner, holder } = await family();
		expect(client.welcome.shares).toBe(true);
		client.share(19);
		await becomes(pid, 19);
		await becomes(inner, 19);
		expect(niceOf(holder)).toBe(0);
		client.share(10);
		await becomes(pid, 10);
		client.share(0);
		await becomes(pid, 0);
		await becomes(inner, 0);
	});

	test("what a user has set comes back, what he sets meanwhile stays", async () => {
		const { client, pid, inner } = await family();
		await set(pid, 3);
		client.share(19);
		await becomes(pid, 19);
		await becomes(inner, 19);
		await set(inner, 7);
		client.share(0);
		await becomes(pid, 3);
		expect(niceOf(inner)).toBe(7);
		client.share(5);
		await becomes(pid, 5);
		expect(niceOf(inner)).toBe(7);
	});

	test.each<[string, (client: Client, socket: string) => unknown]>([
		["the owner's connection ends", (client) => client.close()],
		["a newer owner is there", (_client, socket) => Client.open(socket, { epoch: 6 })],
		["the same owner connects again", (_client, socket) => Client.open(socket, { epoch: 5 })],
	])("ends when %s", async (_name, act) => {
		const { client, pid, inner, socket } = await family();
		client.share(19);
		await becomes(inner, 19);
		await act(client, socket);
		await becomes(pid, 0);
		await becomes(inner, 0);
	});

	test("ends with END: a program that cleans up has its grace for that", async () => {
		const waits = ["bash", "-c", "trap 'cat /proc/self/autogroup; exit' TERM; echo up; while :; do sleep 0.01; done"];
		const session = await launch({ argv: waits });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		client.share(19);
		await becomes(session.pid, 19);
		await client.end(20_000);
		expect(client.text).toMatch(/nice 0/);
	});

	test("of one who is no owner it has no effect", async () => {
		const { client, pid, socket } = await family();
		const guest = await Client.open(socket, { owner: false });
		guest.share(19);
		await guest.facts(); // heard, and what came before it done
		await client.type("x\n");
		await client.until(() => client.text.includes("x\r\nx"));
		expect(niceOf(pid)).toBe(0);
	});

	test("a user without privileges gets it, too, as soon as the kernel lets him", needing("root"), async () => {
		const { dir, holder, asNobody } = nobodysSession();
		const { client, pid, inner } = await family({ dir, holder, through: asNobody });
		for (const nice of [19, 0, 19, 0]) {
			client.share(nice);
			await becomes(pid, nice);
			await becomes(inner, nice);
		}
	});
});

test("without groups, and without /proc, nothing else changes", needing("mounts"), async () => {
	for (const mount of ["mount -t tmpfs none /proc", "true"]) {
		const through = ["unshare", "-m", "sh", "-c", `${mount} && exec "$0" "$@"`];
		const session = await launch({ argv: ["cat"], through });
		const client = await Client.open(session.socket);
		client.share(19);
		expect(await client.type("hello\n")).toEqual({ done: 6 });
		await client.until(() => client.text.includes("hello\r\nhello"));
		client.share(0);
		expect(await client.end(1000)).toMatchObject({ done: 0 });
	}
});
