// How much is delivered, and when, is the owner's choice; what is delivered is always the log.
import { execFileSync } from "node:child_process";
import { readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readLog } from "../../src/journal/segments.ts";
import { FrameType } from "../../src/protocol/frames.ts";
import { reportListenerErrors } from "../../src/protocol/listeners.ts";
import type { OutputChunk } from "../../src/protocol/output.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { launch } from "../../src/pty/launch.ts";
import { isAlive } from "../alive.ts";
import { until } from "../condition.ts";
import type { ShortOfDescriptors } from "../fixtures/short-of-descriptors.ts";
import { compiled, Received, root, Stage } from "./stage.ts";

let stage: Stage;
const reported: string[] = [];
let reportBefore: ReturnType<typeof reportListenerErrors>;
beforeEach(async () => {
	stage = await Stage.open();
	reportBefore = reportListenerErrors((error, origin) => reported.push(`${origin}: ${(error as Error).message}`));
});
afterEach(async () => {
	reportListenerErrors(reportBefore);
	reported.length = 0;
	await stage[Symbol.asyncDispose]();
});

const MB = 1_000_000;
/** What burst.c writes. */
const burst = (from: number, to: number) =>
	Buffer.from(Uint8Array.from({ length: to - from }, (_, i) => 33 + (((from + i) * 7) % 94)));
async function log(directory: string, from: number): Promise<Buffer> {
	const parts: Uint8Array[] = [];
	for await (const { bytes } of readLog(directory, from)) if (bytes !== null) parts.push(bytes);
	return Buffer.concat(parts);
}

describe("a paused terminal", () => {
	test("asks for no more output, which costs us nothing; resumed, it misses none", async () => {
		const gate = join(stage.home, "gate");
		const { pty, received } = await stage.start(
			`stty -opost; until [ -e ${gate} ]; do sleep 0.01; done; ${compiled("burst")} ${20 * MB} 4`,
		);
		pty.pause();
		pty.pause();
		const ended = new Promise<number | null>((resolve) => pty.onEnding(({ code }) => resolve(code)));
		writeFileSync(gate, "");
		// The program is not slowed by it: it writes all of it and ends, and that is known.
		expect(await ended).toBe(4);
		expect(pty.ending).toEqual({ code: 4, signal: null });
		expect(received.count).toBeLessThanOrEqual(600 * 1024);
		expect(pty.exit).toBeNull();
		pty.resume();
		pty.resume();
		expect(await received.exited).toMatchObject({ code: 4, size: 20 * MB });
		expect(received.bytes.equals(burst(0, 20 * MB))).toBe(true);
	});

	test("whose holder has left in the meantime gets the rest from disk, from where it is told to go on", async () => {
		const pty = stage.keep(await launch(await stage.spec([compiled("burst"), String(3 * MB), "5"])));
		pty.pause();
		const chunks: OutputChunk[] = [];
		pty.onOutput((chunk) => chunks.push(chunk));
		await until("the holder does not wait any longer", () => !isAlive(pty.holderPid));
		await until("its end is known", () => pty.ending?.code === 5);
		expect(pty.exit).toBeNull();
		pty.skipTo(2 * MB);
		pty.resume();
		expect(await pty.exited).toMatchObject({ code: 5, size: 3 * MB });
		const bytes = chunks.map((chunk) => ("bytes" in chunk ? chunk.bytes : expect.unreachable("no gap")));
		expect(Buffer.concat(bytes).equals(burst(2 * MB, 3 * MB))).toBe(true);
	});
});

describe("pause, resume and skipTo, in any order, while a program writes", () => {
	test("deliver exactly the bytes of the log, but for what was skipped", async () => {
		const action = fc.oneof(
			fc.constant({ do: "pause" } as const),
			fc.constant({ do: "resume" } as const),
			fc.record({ do: fc.constant("skip" as const), ahead: fc.integer({ min: -100_000, max: 1_500_000 }) }),
			fc.record({ do: fc.constant("wait" as const), turns: fc.integer({ min: 1, max: 30 }) }),
		);
		await fc.assert(
			fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
				const spec = await stage.spec([compiled("burst"), String(6 * MB), "3"]);
				const pty = stage.keep(await launch(spec));
				let at = 0;
				const skipped: [number, number][] = [];
				const parts: Buffer[] = [];
				pty.onOutput((chunk) => {
					if ("gap" in chunk) throw new Error("there are no gaps here");
					if (chunk.offset !== at) throw new Error(`offset ${chunk.offset} instead of ${at}`);
					at += chunk.bytes.length;
					parts.push(Buffer.from(chunk.bytes));
				});
				for (const each of actions) {
					if (each.do === "pause") pty.pause();
					else if (each.do === "resume") pty.resume();
					else if (each.do === "wait") for (let i = 0; i < each.turns; i++) await turn();
					else {
						const to = at + each.ahead;
						pty.skipTo(to);
						if (to > at) skipped.push([at, to]);
						at = Math.max(at, to);
					}
				}
				pty.resume();
				const { size, code } = await pty.exited;
				expect({ size, code, reported }).toEqual({ size: 6 * MB, code: 3, reported: [] });
				const whole = await log(spec.directory, 0);
				const kept: Buffer[] = [];
				let from = 0;
				for (const [start, end] of [...skipped, [size, size] as const]) {
					kept.push(whole.subarray(from, start));
					from = end;
				}
				expect(Buffer.concat(parts).equals(Buffer.concat(kept))).toBe(true);
			}),
			{ numRuns: 15 },
		);
	});
});

