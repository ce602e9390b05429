// What is typed arrives once, whole, in order, and Ctrl+C gets through.

import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { Client, cleanUp, HOLDER, launch, SLOWED, sessionDirectory } from "./raw-holder.ts";

/** Which knows no pidfd_getfd, so nothing is borrowed. */
const UNDER_VALGRIND = process.env.DIALTONE_TEST_THROUGH !== undefined;

afterEach(cleanUp);

const id = (byte: number) => Buffer.alloc(16, byte);
/** A reader in raw mode that prints the sha256 of the first `bytes` bytes it gets. */
const hasher = (bytes: number) => ["bash", "-c", `stty raw -echo; printf ready; head -c ${bytes} | sha256sum; exit 0`];

/** Numbers from 0 to 1, the same for each seed. */
function createRandom(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

async function ready(argv: string[], word = "ready") {
	const session = await launch({ argv });
	const client = await Client.open(session.socket);
	await client.until(() => client.text.includes(word));
	return { session, client };
}

describe("R1.2 typing", () => {
	test("a Ctrl+C byte raises SIGINT in the foreground group", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"trap 'echo caught; exit 130' INT; echo ready; while :; do sleep 0.05; done",
		]);
		await client.type("\x03");
		expect(await client.exited()).toMatchObject({ code: 130 });
		expect(client.text).toContain("^Ccaught");
	});

	test("5 MB typed through three cut connections arrive exactly once", async () => {
		const bytes = Buffer.alloc(5_000_000);
		for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 7 + (i >> 8)) & 0xff;
		const { session, client: first } = await ready(hasher(bytes.length));
		first.close();
		let offset = 0;
		for (let life = 0; offset < bytes.length; life++) {
			const client = await Client.open(session.socket, { epoch: 2 + life });
			// What was accepted is known from the greeting, not from the answers that we may have missed.
			offset = client.welcome.inputOffset;
			const stopAt = life < 3 ? offset + 1_000_000 : bytes.length;
			while (offset < bytes.length) {
				const answer = await client.type(bytes.subarray(offset, offset + 100_000), { offset: BigInt(offset) });
				if (answer.refused === "queue_full")
					await client.until(() => client.events.some((event) => event.event === "input_room"));
				client.events.length = 0;
				if (answer.done !== undefined) offset = answer.done;
				if (offset < stopAt || life >= 3) continue;
				// Cut in mid-sentence: this write may or may not have been received.
				void client.type(bytes.subarray(offset, offset + 50_000), { offset: BigInt(offset) }).catch(() => {});
				break;
			}
			if (life < 3) client.close();
			else {
				const digest = createHash("sha256").update(bytes).digest("hex");
				await client.exited();
				expect(client.text).toContain(digest);
			}
		}
	});

	test("a write id that was seen is answered again and not typed again", async () => {
		const { client } = await ready(["sh", "-c", "stty -echo; echo ready; cat"]);
		expect(await client.type("one\n", { id: id(1) })).toEqual({ done: 4 });
		expect(await client.type("two\n", { id: id(2) })).toEqual({ done: 8 });
		expect(await client.type("one\n", { id: id(1) })).toEqual({ done: 4 });
		expect(await client.type("end\n")).toEqual({ done: 12 });
		await client.until(() => client.text.includes("end"));
		expect(client.text.replaceAll("\r", "")).toBe("ready\none\ntwo\nend\n");
		await client.end(0);
	});

	test("an input offset says what is new: known bytes are not typed again, missing ones are asked for", async () => {
		const { client } = await ready(["sh", "-c", "stty -echo; echo ready; cat"]);
		expect(await client.type("abcd\n", { offset: 0n })).toEqual({ done: 5 });
		expect(await client.type("abcd\n", { offset: 0n })).toEqual({ done: 5 });
		expect(await client.type("d\nefg\n", { offset: 3n })).toEqual({ done: 9 });
		expect(await client.type("x", { offset: 100n })).toMatchObject({ refused: "input_gap", inputOffset: 9 });
		await client.until(() => client.text.includes("efg"));
		expect(client.text.replaceAll("\r", "")).toBe("ready\nabcd\nefg\n");
		await client.end(0);
	});

	test("a full queue refuses whole writes, goes on reading output, and tells when there is room", async () => {
		const { client } = await ready([
			"sh",
			"-c",
			"stty raw -echo; echo ready; sleep 1; echo alive; exec cat >/dev/null",
		]);
		const megabyte = Buffer.alloc(1 << 20, 0x61);
		expect(await client.type(megabyte)).toMatchObject({ done: 1 << 20 });
		const refused = await client.type(megabyte);
		expect(refused).toMatchObject({ refused: "queue_full" });
		expect(refused.free).toBeLessThan(1 << 20);
		await client.until(() => client.text.includes("alive"));
		await client.until(() => client.events.some((event) => event.event === "input_room" && event.free >= 1 << 19));
		await client.end(0);
	});
});

