// Whoever looks on never slows the program, and one session never drowns another.
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { attachFrame, helloFrame } from "../../src/protocol/frames.ts";
import type { LaunchSpec } from "../../src/pty/launch.ts";
import { readSecret } from "../../src/pty/owner-secret.ts";
import { until } from "../condition.ts";
import { Stage, type Started } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** A client that asks for everything and never reads. */
async function silentClient({ directory, socketPath }: LaunchSpec): Promise<Socket> {
	const secret = await readSecret(directory);
	const socket = connect({ path: socketPath });
	socket.on("error", () => {}); // the holder goes in the end
	socket.pause();
	socket.write(helloFrame({ owner: false, epoch: 0n, secret }));
	socket.write(attachFrame(0n, (1n << 63n) - 1n));
	return socket;
}

const residentKb = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

describe("clients that never read", () => {
	const COUNT = 60_000_000;

	/** Milliseconds for COUNT bytes, and the holder's memory at the end. */
	async function run(silent: number): Promise<{ ms: number; kb: number }> {
		const gate = join(stage.home, `gate-${Math.random()}`);
		const command = `stty -opost; until [ -e ${gate} ]; do sleep 0.01; done; head -c ${COUNT} /dev/zero; printf DONE; sleep 1000`;
		const { pty, spec, received }: Started = await stage.start(command);
		const clients = await Promise.all(Array.from({ length: silent }, () => silentClient(spec)));
		await until("they are connected", () => clients.every((it) => !it.connecting));
		const started = performance.now();
		writeFileSync(gate, "");
		await until("all of it was received", () => received.count === COUNT + 4, { withinMs: 60_000 });
		const ms = performance.now() - started;
		const kb = residentKb(pty.holderPid);
		for (const client of clients) client.destroy();
		await pty.end(0);
		return { ms, kb };
	}

	test("five of them: the program runs at full speed and the holder's memory is flat", async () => {
		// Interleaved, and the best of each: other work on the machine only ever slows.
		const runs = { alone: [await run(0)], watched: [await run(5)] };
		runs.alone.push(await run(0));
		runs.watched.push(await run(5));
		const best = (of: { ms: number }[]) => Math.min(...of.map(({ ms }) => ms));
		// Whoever waited for them would never be done; how fast exactly is for the benchmark to say.
		expect(best(runs.watched)).toBeLessThan(best(runs.alone) * 4 + 1000);
		const most = (of: { kb: number }[]) => Math.max(...of.map(({ kb }) => kb));
		// Each client costs its own buffer, never the output.
		expect(most(runs.watched)).toBeLessThan(most(runs.alone) + 5 * 400);
	});
});

describe("R2.9 sessions share one daemon fairly", () => {
	test("one that floods hands on little at a time, and another is received in between", async () => {
		const flood = await stage.start("stty -opost; cat /dev/zero");
		let [inThisTurn, most, turns] = [0, 0, 0];
		flood.pty.onOutput((chunk) => {
			if ("gap" in chunk) return;
			const { bytes } = chunk;
			inThisTurn += bytes.length;
			// As slow as an emulator, so that there is always more to be read: 30 MB/s.
			const until = performance.now() + bytes.length / 30_000;
			while (performance.now() < until);
		});
		const count = () => {
			most = Math.max(most, inThisTurn);
			inThisTurn = 0;
			turns++;
			if (flood.pty.exit === null) setImmediate(count);
		};
		setImmediate(count);
		const quiet = await stage.start('stty -echo; echo READY; while read line; do echo "<$line>"; done');
		await quiet.received.says("READY");
		for (let i = 0; i < 20; i++) {
			await quiet.pty.write(Buffer.from(`${i}\n`));
			await quiet.received.says(`<${i}>`);
		}
		await until("it has flooded", () => flood.received.count > 12_000_000);
		await flood.pty.end(0);
		await flood.pty.exited;
		expect(turns).toBeGreaterThan(12_000_000 / 300_000);
		// 128 KB and what was already on its way; without turns it is 1 MB and more.
		expect(most).toBeLessThan(300_000);
	});
});
