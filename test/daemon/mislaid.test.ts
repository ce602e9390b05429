// S1: whatever is missing, damaged or planted among a session's files, it is neither mislaid nor doubled: it is listed,
// its name is taken, and it can be ended.

import { spawn } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { SessionRecord } from "../../src/journal/records.ts";
import { type Places, places } from "../../src/pty/places.ts";
import type { ProcessIdentity } from "../../src/pty/process-stat.ts";
import { gone, isAlive } from "../alive.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";

const patient = { timeoutMs: 60_000 };
const HOURS_AGO = new Date(Date.now() - 2 * 3_600_000);
const EXIT = {
	...{ code: 0, signal: null, core: false, size: 0, startedAt: 1, endedAt: 2, closed: true, reason: "exit" },
	...{ rusage: { userMs: 0, systemMs: 2, maxRssKb: 3120 }, survivors: [], lost: 0 },
};

async function kill(client: SocketClient): Promise<void> {
	const { pid } = await client.status();
	process.kill(pid, "SIGKILL");
	await gone(pid);
	await client[Symbol.asyncDispose]();
}

const metaOf = ({ sessions }: Places, id: string) => join(sessions, id, "meta.json");
const recordOf = (where: Places, id: string) => JSON.parse(readFileSync(metaOf(where, id), "utf8")) as SessionRecord;
const listed = async (client: SocketClient) => (await client.call("list", {})).facts.sessions;
const started = async (client: SocketClient, name: string) =>
	(await client.call("start", { name, argv: ["cat"], ...patient })).facts.session;
const codeOf = (call: Promise<unknown>) => call.then(() => "done").catch(({ code }) => code as string);

/** On record and in its copy: then nothing is being written. */
const recordedHolder = (where: Places, id: string) =>
	until("its holder is on record", () => {
		const copy = join(where.sessions, id, "meta.copy.json");
		const isWritten = existsSync(copy) && readFileSync(copy).equals(readFileSync(metaOf(where, id)));
		return isWritten && recordOf(where, id).holder;
	});

/** A running `cat`, and its daemon killed: then `damage`, then the next daemon. */
async function afterDamage(
	home: Home,
	damage: (directory: string, where: Places, id: string) => void,
): Promise<{ client: SocketClient; id: string; holder: ProcessIdentity }> {
	const first = await home.connect();
	const id = await started(first, "live");
	const where = places(home.env);
	const holder = await recordedHolder(where, id);
	await kill(first);
	damage(join(where.sessions, id), where, id);
	return { client: await home.connect(), id, holder };
}

describe("a running session that cannot be reached is listed with the reason, keeps its name and can be ended", () => {
	test.each([
		["its secret is missing", (directory: string) => rmSync(join(directory, "secret"))],
		["its secret is short", (directory: string) => truncateSync(join(directory, "secret"), 3)],
	])("%s", async (_, damage) => {
		await using home = new Home();
		const { client, holder } = await afterDamage(home, damage);
		await expect(client.call("read", { session: "live" })).rejects.toMatchObject({ code: "session_unreachable" });
		expect((await listed(client))[0]).toMatchObject({
			name: "live",
			status: "running",
			activity: "unresponsive",
			because: expect.stringContaining("`secret` is missing or damaged"),
		});
		expect(await codeOf(started(client, "live"))).toBe("name_taken");
		const { facts } = await client.call("close", { session: "live", force: true });
		expect(facts).toMatchObject({ status: "cancelled", name: "live" });
		await gone(holder.pid);
		await started(client, "live");
		await client[Symbol.asyncDispose]();
	});

	test("stopping the daemon with its sessions ends it", async () => {
		await using home = new Home();
		const { client, holder } = await afterDamage(home, (directory) => rmSync(join(directory, "secret")));
		expect(await client.stop({ sessions: true })).toMatchObject({ left: [] });
		await gone(holder.pid);
		await client[Symbol.asyncDispose]();
	});

	test("its directory was deleted", async () => {
		await using home = new Home();
		const { client, id, holder } = await afterDamage(home, (directory) => rmSync(directory, { recursive: true }));
		expect(await listed(client)).toEqual([
			expect.objectContaining({
				session: id,
				status: "running",
				activity: "unresponsive",
				because: expect.stringContaining("its directory was deleted while it ran"),
			}),
		]);
		const { facts } = await client.call("close", { session: id, force: true });
		expect(facts).toMatchObject({ session: id, status: "cancelled", text: "" });
		await gone(holder.pid);
		expect(await listed(client)).toEqual([]);
		await client[Symbol.asyncDispose]();
	});

	test("its directory was deleted, and the daemon is stopped with its sessions", async () => {
		await using home = new Home();
		const { client, holder } = await afterDamage(home, (directory) => rmSync(directory, { recursive: true }));
		expect(await client.stop({ sessions: true })).toMatchObject({ left: [] });
		await gone(holder.pid);
		await client[Symbol.asyncDispose]();
	});
});

