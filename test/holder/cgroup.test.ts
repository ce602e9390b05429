// Killing where the holder's cgroup is delegated: as a whole, by cgroup.kill.

import { execFileSync } from "node:child_process";
import {
	chownSync,
	existsSync,
	type FSWatcher,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmdirSync,
	watch,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { CGROUPS, needing } from "../programs.ts";
import { NOBODY, nobodysSession } from "./nobody.ts";
import { Client, cleanUp, gone, HOLDER, launch, lives, record, Tag, u32, u64 } from "./raw-holder.ts";

/** Hears neither TERM nor HUP, left by setsid in part, and starts new processes all the time. */
const BOMB = `trap '' TERM HUP
(setsid sh -c 'sleep 300; sleep 300' &)
n=0; while [ $n -lt 100 ]; do n=$((n+1)); (sleep 300; sleep 300) & done
echo up
while [ $n -lt 2000 ]; do n=$((n+1)); (sleep 0.01; sleep 300) & sleep 0.005; done; sleep 300`;

const made: { directory: string; watcher: FSWatcher }[] = [];
afterEach(async () => {
	for (const { directory } of made) writeFileSync(join(directory, "cgroup.kill"), "1"); // a bomb must not outlive a test that failed
	await cleanUp();
	for (const { directory, watcher } of made.splice(0)) {
		watcher.close();
		while (readFileSync(join(directory, "cgroup.events"), "utf8").includes("populated 1")) await setTimeout(5);
		rmdirSync(directory);
	}
});

/** A new cgroup, and the names of what is made and removed in it, each once per event. */
function newCgroup(delegate: (directory: string) => void = () => {}) {
	const directory = mkdtempSync(join(CGROUPS, "dt-test-"));
	delegate(directory); // a change of the directory itself would be told as well
	const changed: string[] = [];
	let received = () => {};
	const watcher = watch(directory, (event, name) => {
		if (event === "rename") changed.push(String(name));
		received();
	});
	made.push({ directory, watcher });
	/** What was made and removed so far: events come in order, so after one of our own. */
	const names = async () => {
		mkdirSync(join(directory, "last"));
		rmdirSync(join(directory, "last"));
		await new Promise<void>((resolve) => {
			received = () => changed.filter((name) => name === "last").length === 2 && resolve();
		});
		return changed.splice(0).filter((name) => name !== "last");
	};
	return {
		directory,
		names,
		/** The processes in it but the holder, which may be gone already. */
		others: (holder: number) =>
			readFileSync(join(directory, "cgroup.procs"), "utf8")
				.split("\n")
				.filter((pid) => pid !== "" && Number(pid) !== holder),
		enter: ["sh", "-c", `echo $$ > ${directory}/cgroup.procs && exec "$0" "$@"`],
	};
}

/** As systemd does it; where it does so for a user the mark is user.delegate. */
const markDelegated = (directory: string) =>
	execFileSync("python3", ["-c", `import os; os.setxattr("${directory}", "trusted.delegate", b"1")`]);

async function bomb(options: Omit<Parameters<typeof launch>[0], "argv">, argv: string[] = []) {
	const session = await launch({ argv: [...argv, "sh", "-c", BOMB], ...options });
	const client = await Client.open(session.socket);
	await client.until(() => client.text.includes("up"));
	return { ...session, client };
}

describe("H12 killing in a delegated cgroup", needing("cgroups"), () => {
	test("ends what the holder may not signal: a fork bomb of root's in a session of nobody's", async () => {
		const cgroup = newCgroup((directory) => {
			for (const file of [".", "cgroup.procs"]) chownSync(join(directory, file), NOBODY, NOBODY);
		});
		const { dir, holder, asNobody, asRoot } = nobodysSession();
		const session = await bomb({ dir, holder, through: [...cgroup.enter, ...asNobody] }, asRoot);
		expect(cgroup.others(session.holder).length).toBeGreaterThan(100);
		expect(await session.client.end(0)).toEqual({ done: 0 });
		expect(cgroup.others(session.holder)).toEqual([]);
		expect(await cgroup.names()).toEqual([`ended-${session.holder}`, `ended-${session.holder}`]);
		expect(await session.client.exited()).toMatchObject({ signal: 9, reason: "end", survivors: [] });
		await gone(session.holder);
	});

	test(
		"of root's, where it is marked as systemd marks it; not before the grace is over",
		needing("python3"),
		async () => {
			const cgroup = newCgroup(markDelegated);
			const session = await bomb({ through: cgroup.enter });
			const first = session.client.end(600_000);
			await session.client.facts();
			expect(await cgroup.names()).toEqual([]);
			const second = session.client.end(600_000);
			expect(await Promise.all([first, second])).toEqual([{ done: 0 }, { done: 0 }]);
			expect(cgroup.others(session.holder)).toEqual([]);
			expect(await cgroup.names()).toEqual([`ended-${session.holder}`, `ended-${session.holder}`]);
			await session.client.exited();
			await gone(session.holder);
		},
	);

	test("H9 leaves alone who has left the session, and what that starts", needing("python3"), async () => {
		const cgroup = newCgroup(markDelegated);
		const leaves = `setsid sh -c "${HOLDER} leave; sleep 300 & echo left; wait" & wait; sleep 300`;
		const session = await launch({ argv: ["sh", "-c", leaves], through: cgroup.enter });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("left"));
		expect(cgroup.others(session.holder)).toHaveLength(3);
		expect(await client.end(0)).toEqual({ done: 0 });
		expect(cgroup.others(session.holder)).toHaveLength(2);
		expect(await cgroup.names()).toEqual([`ended-${session.holder}`, `ended-${session.holder}`]);
		expect(lives(session.pid)).toBe(false);
	});

	test("makes nothing in a cgroup of root's that is not marked, and ends everything all the same", async () => {
		const cgroup = newCgroup();
		const session = await bomb({ through: cgroup.enter });
		expect(await session.client.end(0)).toEqual({ done: 0 });
		expect(cgroup.others(session.holder)).toEqual([]);
		expect(await cgroup.names()).toEqual([]);
		await gone(session.holder);
	});
});

// The controllers themselves are asked for in test/kernel, under a kernel that has them in version 2.
describe("R2.10 a session with limits in a delegated cgroup", needing("cgroups", "python3"), () => {
	test("has one for its programs and one for its holder, and leaves neither behind", async () => {
		const cgroup = newCgroup(markDelegated);
		const cpu = record(Tag.limit, Buffer.concat([u32(0, 0), u64(1000)]));
		const argv = ["bash", "-c", "(setsid sleep 300 &); sleep 300; exit 3"];
		const session = await launch({ argv, through: cgroup.enter, records: [cpu] });
		const members = (name: string) =>
			readFileSync(join(cgroup.directory, name, "cgroup.procs"), "utf8")
				.split("\n")
				.filter(Boolean)
				.map(Number);
		const [own, programs] = [`holder-${session.holder}`, `programs-${session.holder}`];
		await until(
			"all are where they belong",
			() => existsSync(join(cgroup.directory, programs)) && members(programs).length >= 3,
		);
		expect(members(own)).toEqual([session.holder]);
		expect(members(programs)).toContain(session.pid);
		expect(members(".")).toEqual([]);
		const client = await Client.open(session.socket);
		expect(await client.end(0)).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "end", survivors: [] });
		await gone(session.holder);
		expect(await cgroup.names()).toEqual([own, programs, programs, own]);
	});
});
