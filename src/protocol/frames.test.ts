import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameDecoder } from "./frame-decoder.ts";
import {
	askFactsFrame,
	attachFrame,
	creditFrame,
	endFrame,
	FrameType,
	type HolderFrame,
	helloFrame,
	inputFrame,
	MAX_INPUT_BYTES,
	NO_OFFSET,
	resizeFrame,
	shareFrame,
	signalFrame,
	watchFrame,
} from "./frames.ts";
import { BadFrame, parseExit, parseLaunchAnswer } from "./holder-json.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("what a client sends is byte for byte what docs/holder.md specifies", () => {
	test.each([
		[
			"HELLO",
			helloFrame({ owner: true, epoch: 7n, secret: Buffer.alloc(32, 0xcd) }),
			`3800000001000000 44544e31 0100 0100 01000000 00000000 0700000000000000 ${"cd".repeat(32)}`,
		],
		[
			"HELLO to a holder of version 0.1.0",
			helloFrame({ owner: true, epoch: 7n, secret: null }),
			"1800000001000000 44544e31 0100 0100 01000000 00000000 0700000000000000",
		],
		["ATTACH", attachFrame(5n, 9n), "1000000002000000 0500000000000000 0900000000000000"],
		["ATTACH from the end", attachFrame(NO_OFFSET, 9n), "1000000002000000 ffffffffffffffff 0900000000000000"],
		["CREDIT", creditFrame(1n << 32n), "0800000003000000 0000000001000000"],
		[
			"INPUT",
			inputFrame({ request: 3, bytes: Buffer.from("hi"), inputOffset: 2n, writeId: Buffer.alloc(16, 0xab) }),
			`2200000004000000 03000000 00000000 0200000000000000 ${"ab".repeat(16)} 6869`,
		],
		[
			"INPUT with priority, appended, without an id",
			inputFrame({ request: 3, bytes: Buffer.from("\x03"), priority: true }),
			`2100000004000000 03000000 01000000 ffffffffffffffff ${"00".repeat(16)} 03`,
		],
		["RESIZE", resizeFrame(4, 120, 40), "0c00000005000000 04000000 7800 2800 0000 0000"],
		["SIGNAL", signalFrame(5, 15, "tree"), "0800000006000000 05000000 0f 02 0000"],
		["END", endFrame(6, 2000), "0800000007000000 06000000 d0070000"],
		["FACTS", askFactsFrame(7), "0400000008000000 07000000"],
		["WATCH", watchFrame(8, true, 50), "0c00000009000000 08000000 01000000 32000000"],
		["SHARE", shareFrame(19), "080000000a000000 13000000 00000000"],
	])("%s", (_name, bytes, expected) => {
		expect(hex(bytes)).toBe(expected.replaceAll(" ", ""));
	});

	test("an empty or oversized INPUT is refused here, before the holder hangs up on it", () => {
		expect(() => inputFrame({ request: 1, bytes: new Uint8Array(0) })).toThrow(RangeError);
		expect(() => inputFrame({ request: 1, bytes: new Uint8Array(MAX_INPUT_BYTES + 1) })).toThrow(RangeError);
	});
});

/** A holder's frame, made the way the holder makes it. */
function frame(type: number, payload: Uint8Array): Buffer {
	const header = Buffer.alloc(8);
	header.writeUInt32LE(payload.length, 0);
	header.writeUInt8(type, 4);
	return Buffer.concat([header, payload]);
}
const u32 = (...values: number[]) => Buffer.concat(values.map((v) => Buffer.from(Uint32Array.of(v).buffer)));
const u64 = (...values: (number | bigint)[]) =>
	Buffer.concat(values.map((v) => Buffer.from(BigUint64Array.of(BigInt(v)).buffer)));
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

