// What comes out is kept and given: every byte, once, in order, to whoever reads at whatever speed.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { Client, cleanUp, END_OF_LOG, exitFile, gone, launch, record, SLOWED, Tag, u64 } from "./raw-holder.ts";

afterEach(cleanUp);

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Raw output (no newline translation): `bytes` of a pattern that shows any shift, then an exit code. */
function writer(bytes: number, code = 0): string[] {
	const program = `stty -opost -echo; seq 1 ${Math.ceil(bytes / 7) + 100_000} | head -c ${bytes}; exit ${code}`;
	return ["sh", "-c", program];
}
function pattern(bytes: number): Buffer {
	const lines: string[] = [];
	for (let i = 1, have = 0; have < bytes; i++) {
		lines.push(`${i}\n`);
		have += lines.at(-1)!.length;
	}
	return Buffer.from(lines.join("")).subarray(0, bytes);
}
function logOf(dir: string): Buffer {
	const segments = readdirSync(dir)
		.filter((name) => name.startsWith("out."))
		.sort();
	return Buffer.concat(segments.map((name) => readFileSync(join(dir, name))));
}

/** Where the newest segment ends; older ones may go while we look. */
const logEnd = (dir: string) =>
	Math.max(
		...readdirSync(dir)
			.filter((name) => name.startsWith("out."))
			.map(
				(name) => Number(name.slice("out.".length)) + (statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0),
			),
	);