describe("a running session goes on", () => {
	test.each([
		["with a planted exit", (directory: string) => writeFileSync(join(directory, "exit"), JSON.stringify(EXIT))],
		["with a damaged record", (directory: string) => writeFileSync(join(directory, "meta.json"), '{"format":1')],
		["without its record", (directory: string) => rmSync(join(directory, "meta.json"))],
		[
			"with a damaged record and a planted exit",
			(directory: string) => {
				writeFileSync(join(directory, "meta.json"), "");
				writeFileSync(join(directory, "exit"), JSON.stringify(EXIT));
			},
		],
		[
			"with a record that says it has ended",
			(directory: string) => {
				const path = join(directory, "meta.json");
				const ended = { state: "succeeded", exit: { code: 0, signal: null }, terminalOpen: false };
				writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...ended }));
			},
		],
	])("%s: it is listed, found by its owner, and ended with the others", async (how, damage) => {
		await using home = new Home();
		const { client, id, holder } = await afterDamage(home, damage);
		const isTold = how !== "with a record that says it has ended"; // a final status stays
		expect((await listed(client))[0]).toMatchObject({ session: id, name: "live", owner: "test" });
		if (isTold) {
			const { facts } = await client.call("send", { session: "live", text: "still here", submit: true, ...patient });
			expect(facts).toMatchObject({ session: id, status: "running", text: expect.stringContaining("still here") });
			expect(await codeOf(started(client, "live"))).toBe("name_taken");
		}
		expect(isAlive(holder.pid)).toBe(true);
		expect(await codeOf(client.call("close", { session: id, forget: true }))).toBe("done");
		await gone(holder.pid);
		expect(await client.stop({ sessions: true })).toMatchObject({ left: [] });
		await client[Symbol.asyncDispose]();
	});
});

