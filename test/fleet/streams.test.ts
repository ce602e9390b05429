// Output over a link: every byte from any offset, at the reader's pace, and no reader delays another.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/tools/client.ts";
import { missing } from "../programs.ts";
import { OneServer } from "./one-server.ts";
import { RemoteHost } from "./remote-host.ts";

const patient = { timeoutMs: 120_000 };
const isMissing = missing("nats-server").length > 0;
const NUMBERS = 2_600_000;
/** As the terminal makes it of what seq prints. */
const EXPECTED = Buffer.from(Array.from({ length: NUMBERS }, (_, at) => `${at + 1}\r\n`).join(""));

let broker: OneServer;
let host: RemoteHost;

beforeAll(async () => {
	if (isMissing) return;
	broker = await OneServer.start();
	host = await RemoteHost.start("gpu-1", broker);
});
afterEach(async () => host?.closeClients());
afterAll(async () => {
	await host?.[Symbol.asyncDispose]();
	await broker?.[Symbol.asyncDispose]();
});

/** All output from an offset on; `pace` is called for each chunk. */
async function outputOf(client: Client, session: string, from: number, pace?: () => Promise<void>): Promise<Buffer> {
	const pieces: Uint8Array[] = [];
	let at = from;
	for await (const chunk of client.output(session, { from, signal: new AbortController().signal })) {
		if (!("bytes" in chunk)) throw new Error(`a gap at ${at}`);
		expect(chunk.offset).toBe(at);
		at += chunk.bytes.length;
		pieces.push(chunk.bytes);
		await pace?.();
	}
	return Buffer.concat(pieces);
}

describe.skipIf(isMissing)("20 MB of output", () => {
	test("are the same at the other end, from any offset, also for a slow reader, which delays nobody on its link", async () => {
		const client = await host.socketClient();
		const { facts } = await client.call("start", { name: "seq", argv: ["seq", String(NUMBERS)], ...patient });
		const { session } = facts;
		await client.call("wait", { session, ...patient });
		expect(EXPECTED.length).toBeGreaterThan(20_000_000);

		let isOver = false;
		const slow = outputOf(client, session, 0, () => delay(1)).finally(() => {
			isOver = true;
		});
		const times: number[] = [];
		const since = performance.now();
		const quick = await outputOf(client, session, 12_345_678);
		const quickMs = performance.now() - since;
		while (!isOver) {
			const at = performance.now();
			await client.call("list", {});
			times.push(performance.now() - at);
			await delay(5);
		}
		const slowly = await slow;
		expect(slowly.equals(EXPECTED)).toBe(true);
		expect(quick.equals(EXPECTED.subarray(12_345_678))).toBe(true);
		times.sort((a, b) => a - b);
		const rate = (quick.length / 1e6 / (quickMs / 1000)).toFixed(1);
		console.info(`beside a slow reader: ${rate} MB/s; list p50 ${times[Math.floor(times.length / 2)]?.toFixed(1)} ms`);
		expect(times[Math.floor(times.length / 2)] ?? 0).toBeLessThan(250);
	});

	test("that nobody takes stop one stream, and neither another of the same link nor its calls", async () => {
		const client = await host.socketClient();
		const { facts } = await client.call("start", { name: "seq-2", argv: ["seq", String(NUMBERS)], ...patient });
		const { session } = facts;
		await client.call("wait", { session, ...patient });
		const stop = new AbortController();
		const stuck = client.output(session, { from: 0, signal: stop.signal });
		await stuck.next();
		expect((await outputOf(client, session, 0)).equals(EXPECTED)).toBe(true);
		for (let i = 0; i < 50; i++) await client.call("list", {});
		stop.abort();
		await stuck.return(undefined);
	});
});
