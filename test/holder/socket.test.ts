// H2: a holder whose socket was removed makes it anew, when it is told to and by itself.

import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { Client, cleanUp, gone, launchBlock, record, say, sessionDirectory, Tag } from "./raw-holder.ts";

afterEach(cleanUp);

/** A session whose socket is in a directory of its own, as in $STATE/run. */
async function session(program: string) {
	const dir = sessionDirectory();
	const socket = join(dir, "run", "s");
	mkdirSync(dirname(socket), { mode: 0o700 });
	mkdirSync(join(dir, "own"));
	const block = launchBlock(join(dir, "own"), { argv: ["sh", "-c", program] });
	const wanted = record(Tag.socket, socket);
	const given = record(Tag.socket, join(dir, "own", "s"));
	const at = block.indexOf(given);
	const moved = Buffer.concat([block.subarray(0, at), wanted, block.subarray(at + given.length)]);
	const launched = JSON.parse((await say(moved)).line);
	return { dir, socket, run: dirname(socket), holder: launched.holder as number, own: join(dir, "own") };
}

const COUNTER = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done";

describe("H2 a socket that is gone", () => {
	test.each([
		["the socket", (it: { socket: string }) => unlinkSync(it.socket)],
		["its whole directory", (it: { run: string }) => rmSync(it.run, { recursive: true })],
		[
			"a directory that was renamed",
			(it: { run: string; dir: string }) => renameSync(it.run, join(it.dir, "elsewhere")),
		],
		[
			"a socket that another file has replaced",
			(it: { socket: string }) => {
				unlinkSync(it.socket);
				writeFileSync(it.socket, "not a socket");
			},
		],
	])("%s: made anew on SIGUSR1, with every byte", async (_what, remove) => {
		const it = await session(COUNTER);
		const before = await Client.open(it.socket);
		await before.until(() => before.text.includes("3\r\n"));
		remove(it);
		process.kill(it.holder, "SIGUSR1");
		await until("there is a socket", () => existsSync(it.socket) && statSync(it.socket).isSocket());
		expect(statSync(it.socket).mode & 0o777).toBe(0o600);
		expect(statSync(it.run).mode & 0o777).toBe(0o700);
		const after = await Client.open(it.socket);
		await after.until(() => after.text.includes("\n20\r\n"));
		const lines = after.text.split("\r\n").slice(0, 20);
		expect(lines).toEqual(Array.from({ length: 20 }, (_, index) => String(index + 1)));
		await before.until(() => before.text.includes("\n20\r\n")); // and those who were there were not disturbed
		await after.end(0);
		await gone(it.holder);
		expect(existsSync(it.socket)).toBe(false);
	});

	test("made anew without being told, by a holder that has something to do", async () => {
		const it = await session(COUNTER);
		rmSync(it.run, { recursive: true });
		await until("there is a socket", () => existsSync(it.socket));
		const client = await Client.open(it.socket);
		await client.end(0);
		await gone(it.holder);
	});

	test("not made where others may write, nor where the session itself was removed", async () => {
		const open = await session("exec cat");
		rmSync(open.run, { recursive: true });
		mkdirSync(open.run);
		chmodSync(open.run, 0o777);
		const removed = await session("exec cat");
		rmSync(removed.dir, { recursive: true });
		for (const { holder } of [open, removed]) {
			process.kill(holder, "SIGUSR1");
			await until("it has looked and sleeps again", () => isAtRest(holder));
		}
		expect(readdirSync(open.run)).toEqual([]);
		expect(existsSync(removed.dir)).toBe(false);
		for (const { holder } of [open, removed]) {
			process.kill(holder, "SIGTERM");
			await gone(holder);
		}
	});
});

/** Asleep in its loop, with no signal to take. */
function isAtRest(pid: number): boolean {
	const status = readFileSync(`/proc/${pid}/status`, "utf8");
	return /State:\tS/.test(status) && /ShdPnd:\t0+\n/.test(status) && /SigPnd:\t0+\n/.test(status);
}
