import { Terminal } from "@xterm/headless";
import type { IBuffer } from "@xterm/xterm";
import { expect, test } from "vitest";
import { THEME } from "../../src/terminal/colors.ts";
import { runsOf, shownPart } from "./cell-painter.ts";

async function bufferAfter(output: string, size = { cols: 100, rows: 30 }) {
	const terminal = new Terminal({ ...size, allowProposedApi: true, logLevel: "off" });
	await new Promise<void>((done) => terminal.write(output, done));
	return { buffer: terminal.buffer.active as unknown as IBuffer, size };
}

test("letters of one colour are one run; blanks are in none, unless they have a background", async () => {
	const { buffer } = await bufferAfter("ab  \x1b[31mred\x1b[m \x1b[41m  \x1b[m \x1b[7mx\x1b[m");
	const runs = runsOf(buffer, 0, 100).map(({ column, text, background }) => [column, text, background !== null]);
	expect(runs).toEqual([
		[0, "ab", false],
		[4, "red", false],
		[8, "  ", true],
		[11, "x", true],
	]);
	expect(runsOf(buffer, 0, 100)[3]).toMatchObject({ foreground: THEME.background, background: THEME.foreground });
});

test("wide characters are drawn in their own place", async () => {
	const { buffer } = await bufferAfter("a漢b");
	expect(runsOf(buffer, 0, 100).map(({ column, text }) => [column, text])).toEqual([
		[0, "a"],
		[1, "漢"],
		[3, "b"],
	]);
});

test("of lines the newest are shown, larger when they are short; of a full screen all", async () => {
	const picture = { width: 300, height: 180 };
	const lines = await bufferAfter("x\r\n".repeat(29));
	expect(shownPart(lines.buffer, lines.size, picture)).toMatchObject({ cols: 60, rows: 18, firstRow: 12 });
	const few = await bufferAfter("x\r\n");
	expect(shownPart(few.buffer, few.size, picture)).toMatchObject({ firstRow: 0 });
	const full = await bufferAfter("\x1b[?1049hx");
	expect(shownPart(full.buffer, full.size, picture)).toMatchObject({ cols: 100, rows: 30, firstRow: 0 });
});