const exit = { code: 7, signal: null, core: false, size: 9, startedAt: 1, endedAt: 2, closed: true, reason: "exit" };
const welcome = {
	version: 1,
	shares: false,
	masks: false,
	holder: 10,
	pid: 11,
	pts: "/dev/pts/3",
	epoch: 1,
	from: 0,
	size: 9,
	inputOffset: 0,
	cols: 80,
	rows: 24,
	startedAt: 1,
	exit: null,
};
const thread = {
	pid: 12,
	tid: 12,
	command: "python3",
	foreground: true,
	doing: "tty-read",
	call: "read",
	fd: 0,
	main: true,
	switches: 3,
	fresh: true,
	inner: [{ pts: 4, vmin: 1, vtime: 0, canonical: true, echo: null, signals: true, unread: 0, threads: [] }],
};
const facts = {
	at: 1,
	readable: true,
	foregroundGroup: 12,
	foregroundLives: true,
	mainForeground: true,
	canonical: true,
	echo: false,
	signals: true,
	queued: 0,
	unread: null,
	offset: 22,
	quietMs: 5,
	sinceInputMs: null,
	threads: [thread],
	more: 0,
	vmin: 1,
	vtime: 0,
	doubts: null,
};
const conversation = Buffer.concat([
	frame(FrameType.welcome, json(welcome)),
	frame(FrameType.output, Buffer.concat([u64(0), Buffer.from("hello wor")])),
	frame(FrameType.gap, u64(9, 20)),
	frame(FrameType.output, Buffer.concat([u64(20), Buffer.from("ld")])),
	frame(FrameType.done, Buffer.concat([u32(4, 0), u64(2)])),
	frame(FrameType.refused, Buffer.concat([u32(5, 0), json({ code: "queue_full", message: "full", free: 12 })])),
	frame(FrameType.facts, Buffer.concat([u32(0, 0), json(facts)])),
	frame(FrameType.event, json({ event: "input_room", free: 9 })),
	frame(FrameType.exit, json(exit)),
	frame(FrameType.fenced, u64(12n)),
]);

/** The frames of a stream, with OUTPUT pieces that touch joined again. */
function decode(chunks: readonly Uint8Array[]): HolderFrame[] {
	const frames: HolderFrame[] = [];
	const decoder = new FrameDecoder((frame) => {
		const last = frames.at(-1);
		if (frame.type === "output" && last?.type === "output" && last.offset + last.bytes.length === frame.offset)
			frames[frames.length - 1] = { ...last, bytes: Buffer.concat([last.bytes, frame.bytes]) };
		else frames.push(frame.type === "output" ? { ...frame, bytes: Buffer.from(frame.bytes) } : frame);
	});
	for (const chunk of chunks) decoder.push(chunk);
	return frames;
}

describe("what a holder sends is decoded however the stream is split", () => {
	test("whole", () => {
		const frames = decode([conversation]);
		expect(frames.map((frame) => frame.type)).toEqual([
			"welcome",
			"output",
			"gap",
			"output",
			"done",
			"refused",
			"facts",
			"event",
			"exit",
			"fenced",
		]);
		expect(frames[0]).toEqual({ type: "welcome", welcome });
		expect(frames[4]).toEqual({ type: "done", request: 4, unsaved: false, value: 2 });
		expect(frames[5]).toMatchObject({ refusal: { code: "queue_full", free: 12 } });
		expect(frames[8]).toMatchObject({ exit: { code: 7, survivors: [], closed: true } });
		expect(frames[9]).toEqual({ type: "fenced", epoch: 12n });
	});

	test("at any place", () => {
		const whole = decode([conversation]);
		fc.assert(
			fc.property(fc.array(fc.nat(conversation.length), { maxLength: 40 }), (cuts) => {
				const places = [0, ...cuts.sort((a, b) => a - b), conversation.length];
				const chunks = places.slice(1).map((end, i) => conversation.subarray(places[i], end));
				expect(decode(chunks)).toEqual(whole);
			}),
			{ numRuns: 300 },
		);
		expect(decode([...conversation].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
	});

	test("output is not copied, and is emitted before its frame is complete", () => {
		const frames: HolderFrame[] = [];
		const decoder = new FrameDecoder((frame) => frames.push(frame));
		const chunk = frame(FrameType.output, Buffer.concat([u64(100), Buffer.alloc(50)])).subarray(0, 36);
		decoder.push(chunk);
		expect(frames).toHaveLength(1);
		expect(frames[0]).toMatchObject({ offset: 100, bytes: { length: 20, buffer: chunk.buffer } });
		decoder.push(Buffer.alloc(30));
		expect(frames[1]).toMatchObject({ offset: 120, bytes: { length: 30 } });
	});
});

describe("nonsense is refused, and so is all that follows it", () => {
	test.each([
		["a type that no holder sends", frame(0x01, Buffer.alloc(24))],
		["a length beyond the protocol", Buffer.from("ffffffff82000000", "hex")],
		["an empty OUTPUT", frame(FrameType.output, u64(0))],
		["a short GAP", frame(FrameType.gap, u64(1))],
		["a backward GAP", frame(FrameType.gap, u64(5, 4))],
		["a header with nonzero reserved bytes", Buffer.from("0800000089010000", "hex")],
		["an offset of 2^60", frame(FrameType.gap, u64(0, 1n << 60n))],
		["invalid JSON", frame(FrameType.event, Buffer.from("{nonsense"))],
		["JSON that is not an object", frame(FrameType.event, Buffer.from("[1]"))],
		["a welcome without a size", frame(FrameType.welcome, json({ ...welcome, size: "9" }))],
		["an exit without a code", frame(FrameType.exit, json({ closed: true }))],
	])("%s", (_name, bytes) => {
		const decoder = new FrameDecoder(() => {});
		expect(() => decoder.push(bytes)).toThrow(BadFrame);
		expect(() => decoder.push(conversation)).toThrow(BadFrame);
	});

	test("random bytes never do anything but throw BadFrame or wait for more", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
				try {
					new FrameDecoder(() => {}).push(bytes);
				} catch (error) {
					expect(error).toBeInstanceOf(BadFrame);
				}
			}),
			{ numRuns: 2000 },
		);
	});

	test("an exit file that is malformed", () => {
		expect(parseExit(JSON.stringify(exit))).toMatchObject({ code: 7, lost: 0 });
		expect(() => parseExit('{"code":1')).toThrow(BadFrame);
	});
});

