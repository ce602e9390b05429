// Who may do what, and what becomes of those who do not keep to the protocol.

import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Client, cleanUp, launch, u16, u32, u64 } from "./raw-holder.ts";

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

	test("who is no owner may look but not touch", async () => {
		const session = await launch({ argv: ["cat"] });
		const guest = await Client.open(session.socket, { owner: false });
		expect(await guest.type("x")).toMatchObject({ refused: "not_owner" });
		expect(await guest.end(0)).toMatchObject({ refused: "not_owner" });
		expect(await guest.facts()).toMatchObject({ canonical: true, echo: true, signals: true, offset: 0 });
		expect(await guest.watch(true)).toEqual({ done: 0 });
	});
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

	test("the 65th client is refused, and there is room again when one goes", async () => {
		const session = await launch({ argv: ["cat"] });
		const clients = [];
		for (let i = 0; i < 64; i++) clients.push(await Client.open(session.socket, { owner: false }));
		await expect(Client.open(session.socket)).rejects.toThrow('"code":"system"');
		clients[7]!.close();
		await clients[8]!.facts(); // one turn of its loop later
		const next = await Client.open(session.socket);
		await next.type("room\n");
		await next.until(() => next.text.includes("room"));
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
