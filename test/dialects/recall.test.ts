// D1, T3: every set reaches all of the output: a cut names the lines that are missing and the call of its own set
// that shows them, and following it shows exactly these.

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { Transcript } from "../../src/session/transcript.ts";
import { findTool } from "../../src/tools/catalogue.ts";
import { until } from "./ways.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "recall" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

interface Shown {
	readonly text: string;
	readonly lines?: { readonly from: number; readonly to: number; readonly total: number };
}
type Facts = Readonly<Record<string, unknown>>;

async function call<F = Facts>(tool: string, input: object): Promise<F> {
	const { facts } = await dialtone.client.call(tool, input);
	// The schema that documents an answer is strict.
	findTool(tool, input)!.facts.parse(facts);
	return facts as F;
}

/** Where each tool has its text. */
const TEXT: Readonly<Record<string, string>> = {
	unified_exec: "output",
	exec_command: "output",
	write_stdin: "output",
	pty_capture: "text",
	get_process_output: "output",
	run_bash: "stdout",
};
async function shown(tool: string, input: object): Promise<Shown> {
	const facts = await call(tool, input);
	return {
		text: String(facts[TEXT[tool]!]),
		...(facts.lines !== undefined && { lines: facts.lines as NonNullable<Shown["lines"]> }),
	};
}

const CUT = /^\[… (?<what>.+) truncated: (?<tool>\w+) (?<input>\{.*\}) …\]$/m;

/** The call that a cut names. */
function advised(text: string): { what: string; tool: string; input: Record<string, unknown> } | null {
	const { what, tool, input } = CUT.exec(text)?.groups ?? {};
	return input === undefined ? null : { what: what!, tool: tool!, input: JSON.parse(input) };
}

const numbersIn = (text: string) => [...text.matchAll(/^line (\d+)\r?$/gm)].map(([, number]) => Number(number));
const to = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** The numbers in an answer and in those to which its cuts lead. */
async function followed(text: string, tool: string, more: object = {}): Promise<number[]> {
	const seen = numbersIn(text);
	for (let next = advised(text); next !== null; ) {
		expect(next.tool).toBe(tool);
		const answer = await shown(next.tool, { ...next.input, ...more });
		expect(answer.lines?.from).toBe(next.input.from);
		seen.push(...numbersIn(answer.text));
		next = advised(answer.text);
	}
	return seen.sort((a, b) => a - b);
}

const LINES = 5000;
const PRINTS = `seq -f 'line %.0f' 1 ${LINES}`;
const patient = { shell: "/bin/bash", login: false, yield_time_ms: 20_000 };

/** A terminal or a process that has printed all of it. */
async function printed(tool: string, input: object, read: string, id: string): Promise<Facts> {
	const started = await call(tool, input);
	await until(
		() => call(read, { [id]: started[id], lines: 1 }),
		({ is_running, state }) => is_running === false || state === "succeeded",
	);
	return { [id]: started[id] };
}

/** A cut answer of each set, the tool that shows the rest, the fields that name the session there, and a small budget. */
const SETS: Readonly<Record<string, () => Promise<{ text: string; tool: string; session: Facts; small: object }>>> = {
	exec: async () => {
		const facts = await call("unified_exec", { cmd: PRINTS, ...patient, max_output_tokens: 500 });
		const { session_id } = facts;
		return {
			text: String(facts.output),
			tool: "write_stdin",
			session: { session_id },
			small: { max_output_tokens: 3000 },
		};
	},
	"exec, raw": async () => {
		const facts = await call("unified_exec", { cmd: PRINTS, ...patient, raw: true, max_output_tokens: 500 });
		const { session_id } = facts;
		return {
			text: String(facts.output),
			tool: "write_stdin",
			session: { session_id },
			small: { max_output_tokens: 3000 },
		};
	},
	codex: async () => {
		const { facts } = await dialtone.client.call("exec_command", {
			cmd: `${PRINTS}; read x`,
			...patient,
			max_output_tokens: 500,
		});
		const { session_id } = facts;
		return { text: facts.output, tool: "write_stdin", session: { session_id }, small: { max_output_tokens: 3000 } };
	},
	terminal: async () => {
		const [{ stdout }, { process_id }] = [
			await call<{ stdout: string }>("run_bash", { command: `${PRINTS} | sed 's/$/\\n${"x".repeat(100)}/'` }),
			await printed("start_background_process", { command: PRINTS }, "get_process_output", "process_id"),
		];
		return { text: stdout, tool: "get_process_output", session: { process_id }, small: {} };
	},
};