describe("R1.3 R3.2 every byte of a program", () => {
	test("100 programs that write 1 MB and exit 7 at once are byte-exact on disk and at the client", async () => {
		const expected = pattern(1_000_000);
		for (let i = 0; i < (SLOWED ? 5 : 100); i++) {
			const session = await launch({ argv: writer(1_000_000, 7) });
			// It may be over before we are there: then the disk has it all.
			const client = await Client.open(session.socket).catch(() => null);
			if (client) {
				await client.exited();
				expect(client.output.equals(expected)).toBe(true);
				client.close();
			}
			await gone(session.holder);
			expect(exitFile(session)).toMatchObject({
				code: 7,
				signal: null,
				size: 1_000_000,
				closed: true,
				reason: "exit",
				lost: 0,
			});
			expect(logOf(session.dir).equals(expected)).toBe(true);
			await cleanUp();
		}
	});

	test("output and exit of a program that nobody ever connected to are on disk", async () => {
		const session = await launch({ argv: writer(300_000, 42) });
		await gone(session.holder);
		expect(exitFile(session)).toMatchObject({ code: 42, size: 300_000, closed: true });
		expect(logOf(session.dir).equals(pattern(300_000))).toBe(true);
		expect(readdirSync(session.dir).sort()).toEqual(["exit", "out.00000000000000000000", "timing"]);
	});

	test("a client that is cut off eight times in mid-stream goes on at its offset: no gap, no byte twice", async () => {
		const bytes = 30_000_000;
		const session = await launch({ argv: ["sh", "-c", `${writer(bytes)[2]?.replace("exit 0", "read x; exit 3")}`] });
		const hash = createHash("sha256");
		let cursor = 0;
		for (let life = 0; life <= 8; life++) {
			const client = await Client.open(session.socket, { epoch: life + 1, attach: BigInt(cursor) });
			const stopAt = life === 8 ? bytes : cursor + Math.floor(Math.random() * (bytes / 9));
			await client.until(() => client.cursor >= stopAt);
			if (life === 8) {
				await client.type("\n");
				expect(await client.exited()).toMatchObject({ code: 3 });
			}
			client.close();
			hash.update(client.output.subarray(0, bytes - cursor)); // without the echo of that line
			cursor = client.cursor;
		}
		expect(hash.digest("hex")).toBe(sha256(pattern(bytes)));
	});

	test("five clients that never read slow nobody and cost little memory", async () => {
		const bytes = 60_000_000;
		const session = await launch({ argv: ["sh", "-c", `read go; ${writer(bytes)[2]}`] });
		const idle = [];
		for (let i = 0; i < 5; i++) {
			const client = await Client.open(session.socket, { owner: false });
			client.socket.pause();
			idle.push(client);
		}
		const client = await Client.open(session.socket);
		client.keepOutput = false;
		await client.type("\r");
		await client.until(() => client.bytes > bytes / 2);
		const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${session.holder}/status`, "utf8"))![1]);
		if (!SLOWED) expect(resident).toBeLessThan(4096);
		await client.until(() => client.exit !== null);
		expect(client.bytes).toBe(client.exit.size);
		client.close();
		for (const one of idle) one.close();
	});

	test("a client gets no more than its credit, and the rest when it grants it", async () => {
		const session = await launch({ argv: ["sh", "-c", `${writer(200_000)[2]?.replace("exit 0", "read x")}`] });
		const client = await Client.open(session.socket, { attach: null });
		client.attach(0n, 1000n);
		await client.until(() => client.bytes === 1000);
		client.credit(500); // never lowers
		client.credit(70_000);
		await client.until(() => client.bytes === 70_000);
		await client.type("\n");
		await client.until(() => client.events.some((event) => event.event === "main_exited"));
		expect(client.exit).toBeNull(); // it has not had the last byte
		client.credit(1_000_000);
		expect(await client.exited()).toMatchObject({ code: 0 });
		expect(client.output.subarray(0, 200_000).equals(pattern(200_000))).toBe(true);
	});

	test("attaching again moves the cursor; attaching at the end gives only what is new", async () => {
		const session = await launch({ argv: ["sh", "-c", "stty -echo; printf before; read x; printf after; read x"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text === "before");
		const late = await Client.open(session.socket, { owner: false, attach: END_OF_LOG });
		client.attach(2n);
		await client.until(() => client.text === "beforefore");
		await client.type("\n");
		await late.until(() => late.text === "after");
		expect(late.cursor).toBe(11);
		await client.end(0);
	});
});

describe("R4.1 the log", () => {
	test("is cut into segments named by offset, and the quota keeps the first and the newest", async () => {
		const records = [record(Tag.quota, u64(262_144)), record(Tag.segment, u64(65_536))];
		const session = await launch({ argv: writer(1_000_000, 0), records });
		await gone(session.holder);
		const names = readdirSync(session.dir).filter((name) => name.startsWith("out."));
		expect(names[0]).toBe("out.00000000000000000000");
		const kept = names.reduce((sum, name) => sum + statSync(join(session.dir, name)).size, 0);
		expect(kept).toBeLessThanOrEqual(262_144);
		const expected = pattern(1_000_000);
		for (const name of names) {
			const start = Number(name.slice(4));
			const bytes = readFileSync(join(session.dir, name));
			expect(bytes.equals(expected.subarray(start, start + bytes.length))).toBe(true);
		}
		expect(exitFile(session)).toMatchObject({ size: 1_000_000, lost: 0 });
	});

	test("tells a client that asks for what is not kept where the gap ends", async () => {
		const records = [record(Tag.quota, u64(262_144)), record(Tag.segment, u64(65_536))];
		const session = await launch({
			argv: ["sh", "-c", `${writer(1_000_000)[2]?.replace("exit 0", "read x")}`],
			records,
		});
		const watcher = await Client.open(session.socket, { attach: END_OF_LOG });
		// Not by what the watcher gets: the last byte may come between its welcome and its attaching, and then nothing comes.
		await until("all of it is on disk", () => logEnd(session.dir) === 1_000_000);
		const late = await Client.open(session.socket, { owner: false });
		await late.until(() => late.cursor === 1_000_000);
		expect(late.gaps).toHaveLength(1);
		const [gap] = late.gaps;
		expect(gap!.from).toBe(65_536);
		const expected = pattern(1_000_000);
		expect(late.output.equals(Buffer.concat([expected.subarray(0, gap!.from), expected.subarray(gap!.to)]))).toBe(true);
		await watcher.end(0);
	});

	test("has a timing line for every byte, the resizes in their place and the exit code last", async () => {
		const session = await launch({ argv: ["sh", "-c", "echo one; read x; stty size; exit 5"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("one"));
		expect(await client.resize(101, 33)).toEqual({ done: 0 });
		expect(client.events).toContainEqual({ event: "resized", cols: 101, rows: 33, at: 5 });
		await client.type("\n");
		await client.exited();
		expect(client.text).toContain("33 101");
		const timing = readFileSync(join(session.dir, "timing"), "utf8").trimEnd().split("\n");
		expect(timing[0]).toMatch(/^H 0\.000000 START_TIME \d{4}-\d\d-\d\d /);
		expect(timing.filter((line) => line.startsWith("S"))).toEqual([
			expect.stringMatching(/^S \d+\.\d{6} SIGWINCH ROWS=33 COLS=101$/),
		]);
		expect(timing.at(-1)).toMatch(/^H \d+\.\d{6} EXIT_CODE 5$/);
		const told = timing
			.filter((line) => line.startsWith("O"))
			.reduce((sum, line) => sum + Number(line.split(" ")[2]), 0);
		expect(told).toBe(client.exit.size);
	});
});

describe("R4.3 the end of the program and the end of its output", () => {
	test("an exit is told although a child keeps the terminal; what it writes then is kept, and who lives on is named", async () => {
		const session = await launch({
			argv: [
				"sh",
				"-c",
				"trap '' HUP; (sleep 0.4; echo late; exec sleep 0.3) & (setsid sleep 300 </dev/null >/dev/null 2>&1 &); exit 4",
			],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.exits.length === 1);
		expect(client.exits[0]).toMatchObject({ code: 4, closed: false, size: 0 });
		expect(exitFile(session)).toEqual(client.exits[0]);
		const final = await client.exited();
		expect(client.text).toBe("late\r\n");
		expect(final).toMatchObject({
			code: 4,
			closed: true,
			size: 6,
			survivors: [{ pid: expect.any(Number), command: "sleep" }],
		});
		await client.until(() => client.closed);
		expect(exitFile(session)).toEqual(final);
		process.kill(final.survivors[0].pid, "SIGKILL");
	});

	test("a program that closes its terminal for a while and opens it again is received again", async () => {
		const session = await launch({
			argv: [
				"bash",
				"-c",
				"exec <&- >&- 2>&-; read -t 0.3 < <(sleep 1); exec </dev/tty >/dev/tty; echo back; read x; exit 0",
			],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("back"));
		await client.type("\n");
		expect(await client.exited()).toMatchObject({ code: 0 });
	});

	test("a client that comes late gets every byte before the exit", async () => {
		const session = await launch({ argv: ["sh", "-c", "trap '' HUP; seq 1 100; sleep 300 & read x; exit 2"] });
		const first = await Client.open(session.socket);
		await first.type("\n");
		await first.until(() => first.exit !== null);
		const late = await Client.open(session.socket, { owner: false, attach: null });
		expect(late.welcome.exit).toMatchObject({ code: 2, closed: false });
		late.attach(0n);
		await late.until(() => late.exit !== null);
		expect(late.bytes).toBe(late.exit.size);
		late.exit = null;
		late.attach(0n);
		await late.until(() => late.exit !== null);
		expect(late.bytes).toBe(late.exit.size * 2);
	});

	test("a client that reads slowly is served to the end, longer than one that does not read at all", async () => {
		const session = await launch({ argv: ["sh", "-c", `${writer(300_000)[2]?.replace("exit 0", "read x; exit 6")}`] });
		const client = await Client.open(session.socket, { attach: null });
		const idle = await Client.open(session.socket, { owner: false, attach: null });
		idle.attach(0n, 1n);
		client.attach(0n, 1n);
		await client.until(() => client.bytes === 1); // so its echo is off
		await client.type("\n");
		for (const until of [100_000, 200_000, 250_000, 1_000_000]) {
			await new Promise((resolve) => setTimeout(resolve, 1800)); // the slowness itself: 7 s in all, and 5 are the patience
			client.credit(until);
			await client.until(() => client.bytes === Math.min(until, 300_000));
		}
		expect(await client.exited()).toMatchObject({ code: 6, size: 300_000 });
		expect(client.output.equals(pattern(300_000))).toBe(true);
		await expect(idle.until(() => false)).rejects.toThrow("ended first");
	});

	test("a core-dumping signal is told as one", async () => {
		const session = await launch({ argv: ["sh", "-c", "read x; kill -SEGV $$"] });
		const client = await Client.open(session.socket);
		await client.type("\n");
		expect(await client.exited()).toMatchObject({ code: null, signal: 11 });
	});
});
