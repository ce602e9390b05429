import { expect, test } from "vitest";
import { PtyCreationError } from "./errors.ts";
import { type LaunchSpec, launchBlock } from "./launch-block.ts";

const spec: LaunchSpec = {
	directory: "/d",
	socketPath: "/s",
	argv: ["sh", "-c", ""],
	env: { A: "1", B: "x=y" },
	cwd: "/",
	cols: 120,
	rows: 40,
	epoch: 1n,
};
const secret = Buffer.alloc(32, 0x5a);

/** The records of a block: tag and value. */
function records(block: Buffer): [number, string][] {
	const found: [number, string][] = [];
	for (let at = 0; at < block.length; ) {
		const length = block.readUInt32LE(at + 4);
		expect(block.readUInt16LE(at + 2)).toBe(0);
		const value = block.subarray(at + 8, at + 8 + length);
		found.push([
			block.readUInt16LE(at),
			[4, 5, 2, 3, 6, 12].includes(block.readUInt16LE(at)) ? value.toString() : value.toString("hex"),
		]);
		at += 8 + length;
	}
	return found;
}

test("a plain launch contains what docs/holder.md requires, and no more", () => {
	expect(records(launchBlock(spec, secret))).toEqual([
		[1, "01000000"],
		[2, "/d"],
		[3, "/s"],
		[4, "sh"],
		[4, "-c"],
		[4, ""],
		[5, "A=1"],
		[5, "B=x=y"],
		[6, "/"],
		[7, "7800280000000000"],
		[18, "5a".repeat(32)],
		[0, ""],
	]);
});

test("R2.10 limits, identity, quota and the rest are included when set", () => {
	const full: LaunchSpec = {
		...spec,
		limits: { cpuSeconds: 2, openFiles: 64, coreBytes: 0, wallMs: 1000 },
		uid: 1,
		gid: 2,
		quotaBytes: 2 ** 33,
		segmentBytes: 4096,
		program: "/bin/sh",
		noControllingTerminal: true,
	};
	const block = launchBlock(full, secret);
	expect(records(block).slice(10)).toEqual([
		[8, "00000000000000000200000000000000"],
		[8, "03000000000000004000000000000000"],
		[8, "05000000000000000000000000000000"],
		[9, "0100000002000000"],
		[10, "0000000002000000"],
		[11, "0010000000000000"],
		[12, "/bin/sh"],
		[13, "01000000"],
		[14, "e803000000000000"],
		[18, "5a".repeat(32)],
		[0, ""],
	]);
});

test("a NUL in an argument is refused, because a cut one would run something else", () => {
	expect(() => launchBlock({ ...spec, argv: ["echo", "a\0b"] }, secret)).toThrow(PtyCreationError);
	expect(() => launchBlock({ ...spec, env: { A: "\0" } }, secret)).toThrow(PtyCreationError);
});
