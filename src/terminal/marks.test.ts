import { describe, expect, test } from "vitest";
import { type Mark, MarkScanner } from "./marks.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const aid = "5ca1ab1e";
const nonces = { aid, end: "0ddba11" };
const mark = (kind: string, rest = "", by = aid) => `\x1b]133;${kind};aid=${by}${rest}\x07`;
const scan = (text: string, offset = 0): Mark[] => [...new MarkScanner(nonces).feed(bytes(text), offset)];

describe("R5.5 marks of the shell", () => {
	test("the output of a command is what lies between its start and its end, to the byte", () => {
		const text = `$ ${mark("C", ";n=1;r=7")}hello\r\n${mark("D;3", ";n=2;r=7;pipe=1,0,3;cwd=/tmp/a%20b%C3%A9")}$ `;
		const [start, end] = scan(text, 1000);
		expect(text.slice(start!.end - 1000, end!.offset - 1000)).toBe("hello\r\n");
		expect(end).toMatchObject({ kind: "D", run: "7", exitCode: 3, pipeStatus: [1, 0, 3], cwd: "/tmp/a bé" });
	});

	test("a mark is the same mark wherever the stream is cut", () => {
		const text = `a${mark("C", ";n=1;r=7")}b\x1b[31m\x1b]0;title\x07${mark("D;0", ";n=2;r=7;pipe=0")}c`;
		const whole = scan(text);
		expect(whole).toHaveLength(2);
		const all = bytes(text);
		for (let cut = 1; cut < all.length; cut++) {
			const scanner = new MarkScanner(nonces);
			expect([...scanner.feed(all.subarray(0, cut), 0), ...scanner.feed(all.subarray(cut), cut)]).toEqual(whole);
		}
		const scanner = new MarkScanner(nonces);
		expect([...all].flatMap((it, at) => [...scanner.feed(Uint8Array.of(it), at)])).toEqual(whole);
	});

	test("a mark without the nonce, or with another, is only text", () => {
		expect(scan(`\x1b]133;D;0\x07${mark("D;0", "", "deadbeef")}${mark("D;0", "", "")}`)).toEqual([]);
	});

	test("a mark that has been seen and is shown again is only text", () => {
		const old = mark("D;0", ";n=2;r=1");
		expect(
			scan(`${mark("C", ";n=1;r=1")}${old}${mark("C", ";n=3;r=2")}${old}${mark("D;5", ";n=4;r=2")}`),
		).toMatchObject([
			{ kind: "C", run: "1" },
			{ kind: "D", run: "1" },
			{ kind: "C", run: "2" },
			{ kind: "D", run: "2", exitCode: 5 },
		]);
	});

	test("G5: a mark whose number is far ahead is only text, and those that follow it still count", () => {
		const far = mark("D;0", ";n=999999999;r=1");
		expect(scan(`${mark("C", ";n=1;r=1")}${far}${mark("D;5", ";n=2;r=1")}`)).toMatchObject([
			{ kind: "C" },
			{ kind: "D", exitCode: 5 },
		]);
		// After a gap as many may be missing as it can have swallowed.
		const scanner = new MarkScanner(nonces);
		expect([...scanner.feed(bytes(mark("D;0", ";n=500000;r=1")), 1_000_000)]).toEqual([]);
		expect([...scanner.feed(bytes(mark("D;3", ";n=25000;r=1")), 2_000_000)]).toMatchObject([{ exitCode: 3 }]);
	});

	test("a mark may end with ST, and an escape in the middle of one begins anew", () => {
		expect(scan(`\x1b]133;D;4;aid=${aid}\x1b\\`)).toMatchObject([{ kind: "D", exitCode: 4 }]);
		expect(scan(`\x1b]133;D;4;aid=\x1b]133;D;5;aid=${aid}\x07`)).toMatchObject([{ kind: "D", exitCode: 5 }]);
		expect(scan(`\x1b\x1b\x1b]133;D;6;aid=${aid}\x07`)).toMatchObject([{ kind: "D", exitCode: 6, offset: 2 }]);
	});

	test("something that begins like a mark and never ends does not hide what follows", () => {
		const endless = `\x1b]133;D;${"x".repeat(100_000)}`;
		expect(scan(`${endless}${mark("D;1")}`)).toMatchObject([{ exitCode: 1 }]);
		expect(scan(`\x1b]133;D;0\n${mark("D;1")}`)).toMatchObject([{ exitCode: 1 }]);
	});

	test("bytes that are missing end what was begun", () => {
		const scanner = new MarkScanner(nonces);
		scanner.feed(bytes(`\x1b]133;D;0;ai`), 0);
		expect([...scanner.feed(bytes(`d=${aid}\x07`), 500)]).toEqual([]);
	});
});
