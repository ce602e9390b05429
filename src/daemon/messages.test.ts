import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../session/options.ts";
import { Messages, writeMessage } from "./messages.ts";
import type { Response } from "./wire.ts";

const id = fc.nat({ max: 2 ** 40 });
const bytes = fc.uint8Array({ maxLength: 300 });
const response: fc.Arbitrary<Response> = fc.oneof(
	fc.record({ id, more: fc.record({ offset: fc.nat({ max: 2 ** 47 }), bytes }) }),
	fc.record({ id, done: fc.record({ left: fc.array(fc.string()) }) }),
);

function written(responses: readonly Response[]): Buffer {
	const socket = new PassThrough({ highWaterMark: 1 << 24 });
	const sizes = responses.map((one) => writeMessage(socket, one, limits.answerValues));
	const all = (socket.read() as Buffer | null) ?? Buffer.alloc(0);
	expect(sizes.reduce<number>((sum, size) => sum + size!, 0)).toBe(all.length);
	return all;
}

/** What a reader has of it when it arrives in pieces that end at these places. */
function read(all: Buffer, cuts: readonly number[], framed = true): readonly unknown[] {
	const messages = new Messages({ framed });
	const found: unknown[] = [];
	const places = [...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
	let from = 0;
	for (const to of places) {
		if (to > from) messages.add(all.subarray(from, to));
		from = to;
		for (let next = messages.next(); next !== null; next = messages.next()) {
			found.push("problem" in next ? next : next.value);
			if ("problem" in next) return found;
		}
	}
	return found;
}

/** As bytes compare: a part of a buffer is one, too. */
const plain = (values: readonly unknown[]) =>
	values.map((value) => {
		const { more, ...rest } = value as { more?: { offset: number; bytes: Uint8Array } };
		return more === undefined ? rest : { ...rest, offset: more.offset, bytes: Buffer.from(more.bytes).toString("hex") };
	});

describe("messages on the daemon's socket", () => {
	test("arrive as they were written, wherever they are cut", () => {
		fc.assert(
			fc.property(fc.array(response, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 20 }), (responses, cuts) => {
				expect(plain(read(written(responses), cuts))).toEqual(plain(responses));
			}),
		);
	});

	test("a daemon takes no frame", () => {
		const all = written([{ id: 1, more: { offset: 0, bytes: Buffer.from("hello\n") } }]);
		expect(read(all, [], false)).toEqual([{ problem: "a line that is not JSON" }]);
	});

	test("one that would be too large is refused before it is held, and not written", () => {
		const header = written([{ id: 1, more: { offset: 0, bytes: new Uint8Array(1) } }]).subarray(0, 17);
		header.writeUInt32BE(limits.frameBytes, 13);
		expect(read(header, [3])).toEqual([{ problem: `a frame of more than ${limits.frameBytes} bytes` }]);
		const more = { offset: 0, bytes: new Uint8Array(limits.frameBytes) };
		expect(writeMessage(new PassThrough(), { id: 1, more }, limits.answerValues)).toBeNull();
	});

	test("answers have room for long lists; what the reader would not take is not written", () => {
		const socket = new PassThrough({ highWaterMark: 1 << 24 });
		const ofValues = (count: number) => ({ id: 1, done: { left: Array.from({ length: count }, () => "x") } });
		const many = ofValues(2 * limits.frameValues);
		expect(plain(read(written([many]), []))).toEqual([many]);
		expect(writeMessage(socket, ofValues(limits.answerValues), limits.answerValues)).toBeNull();
		expect(writeMessage(socket, many, limits.frameValues)).toBeNull();
		expect(socket.read()).toBeNull();
	});
});
