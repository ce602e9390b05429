// No call waits for nothing, and no key goes out too early: real programs that have a timer for Escape, repaint by
// themselves, drop what is typed ahead, or stop because of Ctrl+S.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone, type Terminal } from "../../src/index.ts";
import { needing } from "../programs.ts";

/** Only a call that waits for nothing takes this long. */
const PATIENT = { timeoutMs: 60_000 };
/** Far above what a busy machine needs, far below PATIENT. */
const SOON_MS = 15_000;

let dialtone: Dialtone;
let home: string;
beforeAll(async () => {
	dialtone = await Dialtone.open();
	home = mkdtempSync(join(tmpdir(), "dialtone-turns-"));
	writeFileSync(join(home, "file.txt"), Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n"));
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
});

const start = (argv: string[], env: Record<string, string> = {}): Promise<Terminal> =>
	dialtone.start({ argv, cwd: home, env: { HOME: home, TMPDIR: home, LC_ALL: "C.UTF-8", ...env }, ...PATIENT });
const screenOf = async (terminal: Terminal) => (await terminal.read({ view: "screen" })).text;

describe("A6 Escape is answered when it has been taken", () => {
	test("htop, which repaints by itself, leaves its menu at once", needing("htop"), async () => {
		const htop = await start(["htop", "-d", "5"]);
		for (let round = 0; round < 3; round++) {
			await htop.send({ keys: ["f6"], ...PATIENT });
			expect(await screenOf(htop)).toContain("Sort by");
			const left = await htop.send({ keys: ["esc"], ...PATIENT });
			expect(left).toMatchObject({ returned: "waiting", waitingFor: "screen" });
			expect(left.elapsedMs).toBeLessThan(SOON_MS);
			expect(await screenOf(htop)).not.toContain("Sort by");
		}
		await htop.close();
	});

	test.each([
		["with a shell of its own", "-U"],
		["without one", "-u"],
	])("mc %s does not take the next key as part of it", needing("mc"), async (_, flag) => {
		const mc = await start(["mc", flag]);
		await mc.send({ keys: ["f9"], ...PATIENT });
		await mc.send({ keys: ["esc"], ...PATIENT });
		await mc.send({ keys: ["f10"], ...PATIENT });
		// It leaves at once, or asks; what it must not do is type the key's letters on its command line.
		expect(mc.facts.status === "running" ? await screenOf(mc) : "").not.toContain("[21~");
		await mc.close();
	});

	test("mc: nor does it within one call", needing("mc"), async () => {
		const mc = await start(["mc", "-u"]);
		await mc.send({ keys: ["f9"], ...PATIENT });
		const left = await mc.send({ keys: ["esc", "f10"], ...PATIENT });
		expect(left.text).not.toContain("[21~");
		expect(left).toMatchObject({ returned: "ended", exit: { code: 0 } });
	});

	test("vim without a shorter timeout: the letter after Escape is a command", needing("vim"), async () => {
		const vim = await start(["vim", "-u", "NONE", "-N", "-n", "--cmd", "set showmode", "file.txt"]);
		await vim.send({ keys: ["i"], ...PATIENT });
		const left = await vim.send({ keys: ["esc"], ...PATIENT });
		expect(left.elapsedMs).toBeLessThan(SOON_MS);
		expect(await screenOf(vim)).not.toContain("-- INSERT --");
		// ESC O is the beginning of a function key; Escape and then O opens a line.
		await vim.send({ text: "O", ...PATIENT });
		await vim.send({ text: "above", ...PATIENT });
		expect((await screenOf(vim)).split("\n")[0]).toBe("above");
		await vim.close({ force: true });
	});

	test("fzf, which looks for the rest of a key every 5 ms: in one call, and in two", needing("fzf"), async () => {
		const fzf = await start(["sh", "-c", "seq 1000 | fzf --bind esc:clear-query"]);
		for (let round = 0; round < 5; round++) {
			await fzf.send({ keys: ["5", "esc", "7"], ...PATIENT });
			expect((await screenOf(fzf)).trimEnd()).toMatch(/> 7$/);
			const cleared = await fzf.send({ keys: ["esc"], ...PATIENT });
			expect(cleared.elapsedMs).toBeLessThan(SOON_MS);
			await fzf.send({ text: "8", ...PATIENT });
			expect((await screenOf(fzf)).trimEnd()).toMatch(/> 8$/);
			await fzf.send({ keys: ["esc"], ...PATIENT });
		}
		await fzf.close({ force: true });
	});

	test("… also where the call before did not wait for it", needing("vim"), async () => {
		const vim = await start(["vim", "-u", "NONE", "-N", "-n", "file.txt"]);
		await vim.send({ keys: ["i"], ...PATIENT });
		await vim.send({ keys: ["esc"], timeoutMs: 1 });
		await vim.send({ text: "O", ...PATIENT });
		await vim.send({ text: "above", ...PATIENT });
		expect((await screenOf(vim)).split("\n")[0]).toBe("above");
		await vim.close({ force: true });
	});

	test("less takes it in a blocking read, fzf ends", needing("less", "fzf"), async () => {
		const less = await start(["less", "file.txt"]);
		await less.send({ text: "/lin", ...PATIENT });
		const { certainty, because } = await less.send({ keys: ["esc"], ...PATIENT });
		expect([certainty, because]).toEqual(["certain", expect.any(String)]);
		await less.close();
		const fzf = await start(["sh", "-c", "printf 'apples\\npears\\n' | fzf"]);
		expect(await fzf.send({ keys: ["esc"], ...PATIENT })).toMatchObject({ returned: "ended", exit: { code: 130 } });
	});
});

test("A6 Escape twice in one call is a double press: mc closes its menu without a timer", needing("mc"), async () => {
	const mc = await start(["mc", "-u"]);
	await mc.send({ keys: ["f9"], ...PATIENT });
	const left = await mc.send({ keys: ["esc", "esc", "f10"], ...PATIENT });
	expect(left).toMatchObject({ returned: "ended", exit: { code: 0 } });
});

describe("A8 a prompt is a turn whatever happens beside it", () => {
	test("a node REPL with a timer", async () => {
		const node = await start([process.execPath]);
		await node.send({ text: "setInterval(() => {}, 400)", submit: true, ...PATIENT });
		const answer = await node.send({ text: "6*7", submit: true, ...PATIENT });
		expect(answer).toMatchObject({ returned: "waiting", waitingFor: "line" });
		expect(answer.elapsedMs).toBeLessThan(SOON_MS);
		await node.close({ force: true });
	});

	test.each([20, 100, 400])("a node REPL whose timer prints every %i ms", async (ms) => {
		const node = await start([process.execPath]);
		await node.send({ text: `setInterval(() => console.log("tick"), ${ms})`, submit: true, ...PATIENT });
		const answer = await node.send({ text: "6*7", submit: true, ...PATIENT });
		expect(answer).toMatchObject({ returned: "waiting", waitingFor: "line", certainty: "likely" });
		expect(answer.elapsedMs).toBeLessThan(SOON_MS);
		expect(answer.text).toContain("42");
		await node.close({ force: true });
	});

	test("fish at its first start, while it makes its completions", needing("fish", "python3"), async () => {
		const first = mkdtempSync(join(home, "first-"));
		const fish = await start(["fish"], { HOME: first });
		expect(fish.facts).toMatchObject({ returned: "waiting", waitingFor: "line" });
		expect(fish.facts.elapsedMs).toBeLessThan(SOON_MS);
		const answer = await fish.send({ text: "echo hi", submit: true, ...PATIENT });
		expect(answer.elapsedMs).toBeLessThan(SOON_MS);
		expect(answer.text).toContain("hi");
		await fish.close({ force: true });
	});
});

describe("A7 resize answers after the redraw", () => {
	const programs = [
		["vim", ["vim", "-u", "NONE", "-N", "-n", "file.txt"]],
		["less", ["less", "file.txt"]],
		["nano", ["nano", "file.txt"]],
		["htop", ["htop"]],
		["mc", ["mc", "-u"]],
	] as const;
	const sizes = [
		[70, 20],
		[120, 40],
		[90, 12],
		[132, 43],
	] as const;

	test.each(programs)("%s", needing("vim", "less", "nano", "htop", "mc"), async (program, argv) => {
		const terminal = await start([...argv]);
		for (const [cols, rows] of sizes) {
			const { elapsedMs } = await terminal.resize({ cols, rows });
			expect(elapsedMs).toBeLessThan(SOON_MS);
			const answered = (await screenOf(terminal)).split("\n");
			// Drawn for this size, and nothing of it is drawn again: but a monitor's figures change.
			if (program === "htop") expect(answered.at(-1)).toMatch(/^F1Help/);
			else {
				await terminal.wait({ until: { stillMs: 300, only: true }, ...PATIENT });
				expect(answered).toEqual((await screenOf(terminal)).split("\n"));
			}
			expect(answered.length).toBeGreaterThanOrEqual(rows - 1); // vim's last one may be blank
		}
		await terminal.close({ force: true });
	});

	test("tmux, whose server draws", needing("tmux"), async () => {
		const tmux = await start(["tmux", "-f", "/dev/null", "-S", join(home, "tmux"), "new", "cat"]);
		for (const [cols, rows] of sizes) {
			await tmux.resize({ cols, rows });
			expect((await screenOf(tmux)).split("\n").at(-1)).toMatch(/^\[0\] 0:/);
		}
		await tmux.close({ force: true });
	});

	test("a program that ignores it costs a moment", async () => {
		for (const argv of [["cat"], ["sleep", "600"]]) {
			const terminal = await dialtone.start({ argv, timeoutMs: 200 });
			const { elapsedMs } = await terminal.resize({ cols: 100, rows: 30 });
			expect(elapsedMs).toBeLessThan(SOON_MS);
			await terminal.close({ force: true });
		}
	});
});

test("A1 a letter that ends the line is input, too: no answer is about the moment before it", async () => {
	for (let round = 0; round < 8; round++) {
		const terminal = await start(["sh", "-c", "stty eol y; head -c 1 > /dev/null; exec sleep 600"]);
		const answer = await terminal.send({ text: "y", timeoutMs: 300 });
		expect([answer.activity, answer.because]).toEqual(["working", expect.anything()]);
		await terminal.close({ force: true });
	}
});

describe("A9 Ctrl+S", () => {
	test("output is stopped, and the answer says how to go on", async () => {
		const echo = await start(["cat"]);
		await echo.send({ keys: ["ctrl+s"], ...PATIENT });
		const stopped = await echo.send({ text: "hello", submit: true, ...PATIENT });
		expect(stopped).toMatchObject({ activity: "stopped", certainty: "certain", returned: "still" });
		expect(stopped.because).toContain("Ctrl+Q resumes it");
		const resumed = await echo.send({ keys: ["ctrl+q"], ...PATIENT });
		expect(resumed).toMatchObject({ returned: "waiting", waitingFor: "line" });
		expect(resumed.text).toContain("hello\nhello");
		await echo.close();
	});

	test("a program that prints for ever is no stopped one", async () => {
		const flood = await dialtone.start({ argv: ["yes"], timeoutMs: 1000 });
		expect(flood.facts).toMatchObject({ returned: "timeout", activity: "working" });
		await flood.close({ force: true });
	});
});

describe("T6 several keys in one call", () => {
	// Throws away what was typed before it asks, as wizards and password prompts do.
	const WIZARD = `import sys, termios, time
for question in "abcde":
    time.sleep(0.05)
    termios.tcflush(0, termios.TCIFLUSH)
    print(question, "=", repr(input(question + "? ")))`;

	test("five Enters answer five questions", needing("python3"), async () => {
		const wizard = await start(["python3", "-c", WIZARD]);
		const done = await wizard.send({ keys: ["enter", "enter", "enter", "enter", "enter"], ...PATIENT });
		expect(done).toMatchObject({ returned: "ended", exit: { code: 0 } });
		expect(done.text).toContain("e = ''");
	});

	test("npm init, all defaults", async () => {
		const where = mkdtempSync(join(home, "npm-"));
		writeFileSync(join(where, ".npmrc"), "update-notifier=false\n");
		const npm = await dialtone.start({ argv: ["npm", "init"], cwd: where, env: { HOME: where }, ...PATIENT });
		const five = await npm.send({ keys: ["enter", "enter", "enter", "enter", "enter"], ...PATIENT });
		expect(five.text).toContain("git repository:");
		await npm.close({ force: true });
	});

	test("calls that type at the same time do not mix", async () => {
		const taken = await start(["sh", "-c", "cat > taken.txt"]);
		const keys = (key: string) => [...Array<string>(10).fill(key), "enter"];
		await Promise.all(["x", "y", "z"].map((key) => taken.send({ keys: keys(key), ...PATIENT })));
		await taken.send({ keys: ["ctrl+d"], ...PATIENT });
		expect(readFileSync(join(home, "taken.txt"), "utf8")).toBe(
			["x", "y", "z"].map((key) => `${key.repeat(10)}\n`).join(""),
		);
	});

	test("a program that does not read gets them all, without a wait for each", async () => {
		const sleeps = await dialtone.start({ command: "sleep 600", timeoutMs: 100 });
		const typed = await sleeps.send({ keys: Array(20).fill("x"), timeoutMs: 2000 });
		expect(typed.text).toBe("x".repeat(20));
		await sleeps.close({ force: true });
	});

	test("a key that does not exist is found before any is pressed", async () => {
		const echo = await start(["cat"]);
		await expect(echo.send({ keys: ["x", "enter", "nokey"], ...PATIENT })).rejects.toMatchObject({
			code: "unknown_key",
		});
		expect((await echo.send({ text: "after", submit: true, ...PATIENT })).text).toBe("after");
		await echo.close();
	});
});
