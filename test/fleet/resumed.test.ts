// A daemon whose saved credentials cannot be used any more: it says so, works for this machine, and joins when they can.

import { chmodSync, copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test as vitestTest } from "vitest";
import { addUser, removeUser } from "../../src/fleet/init.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing(...BROKER_NEEDS), run);
const AGENT = { name: "agent", role: "drive", owner: "agent:x", host: null } as const;

let brokers: Brokers;
beforeAll(async () => {
	if (missing(...BROKER_NEEDS).length === 0) brokers = await Brokers.start({ users: [AGENT] });
});
afterAll(() => brokers?.[Symbol.asyncDispose]());

const statusOf = async (home: Home) => (await home.cli("fleet", "status")).stdout;

/** A machine that joined with a copy of the file, and whose daemon was stopped. */
async function stopped(home: Home, user: string): Promise<string> {
	const file = join(home.path, `${user}.creds`);
	copyFileSync(brokers.credentials(user), file);
	chmodSync(file, 0o600);
	expect((await home.cli("join", "--creds", file)).stdout).toContain("Joined");
	expect((await home.cli("daemon", "stop")).code).toBe(0);
	return file;
}

test("a file that is gone, or that others can read, is named until it is put right", async () => {
	await using home = new Home();
	const file = await stopped(home, "admin");
	for (const [spoil, mend, words] of [
		[() => renameSync(file, `${file}.away`), () => renameSync(`${file}.away`, file), /ENOENT/],
		[() => chmodSync(file, 0o644), () => chmodSync(file, 0o600), /others|chmod/],
	] as const) {
		spoil();
		expect((await home.cli("run", "echo", "here")).stdout).toContain("here");
		const said = await until("it is told", async () => {
			const status = await statusOf(home);
			return status.includes(file) && status;
		});
		expect(said).toMatch(words);
		expect(said).toContain("dialtone join --creds");
		expect(said).not.toContain("in no fleet");
		expect((await home.cli("fleet", "hosts")).code).toBe(0);
		mend();
		await until("it joins by itself", async () => (await statusOf(home)).includes(", connected"));
		expect((await home.cli("daemon", "stop")).code).toBe(0);
	}
});

test("a user that was removed is told as refused, also while the daemon runs, and the next join is one", async () => {
	await using home = new Home();
	await stopped(home, "agent");
	expect((await home.cli("run", "echo", "here")).stdout).toContain("here");
	await until("it is connected", async () => (await statusOf(home)).includes(", connected"));
	removeUser(brokers.directory, "main", "agent");
	await brokers.reload();
	const isTold = async () => (await statusOf(home)).includes("refuse the credentials");
	await until("the running one tells it", isTold);
	expect((await home.cli("daemon", "restart")).code).toBe(0);
	await until("the next one tells it", isTold);
	expect((await home.cli("run", "echo", "still")).stdout).toContain("still");
	const renewed = addUser(brokers.directory, "main", AGENT);
	await brokers.reload();
	expect((await home.cli("join", "--creds", renewed)).stdout).toContain("Joined");
	expect(await statusOf(home)).toContain(", connected");
});

test("a user whose key was replaced in the same file is back by itself", async () => {
	await using home = new Home();
	addUser(brokers.directory, "main", { ...AGENT, name: "rotated" });
	await brokers.reload();
	const file = brokers.credentials("rotated");
	expect((await home.cli("join", "--creds", file)).stdout).toContain("Joined");
	removeUser(brokers.directory, "main", "rotated");
	await brokers.reload();
	await until("it is told", async () => (await statusOf(home)).includes("refuse the credentials"));
	expect(addUser(brokers.directory, "main", { ...AGENT, name: "rotated" })).toBe(file);
	await brokers.reload();
	await until("it is back", async () => (await statusOf(home)).includes(", connected"));
});

test("a fleet that is given up is none, whatever its files say", async () => {
	await using home = new Home();
	const file = await stopped(home, "admin");
	renameSync(file, `${file}.away`);
	await home.cli("run", "true");
	await until("it is told", async () => (await statusOf(home)).includes(file));
	expect((await home.cli("fleet", "leave")).stdout).toContain("Left");
	expect(await statusOf(home)).toContain("in no fleet");
});