/** The one frame that a holder of another version or in another mood sends. */
const only = (type: number, payload: Uint8Array) => decode([frame(type, payload)])[0];
const factsFrame = (value: unknown) => only(FrameType.facts, Buffer.concat([u32(0, 0), json(value)]));

describe("the JSON of other versions of the holder is checked at the door", () => {
	test("fields that we do not know are dropped, optional ones get their default", () => {
		const missing = { more: undefined, vmin: undefined, vtime: undefined, doubts: undefined };
		expect(factsFrame({ ...facts, ...missing, new: 7 })).toEqual({ type: "facts", request: 0, facts });
		expect(
			only(FrameType.welcome, json({ ...welcome, exit: undefined, shares: undefined, masks: undefined, mood: "fine" })),
		).toEqual({
			type: "welcome",
			welcome,
		});
	});

	test("words that we do not know fall back; an event that we do not know is none", () => {
		expect(factsFrame({ ...facts, threads: [{ ...thread, doing: "dreaming" }] })).toMatchObject({
			facts: { threads: [{ doing: "unknown" }] },
		});
		expect(only(FrameType.refused, Buffer.concat([u32(1, 0), json({ code: "moody" })]))).toMatchObject({
			refusal: { code: "system", message: "refused" },
		});
		expect(only(FrameType.event, json({ event: "sneezed", loudly: true }))).toBeUndefined();
		expect(only(FrameType.event, json({ event: "constructor" }))).toBeUndefined();
	});

	test.each([
		...Object.keys(facts).map((field) => ["facts", field] as const),
		...Object.keys(thread).map((field) => ["thread", field] as const),
		...Object.keys(welcome).map((field) => ["welcome", field] as const),
		...Object.keys(exit).map((field) => ["exit", field] as const),
	])("a value of the wrong type is named: %s %s", (where, field) => {
		const wrong = { [field]: { no: "such thing" } };
		const send = {
			facts: () => factsFrame({ ...facts, ...wrong }),
			thread: () => factsFrame({ ...facts, threads: [{ ...thread, ...wrong }] }),
			welcome: () => only(FrameType.welcome, json({ ...welcome, ...wrong })),
			exit: () => only(FrameType.exit, json({ ...exit, ...wrong })),
		};
		expect(send[where]).toThrow(BadFrame);
		expect(send[where]).toThrow(field === "exit" ? "code" : field);
	});

	test("the answer to a launch", () => {
		const ok = { ok: true, holder: 1, pid: 2, pts: "/dev/pts/1" };
		expect(parseLaunchAnswer(JSON.stringify(ok))).toEqual(ok);
		const failed = { ok: false, stage: "exec", errno: 2, code: "ENOENT", message: "No such file" };
		expect(parseLaunchAnswer(JSON.stringify(failed))).toEqual(failed);
		expect(parseLaunchAnswer(JSON.stringify({ ...failed, stage: "novel" }))).toMatchObject({ stage: "launch" });
		for (const bad of ["", "[]", '{"ok":1}', '{"ok":true,"holder":"1","pid":2,"pts":"x"}'])
			expect(() => parseLaunchAnswer(bad)).toThrow(BadFrame);
	});
});
