import { expect, test } from "vitest";
import { momentLines, momentsIn } from "./moment-lines.ts";
import type { Moment } from "./replay.ts";

const MOMENTS: readonly Moment[] = [
	{ atUs: 0, kind: "header", name: "COMMAND", value: "écho\u2028 \u{1f600}" },
	{ atUs: 5, kind: "output", offset: 0, bytes: Buffer.from([0xc3, 0xa9, 0xff, 0x0a, 0x00]) },
	{ atUs: 7, kind: "gap", from: 5, to: 900 },
	{ atUs: 1e15, kind: "resized", cols: 90, rows: 20 },
	{ atUs: 1e15, kind: "output", offset: 900, bytes: Buffer.from([]) },
];

async function* given<T>(all: Iterable<T>): AsyncGenerator<T> {
	yield* all;
}

async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
	const list: T[] = [];
	for await (const one of all) list.push(one);
	return list;
}

test("moments are the same again, however their lines are cut", async () => {
	const sent = Buffer.from((await collected(momentLines(given(MOMENTS)))).join(""));
	for (const size of [1, 2, 7, 64, sent.length]) {
		const pieces = Array.from({ length: Math.ceil(sent.length / size) }, (_, i) =>
			sent.subarray(i * size, (i + 1) * size),
		);
		expect(await collected(momentsIn(given(pieces)))).toEqual(MOMENTS);
	}
});
