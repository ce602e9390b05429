// Who may do what, and what becomes of those who do not keep to the protocol.

import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import {
	Client,
	cleanUp,
	gone,
	HOLDER,
	launch,
	record,
	SLOWED,
	sessionDirectory,
	Tag,
	u16,
	u32,
	u64,
} from "./raw-holder.ts";

afterEach(cleanUp);

const hello = (lowest = 1, highest = 1, magic = 0x314e5444) =>
	Buffer.concat([u32(magic), u16(lowest, highest), u32(0, 0), u64(0)]);

describe("the owner and its epoch", () => {
	test("a newer owner fences the one before it, for good", async () => {
		const session = await launch({ argv: ["cat"] });
		const first = await Client.open(session.socket, { epoch: 5 });
		const second = await Client.open(session.socket, { epoch: 6 });
		await first.until(() => first.fencedBy !== null);
		expect(first.fencedBy).toBe(6n);
		expect(await first.type("x")).toMatchObject({ refused: "fenced" });
		expect(await first.resize(9, 9)).toMatchObject({ refused: "fenced" });
		expect(await first.signal(15, 1)).toMatchObject({ refused: "fenced" });
		expect(await first.end(0)).toMatchObject({ refused: "fenced" });
		expect(await second.type("hello\n")).toEqual({ done: 6 });
		await first.until(() => first.text.includes("hello")); // it may still look
		second.close();
		await expect(Client.open(session.socket, { epoch: 5 })).rejects.toThrow("fenced");
		const same = await Client.open(session.socket, { epoch: 6 });
		expect(same.welcome).toMatchObject({
			epoch: 6,
			inputOffset: 6,
			exit: null,
			pid: session.pid,
			holder: session.holder,
		});
	});

	test("one that ends with its owner does so 5 s after the last connection, and not while one is back", async () => {
		const session = await launch({ argv: ["cat"], records: [record(Tag.flags, u32(2))] });
		const first = await Client.open(session.socket, { epoch: 5 });
		const guest = await Client.open(session.socket, { owner: false });
		first.close();
		const next = await Client.open(session.socket, { epoch: 6 });
		expect(await next.type("hello\n")).toEqual({ done: 6 });
		const before = performance.now();
		next.close();
		expect(await guest.exited()).toMatchObject({ reason: "end", closed: true });
		expect(performance.now() - before).toBeGreaterThan(4900);
		await gone(session.holder);
	});

	test("who is no owner may look but not touch", async () => {
		const session = await launch({ argv: ["cat"] });
		const guest = await Client.open(session.socket, { owner: false });
		expect(await guest.type("x")).toMatchObject({ refused: "not_owner" });
		expect(await guest.end(0)).toMatchObject({ refused: "not_owner" });
		expect(await guest.facts()).toMatchObject({ canonical: true, echo: true, signals: true, offset: 0 });
		expect(await guest.watch(true)).toEqual({ done: 0 });
	});
});

describe("H8: nobody inside gets at the controls", () => {
	const secret = randomBytes(32);
	const withSecret = [record(Tag.secret, secret)];
	const seize = join(import.meta.dirname, "../fixtures/seize.py");

	test.each([
		["no secret", Buffer.alloc(0)],
		["a wrong one", randomBytes(32)],
		["a part of it", secret.subarray(0, 31)],
	])("a client with %s learns nothing, whatever its epoch; the owner stays the owner", async (_name, wrong) => {
		const session = await launch({ argv: ["cat"], records: withSecret });
		const owner = await Client.open(session.socket, { secret });
		for (const isOwner of [true, false])
			await expect(Client.open(session.socket, { owner: isOwner, epoch: 1000, secret: wrong })).rejects.toThrow(
				/"denied"|"bad_frame"/,
			);
		expect(owner.fencedBy).toBe(null);
		await owner.type("mine\n");
		await owner.until(() => owner.text.includes("mine\r\nmine"));
	});

	test.each([
		["with a secret", true],
		["without one", false],
	])(
		"a program cannot seize its own session %s, nor can a child that has left it",
		needing("python3"),
		async (_name, guarded) => {
			const dir = sessionDirectory();
			writeFileSync(join(dir, "known"), guarded ? secret : "");
			const session = await launch({
				argv: ["python3", seize, join(dir, "s"), join(dir, "known")],
				records: guarded ? withSecret : [],
				dir,
			});
			const owner = await Client.open(session.socket, { epoch: 1, secret: guarded ? secret : Buffer.alloc(0) });
			await owner.until(() => owner.text.includes("its orphan got"));
			expect(owner.text).toContain("the program got 0x85 denied");
			expect(owner.text).toContain("its orphan got 0x85 denied");
			expect(owner.fencedBy).toBe(null);
			expect(await owner.type("no\n")).toEqual({ done: 3 });
			await owner.until(() => owner.text.includes("asked: no"));
		},
	);

	test("200 silent connections do not lock the owner out, and none of them stays", async () => {
		const session = await launch({ argv: ["cat"], records: withSecret });
		const silent = [];
		for (let i = 0; i < 200; i++) {
			const socket = connect(session.socket).on("error", () => {});
			await new Promise((resolve) => socket.once("connect", resolve));
			silent.push({ socket, closed: new Promise((resolve) => socket.once("close", resolve)) });
			socket.resume();
			if (i % 50 === 49) {
				const owner = await Client.open(session.socket, { epoch: i, secret });
				await owner.type(`turn ${i}\n`);
				await owner.until(() => owner.text.includes(`turn ${i}`));
				owner.close();
			}
		}
		await Promise.all(silent.map(({ closed }) => closed));
	});

	test("a HELLO that was sent in time is received by a holder that was stopped for longer than it may take", async () => {
		const session = await launch({ argv: ["cat"], records: withSecret });
		const first = await Client.open(session.socket, { secret });
		const second = new Client(session.socket);
		await new Promise((resolve) => second.socket.once("connect", resolve));
		await first.facts(); // the second has been accepted
		process.kill(session.holder, "SIGSTOP");
		second.send(0x01, Buffer.concat([hello(), secret]));
		await new Promise((resolve) => setTimeout(resolve, 2500));
		process.kill(session.holder, "SIGCONT");
		await second.frame((frame) => frame.type === 0x81);
	});

	// A leak checker has to get at it: built for one, a holder stays open.
	test.runIf(process.getuid?.() === 0 && !SLOWED)(
		"no process of the same user gets at its memory or its descriptors",
		async () => {
			const dir = sessionDirectory();
			chmodSync(dir, 0o777);
			const holder = join(dir, "holder");
			copyFileSync(HOLDER, holder);
			const session = await launch({
				argv: [
					"sh",
					"-c",
					"head -c 1 /proc/$PPID/mem; ls /proc/$PPID/fd; cat /proc/$PPID/environ; echo; echo $(id -u) asked; read x",
				],
				through: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
				records: withSecret,
				dir,
				holder,
			});
			const owner = await Client.open(session.socket, { secret });
			await owner.until(() => owner.text.includes("65534 asked"));
			expect(owner.text.match(/Permission denied/g)).toHaveLength(3);
			expect(statSync(`/proc/${session.pid}/mem`).uid).toBe(65534); // the program's own is its own
			expect(await owner.facts()).toMatchObject({ readable: true, threads: [{ pid: session.pid }] });
		},
	);
});