describe("S9: errors on the way of the output", () => {
	test("a listener that throws is reported by name and cuts nothing off", async () => {
		const { pty, received } = await stage.start([compiled("burst"), String(MB), "7"]);
		pty.onOutput(() => {
			throw new Error("a bug in a listener");
		});
		expect(await received.exited).toMatchObject({ code: 7 });
		expect(received.bytes.equals(burst(0, MB))).toBe(true);
		expect(new Set(reported)).toEqual(new Set(["output: a bug in a listener"]));
	});

	test("a malformed frame is reported, and the stream goes on over the next connection", async () => {
		const { pty, spec } = await stage.start([compiled("burst"), String(MB), "7"]);
		await pty.exited.then(() => pty[Symbol.asyncDispose]());
		const path = join(stage.home, "strange.sock");
		const connections: Socket[] = [];
		const server = createServer((socket) => {
			connections.push(socket);
			socket.on("error", () => {}); // it hangs up on us, and rightly so
			const welcome = { version: 1, holder: 1, pid: 2, pts: "", from: 0, size: MB, inputOffset: 0, cols: 80, rows: 24 };
			socket.write(frame(FrameType.welcome, Buffer.from(JSON.stringify(welcome))));
			if (connections.length === 1) socket.write(frame(FrameType.event, Buffer.from('{"event":7}')));
			else socket.once("data", () => socket.write(frame(FrameType.output, Buffer.from("\0\0\0\0\0\0\0\0HELLO"))));
		}).listen(path);
		const strange = new HolderPty({ ...spec, secret: null, socketPath: path, from: 0 });
		const received = new Received(strange);
		expect(await strange.connect()).toBe(true);
		await received.says("HELLO");
		expect(reported).toEqual(["holder frame: event is not a string: 7"]);
		expect(connections.length).toBe(2);
		await strange[Symbol.asyncDispose]();
		server.close();
		for (const socket of connections) socket.destroy();
	});

	test("G16: a link in the place of the exit file is set aside: the output is all there, how it ended is unknown", async () => {
		const spec = await stage.spec([compiled("burst"), "1000", "5"]);
		const first = await launch(spec);
		await first.closed;
		await until("the holder is gone", () => !isAlive(first.holderPid));
		const file = join(spec.directory, "exit");
		rmSync(file);
		symlinkSync("/etc/passwd", file);
		const late = stage.keep(new HolderPty({ ...spec, secret: null, from: 0 }));
		expect(await late.connect()).toBe(false);
		const received = new Received(late);
		expect(await received.exited).toMatchObject({ code: null, reason: "lost", size: 1000 });
		expect(received.count).toBe(1000);
		expect(readlinkSync(`${file}.corrupt-not-a-file`)).toBe("/etc/passwd");
	});

	test("EMFILE while the rest is read from disk: retried until there are descriptors again", () => {
		const told = execFileSync(
			"sh",
			[
				"-c",
				`ulimit -n 200; exec "$0" --import tsx "$1" "$2" "$3"`,
				process.execPath,
				fixture,
				stage.home,
				compiled("burst"),
			],
			{ cwd: root, encoding: "utf8", timeout: 60_000 },
		);
		expect(JSON.parse(told) satisfies ShortOfDescriptors).toEqual({
			exit: { code: 5, reason: "exit", size: 1000 },
			received: 1000,
			failedFirst: true,
		});
	});
});

const fixture = join(root, "test/fixtures/short-of-descriptors.ts");

function frame(type: number, payload: Uint8Array): Buffer {
	const header = Buffer.alloc(8);
	header.writeUInt32LE(payload.length, 0);
	header.writeUInt8(type, 4);
	return Buffer.concat([header, payload]);
}
