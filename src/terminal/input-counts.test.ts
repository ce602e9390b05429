import { expect, test } from "vitest";
import { countInput } from "./input-counts.ts";

const counts = (text: string) => countInput(new TextEncoder().encode(text));

test("characters and keys count one each, whatever bytes they are", () => {
	expect(counts("ls -l\r")).toEqual({ keys: 6, lines: 0 });
	expect(counts("é🦀")).toEqual({ keys: 2, lines: 0 });
	expect(counts("\x1b[A\x1bOB\x1b[1;5C\x1bx\x1b")).toEqual({ keys: 5, lines: 0 });
	expect(counts("")).toEqual({ keys: 0, lines: 0 });
});

test("a paste counts by its lines, and so does text of several lines", () => {
	expect(counts("\x1b[200~one\rtwo\x1b[201~\r")).toEqual({ keys: 1, lines: 2 });
	expect(counts("\x1b[200~one\rtwo\r\x1b[201~")).toEqual({ keys: 0, lines: 2 });
	expect(counts("one\rtwo\rthree\r")).toEqual({ keys: 0, lines: 3 });
	expect(counts("y\r\n")).toEqual({ keys: 2, lines: 0 });
});

test("the largest input takes linear time, whatever it is", () => {
	const MIB = 1 << 20;
	const startedAt = performance.now();
	for (const text of ["\r", "\x1b", "\x1b[", "\x1b[200~", "\x1b[1", "\r\x1b"]) counts(text.repeat(MIB / text.length));
	counts(`${"\r".repeat(MIB)}\x1b`);
	counts(`\x1b[${"1".repeat(MIB)}`);
	expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("reports of the mouse and of the focus are nothing that anybody pressed", () => {
	expect(counts("\x1b[<0;10;20M\x1b[<0;10;20m\x1b[I\x1b[O")).toEqual({ keys: 0, lines: 0 });
});