test.each(["unified_exec", "exec_command"])("T1: %s shows output that was erased, or names it", async (tool) => {
	const print = "seq -f 'line %.0f' 1 100";
	const once = await shown(tool, { cmd: `${print}; clear; echo after`, ...patient });
	expect(once.text.trimEnd()).toBe([...to(100).map((number) => `line ${number}`), "after"].join("\n"));
	const frames = "for i in 1 2 3; do clear; echo line $i; done; read x";
	const { text } = await shown(tool, { cmd: frames, ...patient, yield_time_ms: 2000 });
	expect(text).toMatch(/^\[… lines 1–2 of 3 truncated: .*\]\nline 3$/);
	expect(await followed(text, "write_stdin")).toEqual([1, 2, 3]);
});

describe.each(Object.entries(SETS))("%s", (_, start) => {
	test("T3 D1: the cut names the missing lines and a call of the set, and following it shows all", async () => {
		const { text, tool, small } = await start();
		const { what, input } = advised(text)!;
		expect(what).toBe(`lines ${input.from}–${input.to} of ${/of (\d+)$/.exec(what)?.[1]}`);
		expect(await followed(text, tool, small)).toEqual(to(LINES));
	});

	test("D1: any lines are shown by their numbers, and said to be these", async () => {
		const { tool, session } = await start();
		const total = expect.any(Number);
		expect(await shown(tool, { ...session, from: 1200, to: 1202 })).toEqual({
			text: "line 1200\nline 1201\nline 1202",
			lines: { from: 1200, to: 1202, total },
		});
		expect(await shown(tool, { ...session, from: LINES, to: LINES + 7 })).toMatchObject({ text: `line ${LINES}` });
		const none = expect.stringMatching(new RegExp(`^\\[… no lines from ${LINES + 7} on: there are ${LINES}\\d* …\\]$`));
		expect(await shown(tool, { ...session, from: LINES + 7 })).toEqual({ text: none });
	});
});

describe("pty", () => {
	const many = 300_000;
	let session: Facts;
	beforeAll(async () => {
		const cmd = `seq -f 'line %.0f' 1 ${many}`;
		session = await printed("pty_create", { cmd }, "pty_capture", "terminal_id");
	});

	test("D1: any range is shown, also beyond the 100,000 lines of one answer", async () => {
		const capture = (input: object) => shown("pty_capture", { ...session, ...input });
		expect(await capture({ from: 150_000, to: 150_001 })).toEqual({
			text: "line 150000\nline 150001",
			lines: { from: 150_000, to: 150_001, total: many },
		});
		expect(numbersIn((await capture({ from: 42, lines: 3 })).text)).toEqual([42, 43, 44]);
		expect(numbersIn((await capture({ to: 42, lines: 3 })).text)).toEqual([40, 41, 42]);
		expect(numbersIn((await capture({ from: 7 })).text)).toEqual(to(56, 7));
	});

	test("T3 D1: following the cuts of a range shows every line of it once", async () => {
		const { text, lines } = await shown("pty_capture", { ...session, from: 1, to: many });
		expect(lines).toEqual({ from: 1, to: numbersIn(text).at(-1), total: many });
		expect(await followed(text, "pty_capture")).toEqual(to(many));
	});

	test("T3: so do those of its last lines", async () => {
		const { text } = await shown("pty_capture", { ...session, lines: 100_000 });
		expect(await followed(text, "pty_capture")).toEqual(to(many, 200_001));
	});
});