describe("a record that cannot be read now", () => {
	const withFormat = (where: Places, id: string, format: number) =>
		writeFileSync(metaOf(where, id), JSON.stringify({ ...recordOf(where, id), format }));

	test("of a running session is neither ended nor forgotten: listed with the reason, and found when it can be read", async () => {
		await using home = new Home({ DIALTONE_REMEMBER_ENDED: "2", DIALTONE_EVICT_MS: "50" });
		const where = places(home.env);
		const { client, id, holder } = await afterDamage(home, (directory) => {
			withFormat(where, directory.slice(-26), 2);
			utimesSync(directory, HOURS_AGO, HOURS_AGO);
		});
		expect((await listed(client))[0]).toMatchObject({
			session: id,
			name: "live",
			owner: "test",
			activity: "unresponsive",
			because: expect.stringContaining("its format 2 is newer than 1"),
		});
		expect(await codeOf(client.call("read", { session: "live" }))).toBe("session_unreachable");
		expect(await codeOf(started(client, "live"))).toBe("session_unreachable");
		for (let i = 0; i < 4; i++) await client.call("start", { argv: ["true"], ...patient });
		expect((await listed(client)).map(({ session }) => session)).toContain(id);
		withFormat(where, id, 1);
		const { facts } = await client.call("send", { session: "live", text: "still here", submit: true, ...patient });
		expect(facts).toMatchObject({ session: id, status: "running" });
		await kill(client);
		withFormat(where, id, 2);
		await using next = await home.connect();
		expect(await next.stop({ sessions: true })).toMatchObject({ left: [] });
		await gone(holder.pid);
	});

	/** Also in its copy, from which it would be recovered. */
	const withFormats = (where: Places, id: string, format: number) => {
		withFormat(where, id, format);
		writeFileSync(join(where.sessions, id, "meta.copy.json"), readFileSync(metaOf(where, id)));
	};

	test("of another owner's session of the same name is not what `close` ends", async () => {
		await using home = new Home();
		const as = (owner: string) =>
			home.connect({ caller: { owner, cwd: home.path, env: home.env as Record<string, string> } });
		const where = places(home.env);
		const holders = [];
		for (const owner of ["bob", "alice"]) {
			const client = await as(owner);
			const id = await started(client, "build");
			holders.push({ id, holder: await recordedHolder(where, id) });
			await client[Symbol.asyncDispose]();
		}
		await kill(await home.connect());
		const [bobs, alices] = holders as [(typeof holders)[0], (typeof holders)[0]];
		withFormats(where, bobs.id, 2);
		await using alice = await as("alice");
		const { facts } = await alice.call("close", { session: "build" });
		expect(facts).toMatchObject({ session: alices.id, status: "cancelled" });
		await gone(alices.holder.pid);
		expect(isAlive(bobs.holder.pid)).toBe(true);
		// Her own that ended, not his that runs.
		expect((await alice.call("close", { session: "build" })).facts.session).toBe(alices.id);
		await using bob = await as("bob");
		const ended = (await bob.call("close", { session: "build", force: true })).facts;
		expect(ended).toMatchObject({ session: bobs.id, status: "cancelled", text: "" });
		await gone(bobs.holder.pid);
	});

	test("of a session whose holder died is told as lost, has no name to keep, and is removed when that is asked for", async () => {
		await using home = new Home();
		const where = places(home.env);
		const { client, id } = await afterDamage(home, (directory) => {
			const { holder } = recordOf(where, directory.slice(-26));
			process.kill(holder!.pid, "SIGKILL");
			withFormats(where, directory.slice(-26), 2);
		});
		const told = async () => (await listed(client)).find(({ session }) => session === id);
		await until("it is lost", async () => (await told())?.status === "stream_lost");
		expect(await told()).toMatchObject({ activity: null, because: expect.stringContaining("its holder is gone") });
		const next = await started(client, "live");
		expect((await client.call("close", { session: "live", forget: true })).facts.session).toBe(next);
		expect(existsSync(metaOf(where, id))).toBe(true);
		await client.call("close", { session: id, forget: true });
		expect(existsSync(metaOf(where, id))).toBe(false);
		expect(await told()).toBeUndefined();
		await client[Symbol.asyncDispose]();
	});

	test("of an ended session is not forgotten", async () => {
		await using home = new Home({ DIALTONE_REMEMBER_ENDED: "1", DIALTONE_EVICT_MS: "0" });
		await using client = await home.connect();
		const where = places(home.env);
		const { session } = (await client.call("start", { name: "old", command: "echo one", ...patient })).facts;
		for (let i = 0; i < 3; i++) await client.call("start", { argv: ["true"], ...patient });
		withFormat(where, session, 2);
		await until("it is read from disk", async () => {
			const code = await codeOf(client.call("read", { session: "old" }));
			return code === "session_unreachable";
		});
		withFormat(where, session, 1);
		expect((await client.call("read", { session: "old", view: "lines" })).facts.text).toBe("one");
	});

	test("for want of descriptors: every session is listed, and all go on under the next daemon", async () => {
		await using home = new Home();
		const first = await home.connect();
		const names = Array.from({ length: 24 }, (_, i) => `n${i}`);
		for (const name of names) await started(first, name);
		await kill(first);
		const { sessions } = places(home.env);
		for (const id of readdirSync(sessions)) utimesSync(join(sessions, id), HOURS_AGO, HOURS_AGO);
		const daemon = join(import.meta.dirname, "../../dist/daemon.cjs");
		const limited = spawn("sh", ["-c", `ulimit -n 36; exec "${process.execPath}" "${daemon}"`], { env: home.env });
		// While it adopts the sessions it may have none left for a client.
		const short = await until("it listens", () => home.find().catch(() => null));
		expect((await listed(short)).map(({ name }) => name).sort()).toEqual([...names].sort());
		expect((await listed(short)).filter(({ status }) => status !== "running")).toEqual([]);
		await kill(short);
		limited.kill("SIGKILL");
		await using next = await home.connect();
		for (const name of names) {
			const { facts } = await next.call("send", { session: name, text: "on", submit: true, ...patient });
			expect(facts.status).toBe("running");
		}
	});
});

