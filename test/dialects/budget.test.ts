// T3: no answer of any set is more than a model can read by default. What does not fit is marked, and following the calls
// that the marks name shows all of it.

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../src/session/options.ts";
import { Dialect } from "./dialect.ts";

let set: Dialect;
beforeAll(async () => {
	set = await Dialect.open();
});
afterAll(() => set[Symbol.asyncDispose]());

// The names of the fields, and what an estimate is off by.
const MOST_TOKENS = limits.answerTokens * 1.1;
const MORE_CHARS = /\[… \d+ more characters of line 1 truncated: (?<tool>\w+) (?<input>\{.*?\}) …\]$/;
const LINES = /^\[… .* truncated: (?<tool>\w+) (?<input>\{.*\}) …\]$/m;

/** The text of an answer that is within the budget. */
async function bounded(tool: string, input: object, field: string): Promise<string> {
	const { facts, text } = await set.shells.dialtone.client.call(tool, input);
	expect(encode(text).length, tool).toBeLessThanOrEqual(MOST_TOKENS);
	return String((facts as Record<string, unknown>)[field]);
}

/** All that an answer and the calls show to which its marks lead, without the marks. */
async function followed(text: string, mark: RegExp, field: string): Promise<string> {
	const parts: string[] = [];
	for (let [shown, calls] = [text, 0]; ; calls++) {
		expect(calls).toBeLessThan(100);
		const cut = mark.exec(shown);
		parts.push(shown.replace(mark, ""));
		if (cut === null) return parts.join("");
		shown = await bounded(cut.groups!.tool!, JSON.parse(cut.groups!.input!), field);
	}
}

const ended = (tool: string, input: object) =>
	set.until<{ is_running?: boolean; state?: string }>(
		tool,
		{ ...input, lines: 1 },
		({ is_running, state }) => is_running === false || state === "succeeded",
	);

const PIECE = '{"id":1234,"a":[]},';
const LONG_LINE = `yes '${PIECE}' | head -30000 | tr -d '\\n'`;
const numbers = (text: string) =>
	text
		.split(/\D+/)
		.filter((word) => word !== "")
		.map(Number);
const to = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

describe("T3 a budget by default", () => {
	test("run_bash: much on one stream is cut, and the rest is a few calls away", async () => {
		const stdout = await bounded("run_bash", { command: "seq 1 100000" }, "stdout");
		const [head, tail] = stdout.split(LINES.exec(stdout)![0]);
		const { input } = LINES.exec(stdout)!.groups!;
		const { from, to: last } = JSON.parse(input!) as { from: number; to: number };
		const rest = await followed(await bounded("get_process_output", JSON.parse(input!), "output"), LINES, "output");
		expect(numbers(rest)).toHaveLength(last - from + 1);
		expect(numbers(`${head}\n${rest}\n${tail}`)).toEqual(to(100_000));
	});

	test("run_bash: the two streams share it, and little on one of them is whole", async () => {
		const both = "seq 1 50000; seq 1 50000 >&2";
		const [out, err] = [
			await bounded("run_bash", { command: both }, "stdout"),
			await bounded("run_bash", { command: both }, "stderr"),
		];
		for (const text of [out, err])
			expect(text).toMatch(/^1\n2\n[\s\S]*\[… \d+ bytes of lines .*truncated: .* …\]\n[\s\S]*\n50000\n$/);
		const little = await set.call("run_bash", { command: "echo failed >&2; seq 1 50000" });
		expect(little.stderr).toBe("failed\n");
	});

	test("get_process_output and pty_capture: a line of 600 KB is shown in parts", async () => {
		const { process_id } = await set.call("start_background_process", { command: LONG_LINE });
		const { terminal_id } = await set.call("pty_create", { cmd: LONG_LINE });
		await ended("get_process_output", { process_id });
		await ended("pty_capture", { terminal_id });
		for (const [tool, input, field] of [
			["get_process_output", { process_id }, "output"],
			["pty_capture", { terminal_id }, "text"],
		] as const) {
			const text = await followed(await bounded(tool, input, field), MORE_CHARS, field);
			expect(text === PIECE.repeat(30_000), tool).toBe(true);
		}
	});

	test("pty_capture: following the cuts shows every row of a large screen, from either end", async () => {
		const rows = 300;
		const draw = "printf '\\033[%d;1H%03dx' $i $i; printf ' word%.0s' $(seq 70)";
		const cmd = `printf '\\033[?1049h'; for i in $(seq ${rows}); do ${draw}; done; read x`;
		const { terminal_id } = await set.call("pty_create", { cmd, cols: 400, rows });
		await set.until("pty_capture", { terminal_id, lines: 1 }, ({ text }) => String(text).startsWith(`${rows}x`));
		const shown = (text: string) => [...text.matchAll(/^(\d{3})x/gm)].map(([, number]) => Number(number));
		for (const tail of [true, false]) {
			const seen: number[][] = [];
			let next: object | null = { terminal_id, lines: rows, tail };
			while (next !== null) {
				const text: string = await bounded("pty_capture", next, "text");
				seen.push(shown(text));
				const { tool, input } = LINES.exec(text)?.groups ?? {};
				expect(tool ?? "pty_capture").toBe("pty_capture");
				next = input === undefined ? null : JSON.parse(input);
			}
			expect(seen.length).toBeGreaterThan(2);
			expect((tail ? seen.reverse() : seen).flat()).toEqual(to(rows));
		}
		await set.call("pty_kill", { terminal_id, signal: "KILL" });
	});
});

describe("R5.1 what run_bash answers", () => {
	test("is what a person would see: no colours, and of progress the last state", async () => {
		const command =
			"printf '\\033[31mred\\033[0m\\n'; printf '1%%\\r50%%\\r100%%\\n'; printf '\\033[1merror\\033[0m\\r\\n' >&2";
		expect(await set.call("run_bash", { command })).toMatchObject({ stdout: "red\n100%\n", stderr: "error\n" });
	});

	test("says at the timeout that the command was waiting for input, where it was", async () => {
		const asks = await set.call("run_bash", { command: "read -p 'Name? ' x", timeout_seconds: 1 });
		expect(asks).toMatchObject({ timed_out: true, note: expect.stringContaining("it was waiting for input") });
		const works = await set.call("run_bash", { command: "sleep 600", timeout_seconds: 1 });
		expect(works).toMatchObject({ timed_out: true });
		expect(works).not.toHaveProperty("note");
	});

	test("has what was erased, too", async () => {
		const { stdout } = await set.call("run_bash", { command: "echo before; printf '\\033[H\\033[2J'; echo after" });
		expect(stdout).toMatch(/^before\n[\s\S]*after\n$/);
		expect(stdout).not.toContain("\x1b");
	});
});