describe("terminal", () => {
	test("T3: where both streams wrote, the cut names the lines in which all of it is", async () => {
		const command = "echo first >&2; seq -f 'line %.0f' 1 60000; echo last >&2";
		const { stdout, stderr } = await call<{ stdout: string; stderr: string }>("run_bash", { command });
		expect(stderr).toBe("first\nlast\n");
		const { what, tool, input } = advised(stdout)!;
		expect(what).toMatch(/^\d+ bytes of lines \d+–\d+ of \d+ \(both streams\)$/);
		// What came at the same time stands where it came, also within a line.
		const parts: string[] = [];
		for (let next: typeof input | undefined = input; next !== undefined; ) {
			const { text } = await shown(tool, next);
			parts.push(text.replace(CUT, ""));
			next = advised(text)?.input;
		}
		const all = parts.join("").replaceAll(/first|last|\n/g, "");
		expect(
			all ===
				to(60_000)
					.map((number) => `line ${number}`)
					.join(""),
		).toBe(true);
		// The cut is between lines.
		expect(stdout.split("\n").filter((line) => !/^(line \d+|)$/.test(line))).toEqual([expect.stringMatching(CUT)]);
	});

	test("T3: a cut means the shell in which it was, also when there is a new one", async () => {
		const { stdout } = await call<{ stdout: string }>("run_bash", { command: "seq -f 'line %.0f' 1 60000" });
		await call("run_bash", { command: "exit" });
		await call("run_bash", { command: "echo new" });
		expect(await followed(stdout, "get_process_output")).toEqual(to(60_000));
	});

	test("D1: `bash` is the shell of run_bash", async () => {
		await call("run_bash", { command: "echo here" });
		expect((await shown("get_process_output", { process_id: "bash", lines: 4 })).text).toMatch(/echo here\nhere/);
	});
});

test("T3: the cuts of `run` with `separate` name lines and a call of their own set", async () => {
	const command = "seq -f 'line %.0f' 1 60000";
	const { facts } = await dialtone.client.call("run", { command, separate: true });
	expect(facts.text).toMatch(/^line 60000$/m);
	const [, json] = /^\[… lines \d+–\d+ of \d+ left out: read (\{.*\}) …\]$/m.exec(facts.stdout!)!;
	const { from, to: last } = JSON.parse(json!);
	const read = await dialtone.client.call("read", { ...JSON.parse(json!), to: from + 1 });
	const [first] = numbersIn(read.facts.text);
	expect(numbersIn(facts.stdout!)).toEqual([...to(first! - 1), ...to(60_000, first! + last - from + 1)]);
});

describe("a flood whose lines cannot be numbered in time", () => {
	// Coloured lines are not plain: numbering them takes its time. Without an end: a fast machine prints millions in a second.
	const FLOOD = `exec awk 'BEGIN { for (i = 1; ; i++) printf "\\033[32mline %d\\033[m\\n", i }'`;
	/** The last of these numbers, but for one of which only the first digits are shown, at the end or behind the cut. */
	const follow = (numbers: readonly number[], before?: number): number | undefined =>
		numbers.findLast((number, at) => number === (numbers[at - 1] ?? before ?? number) + 1);

	test.each(["unified_exec", "exec_command"])("T3: %s names the first line that is missing", async (tool) => {
		const more = { ...patient, yield_time_ms: 3000, max_output_tokens: 500 };
		const { session_id, output } = await call(tool, { cmd: FLOOD, ...more });
		let last = follow(numbersIn(String(output)))!;
		let areBytes = false;
		for (let round = 0; round < 5 && !areBytes; round++) {
			const text = (await shown("write_stdin", { session_id, ...more })).text;
			const { what, input } = advised(text)!;
			areBytes = what.startsWith("bytes");
			const shownBefore = follow(numbersIn(text.slice(0, text.indexOf("[…"))), last);
			const missing = (shownBefore ?? last) + 1;
			// Where its number is not known, one before it.
			expect(input.from).toBeLessThanOrEqual(missing);
			expect(input.from).toBeGreaterThan(areBytes ? 1 : missing - 1);
			last = follow(numbersIn(text.slice(text.indexOf("[…"))))!;
		}
		await dialtone.client.call("close", { session: String(session_id), force: true });
	});

	test("T3: pty_capture and get_process_output show its ends all the same", async () => {
		const cmd = `${PRINTS}; exec sleep 600`;
		const { terminal_id } = await call("pty_create", { cmd });
		const { process_id } = await call("start_background_process", { command: cmd });
		for (const session of [terminal_id, process_id].map(String))
			await dialtone.client.call("wait", { session, until: { text: `line ${LINES}`, only: true }, timeoutMs: 60_000 });
		// As if there were too many: they are numbered only when the caller has left.
		const view = vi.spyOn(Transcript.prototype, "view").mockImplementation(async ({ signal } = {}) => {
			await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
			throw signal?.reason;
		});
		onTestFinished(() => view.mockRestore());
		for (const [tool, input] of [
			["pty_capture", { terminal_id }],
			["get_process_output", { process_id }],
		] as const) {
			expect(numbersIn((await shown(tool, { ...input, lines: 50 })).text)).toEqual(to(LINES, LINES - 49));
			const { text } = await shown(tool, { ...input, lines: 100_000 });
			expect(numbersIn(text).at(-1)).toBe(LINES);
		}
		expect(numbersIn((await shown("pty_capture", { terminal_id, lines: 50, tail: false })).text)).toEqual(to(50));
		view.mockRestore();
		for (const session of [terminal_id, process_id].map(String))
			await dialtone.client.call("close", { session, force: true });
	});
});