describe("the protocol", () => {
	test.each([
		["a type that does not exist", 0x7f, Buffer.alloc(4)],
		["an answer's type", 0x82, Buffer.alloc(16)],
		["a frame that is too short", 0x02, Buffer.alloc(15)],
		["a frame that is too long", 0x08, Buffer.alloc(5)],
		["input without a byte", 0x04, Buffer.alloc(32)],
		["a second hello", 0x01, hello()],
	])("%s ends that connection and nothing else", async (_name, type, payload) => {
		const session = await launch({ argv: ["cat"] });
		const good = await Client.open(session.socket);
		const bad = await Client.open(session.socket, { owner: false });
		bad.send(type, payload);
		await bad.until(() => bad.frames.some((frame) => frame.type === 0x85));
		expect(JSON.parse(bad.frames.at(-1)!.payload.subarray(8).toString())).toMatchObject({ code: "bad_frame" });
		await expect(bad.until(() => false)).rejects.toThrow("ended first");
		await good.type("still here\n");
		await good.until(() => good.text.includes("still here\r\nstill here"));
	});

	test.each([
		["a request before the greeting", 0x08, u32(1), "bad_frame"],
		["a wrong magic", 0x01, hello(1, 1, 7), "bad_frame"],
		["only newer versions", 0x01, hello(2, 9), "version"],
	])("%s is refused", async (_name, type, payload, code) => {
		const session = await launch({ argv: ["cat"] });
		const client = new Client(session.socket);
		client.send(type, payload);
		const refused = await client.frame((frame) => frame.type === 0x85);
		expect(JSON.parse(refused.payload.subarray(8).toString())).toMatchObject({ code });
	});

	test("a hello that arrives byte by byte is understood", async () => {
		const session = await launch({ argv: ["cat"] });
		const socket = connect(session.socket);
		const answered = new Promise<Buffer>((resolve) => socket.once("data", resolve));
		const bytes = Buffer.concat([Buffer.from([24, 0, 0, 0, 1, 0, 0, 0]), hello()]);
		for (const byte of bytes) {
			socket.write(Buffer.from([byte]));
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect((await answered)[4]).toBe(0x81);
		socket.destroy();
	});

	test("the 64th reader is refused: that place is the owner's, and there is room again when one goes", async () => {
		const session = await launch({ argv: ["cat"] });
		const clients = [];
		for (let i = 0; i < 63; i++) clients.push(await Client.open(session.socket, { owner: false }));
		await expect(Client.open(session.socket, { owner: false })).rejects.toThrow('"code":"system"');
		const first = await Client.open(session.socket);
		await first.type("room\n");
		await first.until(() => first.text.includes("room"));
		// The next owner takes the place of the one that it replaces.
		const second = await Client.open(session.socket, { epoch: 2 });
		await second.type("mine\n");
		await second.until(() => second.text.includes("mine"));
		clients[7]!.close();
		second.close();
		await clients[8]!.facts(); // one turn of its loop later
		clients.push(await Client.open(session.socket, { owner: false }));
		for (const client of clients) client.close();
	});

	test("random bytes never end the session", async () => {
		const session = await launch({ argv: ["cat"] });
		for (let i = 0; i < 200; i++) {
			const socket = connect(session.socket);
			socket.on("error", () => {});
			socket.resume();
			const noise = Buffer.from(
				Array.from({ length: 1 + Math.floor(Math.random() * 300) }, () => Math.floor(Math.random() * 256)),
			);
			const greeted = Buffer.concat([
				Buffer.from([24, 0, 0, 0, 1, 0, 0, 0]),
				hello(),
				Buffer.from([8, 0, 0, 0, i % 11, 0, 0, 0]),
				noise,
			]);
			socket.end(i % 2 ? noise : greeted);
			await new Promise((resolve) => socket.once("close", resolve));
		}
		const client = await Client.open(session.socket);
		await client.type("alive\n");
		await client.until(() => client.text.includes("alive"));
	});
});
