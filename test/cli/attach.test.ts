// A person at a session. The person's terminal is itself one of ours, so that what
// they would see, and what is left of their terminal afterwards, can be asked.

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { until } from "../condition.ts";
import { PLAIN_MODES } from "../plain-modes.ts";
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
				// In two pieces, so that the typed line does not look like the answer when it comes back on the screen.
				text: `${process.execPath} ${MAIN} attach ${session}; echo "left ""with $?"`,
				submit: true,
				until: { text: until, only: true },
			}),
		/** The process that their shell runs now. */
		childNamed: async (program: string) => {
			const { sessions } = (await desk.client.call("list", {})).facts;
			const shell = sessions.find((one) => one.name === name)!.pid;
			return Number(spawnSync("pgrep", ["-P", String(shell), "-x", program], { encoding: "utf8" }).stdout.trim());
		},
		/** Everything their terminal was sent. */
		printed: async () => {
			const { base64 } = (await desk.client.call("read", { session: name, view: "raw", from: 0 })).facts;
			return Buffer.from(base64!, "base64");
		},
		waitFor: (until: string) => call("wait", { until: { text: until, only: true } }),
	};
}

test("C4: Ctrl+C on `run` is for the command, and the exit code is the command's", async () => {
	const someone = await person();
	await line.run(["run", "true"]);
	const typed = someone.type(`${process.execPath} ${MAIN} run 'sleep 600'; echo "left ""with $?"`, "left with");
	await until("the command runs", async () => (await line.run(["ls"])).out.includes("working"));
	await someone.press(["ctrl+c"], "left with 130");
	await typed;
	expect(await line.run(["run", "echo usable"])).toMatchObject({ out: "usable\n", code: 0 });
});

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
	test("to a session whose holder does not answer says so, and how to leave", async () => {
		await line.run(["start", "--name", "stuck", "cat"]);
		const { sessions } = (await line.json(["ls"])) as { sessions: { name: string; pid: number }[] };
		const holder = holderOf(sessions.find(({ name }) => name === "stuck")!.pid);
		const ada = await person(120);
		await ada.attach("stuck", "attached to stuck");
		process.kill(holder, "SIGSTOP");
		try {
			await ada.type("x", "is not responding");
			expect(await ada.sees()).toContain('Ctrl+\\ twice detaches · Session "stuck" is not responding: its holder');
			await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		} finally {
			process.kill(holder, "SIGCONT");
		}
	});

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

	test("C2: it says on the screen how to detach, and leaves screen, cursor, title and modes as they were", async () => {
		// Margins, origin mode, a hidden cursor, mouse, colours, a cleared scrollback, and on the alternate screen.
		const rude = "\\033[?1049h\\033[5;10r\\033[?6h\\033[?25l\\033[?1000h\\033[?2004h\\033[4h\\033[3J\\033[31mrude";
		await inside("rude", `printf '${rude}'; cat`);
		const ada = await person();
		await ada.type("clear; seq 1 5", "5");
		const before = await ada.sees();
		await ada.attach("rude", "detaches");
		const attached = await ada.sees();
		expect(attached).toContain("attached to rude · Ctrl+\\ twice detaches");
		expect(attached).not.toMatch(/^[1-5]$/m);
		// After a moment the hint is gone and the screen is the program's alone.
		await expect.poll(ada.sees, { timeout: 10_000 }).toBe(`${"\n".repeat(4)}rude`);
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		const after = (await ada.sees()).split("\n");
		expect(after.slice(0, 5)).toEqual(before.split("\n").slice(0, 5));
		expect(after.slice(-3)).toEqual([expect.stringContaining("detached from rude"), "left with 0", "desk$ "]);
		expect(after.filter((text) => text.includes("rude"))).toHaveLength(2); // what they typed, and what we said
		const screen = new Screen({ cols: 100, rows: 30 });
		const raw = await ada.printed();
		screen.feed(raw);
		expect({ ...screen.modes, bracketedPaste: false }).toEqual(PLAIN_MODES); // bash asks for pastes at its prompt
		const text = Buffer.from(raw).toString("latin1");
		expect(text.indexOf("\x1b[22;0t")).toBeGreaterThan(0);
		expect(text.indexOf("\x1b[23;0t")).toBeGreaterThan(text.lastIndexOf("\x1b]2;"));
	});

	test("C2: a program that leaves its full screen shows what was there before", async () => {
		await inside("two", "");
		const ada = await person();
		await ada.attach("two", "inner$");
		await ada.type("echo first; printf '\\033[?1049h\\033[Hfull'; read; printf '\\033[?1049l'; echo last", "full");
		await expect.poll(ada.sees, { timeout: 10_000 }).toBe("full");
		await ada.type("", "last");
		await expect.poll(ada.sees, { timeout: 10_000 }).toMatch(/echo first[\s\S]*^first\nlast\ninner\$ ?$/m);
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
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

	test("T13: of another's session they are told whose it is, and how they get back to that one", async () => {
		const agent = { ...line.env, DIALTONE_OWNER: "mcp:agent" };
		const start = [MAIN, "start", "--name", "main", "--", "cat"];
		expect(spawnSync(process.execPath, start, { env: agent }).status).toBe(0);
		const { sessions } = (await line.json(["ls"])) as unknown as { sessions: { session: string; owner: string }[] };
		const { session } = sessions.find(({ owner }) => owner === "mcp:agent")!;
		const ada = await person();
		await ada.attach(session, "attached to main of mcp:agent");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		const sees = (await ada.sees()).replaceAll("\n", "");
		expect(sees).toContain("detached from main of mcp:agent; it keeps running.");
		expect(sees).toContain(`Reattach: dialtone attach ${session}`);
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

	test("R4.11 who is attached drives: an agent is refused until they detach, and is told what they typed", async () => {
		await inside("shared", "exec cat");
		const ada = await person();
		await ada.attach("shared", "attached to shared");
		const refused = await line.run(["send", "shared", "from the agent", "--json"]);
		expect(refused.code).not.toBe(0);
		expect(JSON.stringify(refused)).toContain("driven_by_human");
		await ada.type("by hand", "by hand");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		const { out } = await line.run(["read", "shared", "--text"]).catch(() => ({ out: "" }));
		const told = out || JSON.stringify(await line.json(["read", "shared"]));
		expect(told).toMatch(/A person \([^)]+\) typed 8 keys/);
		expect((await line.run(["send", "shared", "again"])).code).toBe(0);
	});

	test("R4.11 whoever looks in between takes nothing of what the agent must be told and see", async () => {
		await inside("looked-at", "exec cat");
		const ada = await person();
		await ada.attach("looked-at", "attached to looked-at");
		await ada.type("by hand", "by hand");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		await ada.type("clear", "inner$");
		await ada.attach("looked-at --watch", "watching looked-at");
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		for (const command of [["logs"], ["logs", "--tail", "1"], ["export", "--format", "text"]])
			expect((await line.run([command[0]!, "looked-at", ...command.slice(1)])).out).toContain("by hand");
		const blind = await line.run(["send", "looked-at", "blind", "--json"]);
		expect(JSON.stringify(blind)).toContain("typed_by_human");
		expect(JSON.stringify(await line.json(["read", "looked-at"]))).toMatch(/A person \([^)]+\) typed 8 keys/);
	});

	test("R4.11 who only watches does not drive", async () => {
		await inside("watched", "exec cat");
		const ada = await person();
		await ada.attach("watched --watch", "watching watched");
		expect((await line.run(["send", "watched", "from the agent"])).code).toBe(0);
		await ada.waitFor("from the agent");
		await ada.type("not typed", "").catch(() => {});
		await ada.press(["ctrl+\\", "ctrl+\\"], "left with 0");
		expect(JSON.stringify(await line.json(["read", "watched"]))).not.toContain("not typed");
	});

	test("an ended session is shown with its end", async () => {
		await inside("over", "echo bye; exit 3");
		const ada = await person();
		await ada.attach("over", "left with 3");
		expect(await ada.sees()).toContain("bye");
	});
});