describe("a shell", () => {
	const run = (client: SocketClient, command: string) =>
		client.call("run", { command, shell: "main", program: "bash", clean: true, ...patient });

	test.each([
		["empty", (file: string) => truncateSync(file, 0)],
		["not its own", (file: string) => writeFileSync(file, '{"kind":"bash"}')],
		["missing", (file: string) => rmSync(file)],
	])("whose shell.json is %s goes on as a program; `run` has a new one and says why", async (_, damage) => {
		await using home = new Home();
		let client = await home.connect();
		await run(client, "true");
		const [{ session } = { session: "" }] = await listed(client);
		await kill(client);
		damage(join(places(home.env).sessions, session, "shell.json"));
		client = await home.connect();
		const { facts } = await run(client, "echo on");
		expect(facts).toMatchObject({ exitCode: 0, text: "on\n" });
		expect(JSON.stringify(facts)).toContain("shell.json");
		expect((await listed(client)).map(({ status }) => status)).toEqual(["running", "running"]);
		expect((await client.call("close", { session, force: true, forget: true })).facts.status).toBe("cancelled");
		await client[Symbol.asyncDispose]();
	});

	test("whose daemon is killed while it starts, at any moment, is running or ended afterwards, and can be removed", async () => {
		await using home = new Home();
		const { sessions } = places(home.env);
		let client = await home.connect();
		for (let round = 0; round < 6; round++) {
			const before = existsSync(sessions) ? readdirSync(sessions).length : 0;
			const starts = Array.from({ length: 8 }, (_, i) =>
				client
					.call("run", { command: "true", shell: `s${round}-${i}`, program: "bash", clean: true, timeoutMs: 100 })
					.catch(() => {}),
			); // its daemon is killed
			await until("some are being started", () => readdirSync(sessions).length > before + round);
			await kill(client);
			await Promise.all(starts);
			client = await home.connect();
			await until("all are running or ended", async () =>
				(await listed(client)).every(({ status }) => status !== "starting"),
			);
			for (const { session } of await listed(client))
				expect(await codeOf(client.call("close", { session, force: true, forget: true }))).toBe("done");
			expect(await listed(client)).toEqual([]);
		}
		await client[Symbol.asyncDispose]();
	});
});

test("what killed daemons left is deleted when the next one opens: old, ours, and nothing of a living holder", async () => {
	await using home = new Home();
	const where = places(home.env);
	const directory = (digit: string) => join(where.sessions, digit.repeat(26));
	const old = (path: string) => utimesSync(path, HOURS_AGO, HOURS_AGO);
	const first = await home.connect();
	const { session: ended } = (await first.call("start", { argv: ["true"], ...patient })).facts;
	await first.call("read", { session: ended });
	const live = await started(first, "live");
	await recordedHolder(where, live);
	await kill(first);
	for (const digit of ["1", "2", "3"]) mkdirSync(directory(digit), { mode: 0o700 });
	writeFileSync(join(directory("1"), "meta.json.0123456789ab.tmp"), "{");
	mkdirSync(join(directory("2"), "shell"));
	for (const digit of ["1", "2"]) old(directory(digit));
	const file = (id: string, name: string) => join(where.sessions, id, name);
	for (const id of [live, ended]) {
		for (const name of ["meta.json.0123456789ab.tmp", "keyframe.json.tmp", "exit.tmp", "mine.tmp"]) {
			writeFileSync(file(id, name), "");
			old(file(id, name));
		}
		writeFileSync(file(id, "seen.json.tmp"), ""); // a write that may be in progress
	}
	await using client = await home.connect();
	await until("they are deleted", () => !existsSync(directory("2")) && !existsSync(file(ended, "exit.tmp")));
	expect(existsSync(directory("1"))).toBe(false);
	expect(existsSync(directory("3"))).toBe(true);
	const left = (id: string) => readdirSync(join(where.sessions, id)).filter((name) => name.endsWith(".tmp"));
	await until("the temporaries are", () => left(live).every((name) => !name.startsWith("meta")));
	expect(left(live).sort()).toEqual(
		["exit.closed.tmp", "exit.tmp", "mine.tmp", "seen.json.tmp"].filter((name) => existsSync(file(live, name))).sort(),
	);
	expect(left(live)).toContain("exit.tmp");
	expect(left(ended).sort()).toEqual(["mine.tmp", "seen.json.tmp"]);
	const { facts } = await client.call("send", { session: "live", text: "on", submit: true, ...patient });
	expect(facts.status).toBe("running");
	expect(statSync(file(live, "meta.json")).isFile()).toBe(true);
});
