import { expect, test } from "vitest";
import { Screen } from "./screen.ts";

const cases: readonly (readonly [sentence: string, output: string, ends: boolean])[] = [
	["a command was typed and has printed nothing", "$ sleep 30\r\n", true],
	["a multiplexer has its status on the last row", "$ sleep 30\r\n\x1b[s\x1b[5;1Hstatus\x1b[u", true],
	["an editor marks the rows below", "\x1b[2;1H~\x1b[3;1H~\x1b[1;1H", false],
	["the cursor is on the last row, where nothing can be below", "\x1b[5;1H", false],
];

test.each(cases)("A11 %s", (_, output, ends) => {
	const screen = new Screen({ cols: 20, rows: 5 });
	screen.feed(Buffer.from(output));
	expect(screen.endsAtCursor).toBe(ends);
	screen.dispose();
});
