// Ending a session ends all of it, and leaves nothing behind.
import { chmodSync, copyFileSync, readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { launch } from "../../src/pty/launch.ts";
import { descendants, listeningPorts, workingDirectory } from "../../src/pty/process-tree.ts";
import { isAlive } from "../alive.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { compiled, root, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

const numbersIn = (path: string) => {
	try {
		return readFileSync(path, "utf8").trim().split("\n").filter(Boolean).map(Number);
	} catch {
		return []; // not written yet
	}
};

describe("R4.4 ending a session ends its whole tree", () => {
	test("also what ignores TERM and HUP, fled by setsid, a double fork or an empty environment", async () => {
		const log = join(stage.home, "family");
		const { pty } = await stage.start(["sh", join(root, "test/fixtures/escapees.sh"), log]);
		const family = await until("all five are there", () => numbersIn(log).length === 5 && numbersIn(log));
		expect(family.every(isAlive)).toBe(true);
		expect(await descendants(pty.holderPid)).toEqual(expect.arrayContaining(family));
		expect(await pty.end(100)).toEqual([]);
		expect(family.filter(isAlive)).toEqual([]);
		expect(await pty.exited).toMatchObject({ reason: "end", survivors: [] });
		await until("the holder is gone too", () => !isAlive(pty.holderPid));
	});

	test("one that is killed and takes its time to die is no survivor", needing("python3"), async () => {
		// To give back this much memory takes the kernel longer than what is told of the main program waits.
		const slow =
			"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); a = b'x' * 700_000_000; print('READY', flush=True); time.sleep(1000)";
		const { pty, received } = await stage.start(`trap '' TERM HUP; python3 -c "${slow}"; sleep 1000`);
		await received.says("READY");
		expect(await pty.end(50)).toEqual([]);
		expect(await pty.exited).toMatchObject({ reason: "end", signal: "SIGKILL", survivors: [] });
	});

	test("a program that goes when asked is not killed; ending twice is one end", async () => {
		const { pty, received } = await stage.start(
			"trap 'echo BYE; exit 3' TERM; echo READY; while :; do sleep 0.02; done",
		);
		await received.says("READY");
		expect(await pty.end(20_000)).toEqual([]);
		expect(await pty.exited).toMatchObject({ code: 3 });
		expect(received.text).toContain("BYE");
		expect(await pty.end(0)).toEqual([]);
	});

	test("a second end does not wait for the grace of the first", async () => {
		const { pty, received } = await stage.start("trap '' TERM HUP; echo READY; while :; do sleep 1000; done");
		await received.says("READY");
		const first = pty.end(600_000);
		expect(await pty.end(600_000)).toEqual([]);
		expect(await first).toEqual([]);
		expect(await pty.exited).toMatchObject({ signal: "SIGKILL" });
	});
});

describe("R4.4 what cannot be ended", () => {
	test("is named, in the answer and in the record of the exit", needing("root"), async () => {
		const { holder, places } = await stage.asNobody();
		const stubborn = join(stage.home, "stubborn");
		copyFileSync(compiled("stubborn"), stubborn);
		chmodSync(stubborn, 0o4755);
		const { pty, received } = await stage.start(`${stubborn} & wait`, { ...places, holder });
		await received.says("STUBBORN");
		const survivors = await pty.end(50);
		expect(survivors).toEqual([{ pid: expect.any(Number), command: "stubborn", born: expect.any(String) }]);
		expect(isAlive(survivors[0]!.pid)).toBe(true);
		expect(await pty.exited).toMatchObject({ reason: "end", survivors });
		process.kill(survivors[0]!.pid, "SIGKILL");
	});
});

describe("the end of the program and the end of the terminal", () => {
	test("a background child keeps the terminal: the exit is known at once, its output still comes", async () => {
		// With a controlling terminal the kernel hangs up on everybody when its leader goes; without one it does not.
		const { pty, received } = await stage.start("(sleep 0.5; echo LATER) & echo NOW; exit 6", {
			noControllingTerminal: true,
		});
		expect(await pty.exited).toMatchObject({ code: 6, closed: false });
		expect(received.text).not.toContain("LATER");
		expect(await pty.closed).toMatchObject({ code: 6, closed: true });
		expect(received.text).toContain("LATER");
		expect(pty.exit?.closed).toBe(true);
	});
});

describe("500 sessions come and go", () => {
	test("no descriptor, process, socket or stray file is left", async () => {
		const descriptors = () => readdirSync("/proc/self/fd").length;
		const zombies = async () => (await descendants(process.pid)).filter((pid) => !isAlive(pid));
		const before = descriptors();
		const holders: number[] = [];
		const directories: string[] = [];
		let cycles = 0;
		const worker = async () => {
			for (let cycle = cycles++; cycle < 500; cycle = cycles++) {
				const spec = await stage.spec(cycle % 2 ? ["sleep", "1000"] : ["true"]);
				const pty = await launch(spec);
				if (cycle % 2) expect(await pty.end(5000)).toEqual([]);
				await pty.exited;
				holders.push(pty.holderPid);
				directories.push(spec.directory);
				await pty[Symbol.asyncDispose]();
			}
		};
		await Promise.all(Array.from({ length: 6 }, worker));
		expect(holders).toHaveLength(500);
		await until("every holder is gone", () => !holders.some(isAlive));
		await until("every descriptor is closed", () => descriptors() <= before);
		expect(await zombies()).toEqual([]);
		expect(await readdir(stage.places.run)).toEqual([]);
		for (const directory of directories)
			expect((await readdir(directory)).sort()).toEqual(["exit", "out.00000000000000000000", "timing"]);
	});
});

describe("what the system says about a session", () => {
	test("where it works and on which ports it listens", async () => {
		const server = createServer().listen(0, "127.0.0.1");
		await until("we listen", () => server.listening);
		const { port } = server.address() as { port: number };
		expect(await listeningPorts([process.pid])).toContain(port);
		server.close();
		const { pty, received } = await stage.start("cd /usr/lib; echo READY; sleep 1000");
		await received.says("READY");
		expect(await workingDirectory(pty.pid)).toBe("/usr/lib");
		expect(await listeningPorts([pty.pid, 999_999_999])).toEqual([]);
		expect(await workingDirectory(999_999_999)).toBeNull();
	});
});
