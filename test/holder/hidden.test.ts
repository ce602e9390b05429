// What END says where /proc does not show who is there: everything is ended all the
// same, and "no survivors" is never said of what could not be seen.

import { execFileSync } from "node:child_process";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { nobodysSession } from "./nobody.ts";
import { Client, cleanUp, gone, launch, lives } from "./raw-holder.ts";

afterEach(cleanUp);

/** A main program with a child in its group, one in a session of its own and one that was orphaned. */
const FAMILY = "trap '' TERM HUP; (setsid sleep 301 &); sleep 302 & setsid sleep 303 & echo up $!; wait; wait";

/** Runs the holder in a mount namespace of its own, after this. */
const after = (mount: string) => ["unshare", "-m", "sh", "-c", `${mount} && exec "$0" "$@"`];
const inside = (pid: number, ...command: string[]) => execFileSync("nsenter", ["-m", "-t", String(pid), ...command]);

async function family(through: string[] = []) {
	const session = await launch({ argv: ["sh", "-c", FAMILY], through });
	const client = await Client.open(session.socket);
	await client.until(() => /up \d+\r\n/.test(client.text));
	const find = ["-c", `ps -e -o pid=,args= | grep -E ' sleep 30[123]$'; true`];
	const members = () => execFileSync("sh", find, { encoding: "utf8" });
	while (members().trim().split("\n").length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
	return { ...session, client, members };
}

describe("H3 END with a /proc that hides", needing("mounts", "ps"), () => {
	test("the holder's threads: the parent is looked for in all of /proc", async () => {
		const session = await family(after("true"));
		for (const pid of [session.holder, session.pid])
			inside(session.holder, "mount", "-t", "tmpfs", "none", `/proc/${pid}/task`);
		expect(await session.client.end(100)).toEqual({ done: 0 });
		expect(session.members()).toBe("");
		expect(lives(session.pid)).toBe(false);
	});

	test("the list of children only, which reads as empty", async () => {
		const session = await family(after("true"));
		const list = `/proc/${session.holder}/task/${session.holder}/children`;
		inside(session.holder, "mount", "--bind", "/dev/null", list);
		expect(await session.client.end(100)).toEqual({ done: 0 });
		expect(session.members()).toBe("");
		expect(lives(session.pid)).toBe(false);
	});

	test("everything: the session is ended, and what left it is not denied", async () => {
		const session = await family(after("mount -t tmpfs none /proc"));
		const { done } = await session.client.end(100);
		expect(lives(session.pid)).toBe(false);
		const left = session
			.members()
			.trim()
			.split("\n")
			.map((line) => line.trim());
		expect(left.map((line) => line.split(" ").slice(1).join(" ")).sort()).toEqual(["sleep 301", "sleep 303"]);
		expect(done).toBeGreaterThan(0);
		const told = session.client.events.find((event) => event.event === "survivors");
		expect(told.survivors).toEqual([{ pid: 0, command: "unknown" }]);
		for (const line of left) process.kill(Number.parseInt(line, 10), "SIGKILL");
		expect(await session.client.exited()).toMatchObject({ signal: 9, reason: "end" });
	});

	test("everything: of a program that ended altogether it is known, from wait(2)", async () => {
		const session = await launch({
			argv: ["sh", "-c", "sleep 300 & sleep 300"],
			through: after("mount -t tmpfs none /proc"),
		});
		const client = await Client.open(session.socket);
		expect(await client.end(2000)).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ signal: 15, reason: "end", survivors: [] });
	});

	test("other users' processes (hidepid): a set-uid program and what it started", needing("root"), async () => {
		const { dir, holder, asNobody, asRoot } = nobodysSession();
		const program = "trap '' HUP; sleep 304 & echo up; wait; wait";
		const session = await launch({
			argv: ["sh", "-c", `${asRoot.join(" ")} sh -c "${program}"; exit`],
			dir,
			through: [...after("mount -t proc -o hidepid=2 proc /proc"), ...asNobody],
			holder,
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		const { done } = await client.end(0);
		expect(lives(session.pid)).toBe(false);
		expect(done).toBeGreaterThan(0);
		const told = client.events.find((event) => event.event === "survivors");
		expect(told.survivors).toContainEqual({ pid: 0, command: "unknown" });
		const hidden = told.survivors.find((one: { pid: number }) => one.pid > 0);
		for (const pid of execFileSync("sh", ["-c", `ps -o pid= --ppid ${hidden.pid}`], { encoding: "utf8" }).split("\n"))
			if (Number(pid) > 0) process.kill(Number(pid), "SIGKILL");
		process.kill(hidden.pid, "SIGKILL");
		await gone(session.holder);
	});
});
