// A person at a session. The person's terminal is itself one of ours, so that what
// they would see, and what is left of their terminal afterwards, can be asked.

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { needing } from "../programs.ts";
import { CommandLine, MAIN } from "./command-line.ts";

let line: CommandLine;
let desk: Dialtone;
let people = 0;

beforeAll(async () => {
	line = new CommandLine();
	desk = await Dialtone.open();
});
afterAll(async () => {
	await desk[Symbol.asyncDispose]();
	await line[Symbol.asyncDispose]();
});

/** Somebody who sits down at a shell of their own. */
async function person(cols = 100, rows = 30) {
	const name = `person${++people}`;
	const env = { ...line.env, PS1: "desk$ " };
	const call = async (tool: string, input: object) =>
		(await desk.client.call(tool, { session: name, ...input })).facts as SessionFacts;
	await desk.client.call("start", { argv: ["bash", "--norc"], name, env, cols, rows });
	return {
		type: (text: string, until: string) => call("send", { text, submit: true, until: { text: until, only: true } }),
		press: (keys: string[], until: string) => call("send", { keys, until: { text: until, only: true } }),
		resize: (cols: number, rows: number) => call("resize", { cols, rows }),
		sees: async () => (await call("read", { view: "screen" })).text,
		attach: (session: string, until: string) =>
			call("send", {
				text: `${process.execPath} ${MAIN} attach ${session}; echo "left with $?"`,
				submit: true,
				until: { text: until, only: true },
			}),
		/** The process that their shell runs now. */
		childNamed: async (program: string) => {
			const { sessions } = (await desk.client.call("list", {})).facts;
			const shell = sessions.find((one) => one.name === name)!.pid;
			return Number(spawnSync("pgrep", ["-P", String(shell), "-x", program], { encoding: "utf8" }).stdout.trim());
		},
		waitFor: (until: string) => call("wait", { until: { text: until, only: true } }),
	};
}

const inside = (name: string, script: string) =>
	line.run([
		"start",
		"--name",
		name,
		"--env",
		"PS1=inner$ ",
		"--",
		"bash",
		"--norc",
		...(script ? ["-c", script] : []),
	]);

describe("R3.7 attaching a person's terminal", () => {
	test("they see the screen as it is, type, and the program has the size of their window", async () => {
		await inside("sized", "");
		await line.run(["send", "sized", "echo before"]);
		const ada = await person(97, 29);
		await ada.attach("sized", "before");
		expect(await ada.sees()).toContain("echo before");
		expect((await ada.type("stty size", "29 97")).text).toContain("29 97");
		await ada.resize(71, 19);
		expect((await ada.type("stty size", "19 71")).text).toContain("19 71");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with");
		expect(await ada.sees()).toContain("left with 0");
	});

	test("leaving leaves the program running, and the terminal as it was", async () => {
		await inside("stays", "");
		const ada = await person();
		await ada.attach("stays", "inner$");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		expect((await ada.type("stty -a | tr ' ' '\\n' | grep -cxE 'icanon;?|echo;?|isig;?'", "3")).text).toMatch(/^3$/m);
		expect((await line.run(["ls", "--status", "running"])).out).toContain("stays");
	});

	test("the program's end is theirs too, exit code included", async () => {
		await inside("ends", "");
		const ada = await person();
		await ada.attach("ends", "inner$");
		await ada.type("exit 7", "left with");
		expect(await ada.sees()).toMatch(/ends has ended: exit code 7[\s\S]*left with 7/);
	});

	test("an order to end in the middle gives the terminal back", needing("pgrep"), async () => {
		await inside("killed", "printf '\\033[?1049h\\033[?25l\\033[?1000h'; echo here I am; cat");
		const ada = await person();
		await ada.attach("killed", "here I am");
		process.kill(await ada.childNamed("node"), "SIGTERM");
		await ada.waitFor("left with 1");
		expect(await ada.sees()).toContain("left with 143");
		expect((await ada.type("stty -a | tr ' ' '\\n' | grep -cxE 'icanon;?|echo;?|isig;?'", "3")).text).toMatch(/^3$/m);
	});

	test("a question of the program is answered once, not by both terminals", async () => {
		const ask =
			"read go; printf '\\033[6n'; IFS= read -rsd R a; IFS= read -rsd R -t 1 b; echo \"first ${#a} second ${#b}\"; cat";
		await inside("asks", ask);
		const ada = await person();
		await ada.attach("asks", "attached to asks");
		const { text } = await ada.type("go", "second");
		expect(text).toMatch(/first [4-9] second 0/);
	});

	test("an ended session is shown with its end", async () => {
		await inside("over", "echo bye; exit 3");
		const ada = await person();
		await ada.attach("over", "left with 3");
		expect(await ada.sees()).toContain("bye");
	});
});