describe("lines in canonical mode", () => {
	test("4095 bytes arrive whole, one more is refused whole", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"stty -echo; echo ready; while IFS= read -r line; do echo len $(expr length $line); done",
		]);
		expect(await client.type(`${"x".repeat(4095)}\n`)).toEqual({ done: 4096 });
		await client.until(() => client.text.includes("len 4095"));
		expect(await client.type(`${"x".repeat(4096)}\n`)).toMatchObject({ refused: "line_too_long", limit: 4095 });
		await client.type("x".repeat(3000));
		expect(await client.type("y".repeat(2000))).toMatchObject({ refused: "line_too_long" });
		await client.type("z\n");
		await client.until(() => client.text.includes("len 3001"));
		await client.end(0);
	});

	test("20,000 short lines in one breath arrive, and so do lines that follow each other faster than they are read", async () => {
		const { client } = await ready(["bash", "-c", "stty -echo; echo ready; head -n 20000 | sha256sum; read x"]);
		const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${"-".repeat(i % 30)}\n`).join("");
		await client.type(lines);
		const digest = createHash("sha256").update(lines).digest("hex");
		await client.until(() => client.text.includes("  -"));
		expect(client.text).toContain(digest);
		await client.end(0);
	});

	test("what was accepted in raw mode is not cut when the program goes back to lines", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"stty raw -echo; echo ready; sleep 0.5; stty cooked -echo; sleep 0.5; stty raw -echo; head -c 200000 | sha256sum; exit 0",
		]);
		const long = Buffer.alloc(200_000, 0x78);
		await client.type(long);
		await client.exited();
		// The mode changes lose nothing: bash's stty uses TCSADRAIN, which keeps input.
		expect(client.text).toContain(createHash("sha256").update(long).digest("hex"));
	});
});

describe("H4: no more is in flight than the terminal can keep", () => {
	const atPrompt = async () => {
		const dir = sessionDirectory();
		const session = await launch({ argv: ["bash", "--norc", "-i"], env: { PS1: "$ ", HISTFILE: "" }, cwd: dir, dir });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("$ "));
		return { client, file: join(dir, "f") };
	};

	test("H5: a line too long for the command before it: none of it is typed, what was is told, and what comes later is typed", async () => {
		const { client, file } = await atPrompt();
		await client.type(`cat > f\n${"x".repeat(12_000)}\nmore\n\x04`);
		await client.until(() => client.events.some(({ event }) => event === "input_refused"));
		expect(client.events.filter(({ event }) => event.startsWith("input_"))).toEqual([
			{ event: "input_refused", typed: 8, bytes: 12_007, line: 12_000, limit: 4095 },
		]);
		await client.type("short\n\x04echo done $?\n");
		await client.until(() => client.text.includes("done 0"));
		expect(readFileSync(file, "utf8")).toBe("short\n");
	});

	test("… and one too long for a terminal in line mode in which nobody reads it yet waits", async () => {
		const { client, file } = await atPrompt();
		await client.type(`sleep 2\nprintf %s ${"x".repeat(12_000)} > f; echo done $?\n`);
		await client.until(() => client.text.includes("done 0"));
		expect(readFileSync(file, "utf8")).toBe("x".repeat(12_000));
	});

	test("a quoted line end (Ctrl+V) ends no line: what would be cut is refused", async () => {
		const session = await launch({ argv: ["sh", "-c", "echo up; exec cat > /dev/null"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		const half = "x".repeat(4000);
		await expect(client.type(`${half}\x16\n${half}\n`)).resolves.toMatchObject({ refused: "line_too_long" });
		await expect(client.type(`${half}\n${half}\n`)).resolves.not.toHaveProperty("refused");
	});

	test.each([
		["empty lines", "\n"],
		["ends of file", "\x04"],
	])(
		"100,000 %s that nobody reads wait in the queue, not in the kernel, and do not hold up the loop",
		async (_name, end) => {
			const { client } = await ready(["sh", "-c", "stty -echo; echo ready; exec sleep 1000"]);
			await client.type(Buffer.alloc(100_000, end));
			const { queued } = await client.facts();
			expect(queued).toBeGreaterThanOrEqual(100_000 - 4096);
			await client.end(0);
		},
	);

	test("Ctrl+C drops a line that waits because it is too long", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"trap 'echo caught; exit 130' INT; stty raw isig -echo; echo ready; sleep 0.5; stty cooked; while :; do sleep 0.05; done",
		]);
		await client.type(`${"x".repeat(12_000)}\n`);
		await client.until(() => client.events.some(({ event }) => event === "input_held"));
		expect(client.events.find(({ event }) => event === "input_held")).toMatchObject({ limit: 4095 });
		expect(await client.facts()).toMatchObject({ canonical: true, queued: 0 });
		expect(await client.type("\x03", { priority: true })).toEqual({ done: 12_002 });
		expect(await client.exited()).toMatchObject({ code: 130 });
		expect(client.events.find(({ event }) => event === "input_dropped").bytes).toBeGreaterThan(7000);
	});

	test("lines of the greatest length behind the command that reads them, and its end", async () => {
		const { client, file } = await atPrompt();
		const lines = Array.from({ length: 20 }, (_, i) => `${String.fromCharCode(97 + i).repeat(4095 - (i % 3))}\n`).join(
			"",
		);
		await client.type(`cat > f\n${lines}\x04echo done $?\n`);
		await client.until(() => client.text.includes("done 0"));
		expect(readFileSync(file, "utf8")).toBe(lines);
	});

	test.each(SLOWED ? [1] : [1, 2, 3])(
		"lines of any length to a program that keeps changing its mode (%i)",
		needing("python3"),
		async (seed) => {
			const random = createRandom(seed);
			const lines = Array.from({ length: 150 }, () => {
				const bytes = Buffer.alloc(1 + Math.floor(random() ** 3 * 12_000));
				for (let i = 0; i < bytes.length; i++) bytes[i] = 0x61 + Math.floor(random() * 26);
				bytes[bytes.length - 1] = 0x0a;
				return bytes;
			});
			const all = Buffer.concat(lines);
			const program = join(import.meta.dirname, "../fixtures/switches-modes.py");
			const { client } = await ready(["python3", program, String(all.length), String(seed)]);
			for (const line of lines) {
				let answer = await client.type(line);
				// Refused whole while the program reads lines: try again in its next mode.
				while (answer.refused === "line_too_long") answer = await client.type(line);
				expect(answer.refused).toBe(undefined);
			}
			await client.exited();
			expect(client.text).toContain(`${all.length} ${createHash("sha256").update(all).digest("hex")}`);
		},
	);

	test.runIf(process.getuid?.() === 0).each([
		["borrowed from its program", "", 0],
		["of which nothing is known", "import ctypes; ctypes.CDLL(None).prctl(4, 0)", null],
	])(
		"A10: an exclusive terminal, %s: input arrives, and Ctrl+C gets through",
		needing("python3"),
		async (_whose, prepare, unread) => {
			const dir = sessionDirectory();
			chmodSync(dir, 0o777);
			const holder = join(dir, "holder");
			copyFileSync(HOLDER, holder);
			const program = [
				prepare,
				"import fcntl, hashlib, os, signal, sys, termios, tty",
				"fcntl.ioctl(0, termios.TIOCEXCL)",
				"tty.setcbreak(0)",
				"signal.signal(signal.SIGINT, lambda *_: os._exit(9))",
				"print('ready', flush=True)",
				"data = b''",
				"while len(data) < 200000: data += os.read(0, 65536)",
				"print(hashlib.sha256(data).hexdigest(), flush=True)",
				"while True: signal.pause()",
			];
			const session = await launch({
				argv: ["python3", "-c", program.join("\n")],
				through: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
				dir,
				holder,
			});
			const client = await Client.open(session.socket);
			await client.until(() => client.text.includes("ready"));
			expect(await client.facts()).toMatchObject({ unread: UNDER_VALGRIND ? null : unread });
			const bytes = Buffer.alloc(200_000, "exclusive ");
			await client.type(bytes);
			await client.until(() => client.text.includes(createHash("sha256").update(bytes).digest("hex")));
			await client.type(Buffer.alloc(300_000, "x"));
			await client.type("\x03", { priority: true });
			expect(await client.exited()).toMatchObject({ code: 9 });
		},
	);
});

describe("the priority lane", () => {
	test("goes in front of what is queued", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"stty raw -echo; echo ready; sleep 0.5; exec od -An -c -w1 -v -N 400000 | tail -n 400000 | tr -d ' \\n' | tr -s a",
		]);
		await client.type(Buffer.alloc(399_999, 0x61));
		await client.type("Z", { priority: true });
		await client.exited();
		const at = client.text.replaceAll("\r", "");
		expect(at).toMatch(/aZa/);
	});

	test("Ctrl+C reaches a program that does not read, through a full queue, and the queue is dropped", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"trap 'echo caught; exit 1' INT; stty -icanon -echo; echo ready; while :; do sleep 0.05; done",
		]);
		await client.type(Buffer.alloc(1 << 20, 0x61));
		expect(await client.type("\x03", { priority: true })).toMatchObject({ done: (1 << 20) + 1 });
		expect(await client.exited()).toMatchObject({ code: 1 });
		const dropped = client.events.find((event) => event.event === "input_dropped");
		expect(dropped.bytes).toBeGreaterThan(900_000);
	});

	test("is shown as ^C where the terminal echoes, even when it did not go through as a byte", async () => {
		const { client } = await ready([
			"bash",
			"-c",
			"trap 'echo caught; exit 1' INT; echo ready; while :; do sleep 0.05; done",
		]);
		await client.type("typed ahead\n");
		await client.type("\x03", { priority: true });
		await client.exited();
		expect(client.text).toContain("^C");
		expect(client.text).toContain("caught");
	});

	test("a Ctrl+C byte to a program in raw mode without signals is a byte", async () => {
		const { client } = await ready(["bash", "-c", "stty raw -echo; printf ready; head -c 3 | od -An -tx1; exit 0"]);
		await client.type("a");
		await client.type("\x03", { priority: true });
		await client.type("b");
		await client.exited();
		expect(client.text).toContain("61 03 62");
	});
});

describe("R3.6 after the end", () => {
	test("nothing is written to a program that ended", async () => {
		const { client } = await ready(["sh", "-c", "trap '' HUP; echo ready; sleep 1 & read x; exit 3"]);
		await client.type("\n");
		await client.until(() => client.events.some((event) => event.event === "main_exited"));
		expect(await client.type("late\n")).toMatchObject({ refused: "ended" });
		expect(await client.resize(10, 10)).toMatchObject({ refused: "ended" });
		expect(await client.signal(15, 1)).toMatchObject({ refused: "ended" });
		await client.end(0);
	});
});
