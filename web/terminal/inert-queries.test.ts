// The same parser as in the browser, without a screen.

import { Terminal } from "@xterm/headless";
import { expect, test } from "vitest";
import { makeInert } from "./inert-queries.ts";
import { MouseModes } from "./mouse-modes.ts";

/** All that the terminal answers to an output. */
async function answersTo(output: string, prepare: (terminal: Terminal) => void): Promise<string[]> {
	const terminal = new Terminal({ allowProposedApi: true, logLevel: "off" });
	prepare(terminal);
	const answers: string[] = [];
	terminal.onData((data) => answers.push(data));
	await new Promise<void>((done) => terminal.write(output, done));
	terminal.dispose();
	return answers;
}

const QUERIES = [
	"\x1b[c",
	"\x1b[0c",
	"\x1b[>c",
	"\x1b[=c",
	"\x1b[5n",
	"\x1b[6n",
	"\x1b[?6n",
	"\x1b[?996n",
	"\x1b[4$p",
	"\x1b[?2026$p",
	"\x1b[>q",
	"\x1b[?u",
	"\x1b[14t",
	"\x1b[18t",
	"\x1b[21t",
	"\x1b[x",
	"\x1bZ",
	"\x1b]4;1;?\x07",
	"\x1b]10;?\x1b\\",
	"\x1b]11;?\x07",
	"\x1b]12;?\x07",
	"\x1b]52;c;?\x07",
	"\x1bP$qm\x1b\\",
	"\x1bP+q544e\x1b\\",
	"\x05",
];

test("the page answers no query, in whatever output it is", async () => {
	for (const query of QUERIES)
		expect(await answersTo(`a${query}b`, (terminal) => makeInert(terminal.parser)), JSON.stringify(query)).toEqual([]);
	expect(await answersTo(QUERIES.join("text"), (terminal) => makeInert(terminal.parser))).toEqual([]);
});

test("this test can fail: a plain terminal answers", async () => {
	expect(await answersTo(QUERIES.join(""), () => {})).not.toEqual([]);
});

test("what is drawn stays as it is", async () => {
	const terminal = new Terminal({ allowProposedApi: true, logLevel: "off", cols: 20, rows: 2 });
	makeInert(terminal.parser);
	await new Promise<void>((done) => terminal.write("\x1b]0;title\x07\x1b[31mred\x1b[m\x1b[6n\x1b[1;10Hx", done));
	expect(terminal.buffer.active.getLine(0)!.translateToString(true)).toBe("red      x");
	terminal.dispose();
});

test("who watches keeps the mouse; who takes over gives it to the program, and takes it back", async () => {
	const terminal = new Terminal({ allowProposedApi: true, logLevel: "off" });
	const written = (data: string) => new Promise<void>((done) => terminal.write(data, done));
	const mouse = new MouseModes(terminal.parser, (data) => terminal.write(data));
	await written("\x1b[?1002h\x1b[?1006h");
	expect(terminal.modes.mouseTrackingMode).toBe("none");
	mouse.drive(true);
	await written("");
	expect(terminal.modes.mouseTrackingMode).toBe("drag");
	mouse.drive(false);
	await written("");
	expect(terminal.modes.mouseTrackingMode).toBe("none");
	mouse.drive(true);
	await written("\x1b[?1002l");
	expect(terminal.modes.mouseTrackingMode).toBe("none");
	mouse.drive(false);
	mouse.drive(true);
	await written("");
	expect(terminal.modes.mouseTrackingMode).toBe("none");
	terminal.dispose();
});
