// No byte of output is lost or told twice, whoever dies.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listSegments } from "../../src/journal/segments.ts";
import { adopt } from "../../src/pty/adopt.ts";
import { readExit } from "../../src/pty/exit-file.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { isAlive } from "../alive.ts";
import { until } from "../condition.ts";
import { OwnerProcess, sizeOf, throughKills } from "./owner-process.ts";
import { compiled, Received, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
async function sha256Of(...paths: string[]): Promise<string> {
	const hash = createHash("sha256");
	for (const path of paths) await pipeline(createReadStream(path), hash, { end: false });
	return hash.digest("hex");
}
/** What burst.c writes. */
const burst = (count: number) => Buffer.from(Uint8Array.from({ length: count }, (_, i) => 33 + ((i * 7) % 94)));

describe("R3.2 the end of a fast program is never lost", () => {
	test("100 times 1 MB and exit 7 at once: every byte and the 7, every time", async () => {
		const program = compiled("burst");
		const expected = sha256(burst(1_000_000));
		let runs = 0;
		const worker = async () => {
			while (runs++ < 100) {
				const { received, spec } = await stage.start([program, "1000000", "7"]);
				const exit = await received.exited;
				expect(exit).toMatchObject({ code: 7, signal: null, size: 1_000_000, reason: "exit", lost: 0 });
				expect(received.count).toBe(1_000_000);
				expect(sha256(received.bytes)).toBe(expected);
				expect(await readExit(spec.directory)).toMatchObject({ code: 7, size: 1_000_000 });
			}
		};
		await Promise.all([worker(), worker(), worker()]);
	});

	test("the exit is known to those who ask late, and is not told before the last byte", async () => {
		const { pty, received } = await stage.start([compiled("burst"), "300000", "3"]);
		let countAtExit = -1;
		void pty.exited.then(() => {
			countAtExit = received.count;
		});
		await pty.closed;
		expect(countAtExit).toBe(300_000);
		expect((await pty.exited).code).toBe(3);
		expect(pty.exit?.code).toBe(3);
	});

	test("a program whose holder is gone before anybody listens is received from disk", async () => {
		const spec = await stage.spec([compiled("burst"), "100000", "5"]);
		const { launch } = await import("../../src/pty/launch.ts");
		const first = await launch(spec);
		await first.exited;
		await first[Symbol.asyncDispose]();
		await until("the holder is gone", () => !isAlive(first.holderPid));
		await using late = new HolderPty({ ...spec, secret: null, from: 10 });
		expect(await late.connect()).toBe(false);
		const received = new Received(late, 10);
		expect((await received.exited).code).toBe(5);
		expect(received.bytes.equals(burst(100_000).subarray(10))).toBe(true);
	});
});

describe("R4.7 the owner may be killed at any moment", () => {
	test("100 MB through eight kills: no gap, no repetition, the right exit", async () => {
		const source = join(stage.home, "100MB");
		writeFileSync(source, randomBytes(100_000_000));
		const received = join(stage.home, "received");
		const { epoch: _, ...spec } = await stage.spec(["sh", "-c", `stty -opost; cat ${source}; exit 23`]);
		const marks = Array.from({ length: 8 }, (_, i) => i * 12_000_000 + randomInt(12_000_000)).sort((a, b) => a - b);
		const exit = await throughKills({ spec, received }, { marks, progress: () => sizeOf(received) });
		expect(exit).toMatchObject({ code: 23, size: 100_000_000 });
		expect(await sha256Of(received)).toBe(await sha256Of(source));
		const segments = await listSegments(spec.directory);
		expect(segments.length).toBeGreaterThan(5);
		expect(await sha256Of(...segments.map((it) => it.path))).toBe(await sha256Of(source));
	});

	test("the owner away for 3 s while the program writes 20 MB and exits 42: all is there afterwards", async () => {
		const source = join(stage.home, "20MB");
		writeFileSync(source, randomBytes(20_000_000));
		const received = join(stage.home, "received20");
		const { epoch: _, ...spec } = await stage.spec([
			"sh",
			"-c",
			`stty -opost; head -c 1000000 ${source}; sleep 2; tail -c +1000001 ${source}; exit 42`,
		]);
		const owner = new OwnerProcess({ spec, received, epoch: 1 });
		await until("the owner has received something", () => sizeOf(received) > 0);
		await owner.kill();
		await until("the program has ended without an owner", () => readExit(spec.directory));
		await new OwnerProcess({ spec, received, epoch: 2 }).finished();
		expect(JSON.parse(readFileSync(`${received}.exit`, "utf8"))).toMatchObject({ code: 42, size: 20_000_000 });
		expect(await sha256Of(received)).toBe(await sha256Of(source));
	});
});

describe("R4.5 the holder is killed", () => {
	test("the session is lost, its log an exact prefix, other sessions untouched", async () => {
		const other = await stage.start('stty -echo; while read line; do echo "<$line>"; done');
		const { pty, spec, received } = await stage.start([compiled("burst"), "500000000"]);
		await until("it is well under way", () => received.count > 5_000_000);
		process.kill(pty.holderPid, "SIGKILL");
		const exit = await pty.exited;
		expect(exit).toMatchObject({ reason: "lost", code: null, signal: null });
		expect(exit.size).toBe(received.count);
		expect(received.bytes.equals(burst(received.count))).toBe(true);
		await expect(pty.write(Buffer.from("x"))).rejects.toMatchObject({ name: "PtyDiedError", code: "lost" });
		expect(await adopt({ ...spec, from: 0 })).toBe("lost");
		await until("the program got the hang-up", () => !isAlive(pty.pid));
		await other.pty.write(Buffer.from("still here\n"));
		await other.received.says("<still here>");
	});
});