describe("exec and codex", () => {
	test("D3: the hint for a session that has ended shows its old output", async () => {
		const { session_id } = await call("unified_exec", { cmd: "echo one; echo two", ...patient });
		const refused = await call<{ error: { next: string } }>("write_stdin", { session_id, chars: "x" });
		expect(refused.error.next).toContain("`write_stdin` with `from`: 1 shows it");
		expect(await shown("write_stdin", { session_id, from: 1 })).toMatchObject({ text: "one\ntwo" });
	});

	test("D1: lines that are shown again are not read: what is new stays new", async () => {
		const { session_id } = await call("unified_exec", { cmd: "echo one; read x; echo two", ...patient });
		const caller = { owner: "another", cwd: "/", env: {} };
		await dialtone.client.call("send", { session: String(session_id), text: "", submit: true }, { caller });
		const isEnded = () => call("write_stdin", { session_id, from: 1 });
		const all = await until(isEnded, ({ running }) => running === false);
		expect(all.output).toMatch(/^one\n\n?two$/);
		expect(String((await call("write_stdin", { session_id })).output)).toMatch(/two$/);
	});

	test.each([
		["a full-screen program", "\\033[?1049h\\033[H"],
		["a cleared screen", "\\033[H\\033[2J"],
	])("T3: a screen that is cut is shown whole by the call that is named: %s", async (_, begin) => {
		const cmd = `printf 'go? '; read x; printf '${begin}'; seq -f 'line %.0f' 1 30; read x`;
		const { session_id } = await call("unified_exec", { cmd, ...patient });
		const { output } = await call("write_stdin", { session_id, chars: "\n", max_output_tokens: 50, ...patient });
		const { tool, input } = advised(String(output))!;
		expect(input).toEqual({ session_id, max_output_tokens: expect.any(Number) });
		expect(numbersIn((await shown(tool, input)).text)).toEqual(to(30));
		expect(await shown(tool, input)).toEqual({ text: "" });
		await call("close_pty_session", { session_id, force: true });
	});

	test("T3: so is a line that is longer than the budget", async () => {
		const { output } = await call("unified_exec", {
			cmd: "head -c 3000 /dev/zero | tr '\\0' x; echo; echo end",
			...patient,
			max_output_tokens: 200,
		});
		const [, more, json] = /\[… (\d+) more characters of line 1 truncated: write_stdin (\{.*?\}) …\]/.exec(
			String(output),
		)!;
		expect(Number(more)).toBeGreaterThan(2000);
		expect((await shown("write_stdin", JSON.parse(json!))).text).toBe("x".repeat(Number(more)));
	});

	test.each([
		[{ from: 9, to: 3 }, "`to` (3) is before `from` (9)"],
		[{ from: 1, chars: "x" }, "leave `chars` empty"],
	])("T10: what contradicts itself is refused, and nothing is typed: %j", async (input, problem) => {
		const { session_id } = await call("unified_exec", { cmd: "cat", ...patient });
		const refused = await call<{ error: { message: string } }>("write_stdin", { session_id, ...input });
		expect(refused.error.message).toContain(problem);
		expect(await shown("write_stdin", { session_id, from: 1 })).toMatchObject({ text: "" });
		await call("close_pty_session", { session_id, force: true });
	});
});
