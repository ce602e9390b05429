// All of the output, by line numbers that mean the same in every answer, through the public tools.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";

let home: string;
let dialtone: Dialtone;

beforeEach(async () => {
	home = mkdtempSync(join(tmpdir(), "dt-recall-"));
	dialtone = await Dialtone.open({ home, owner: "test" });
});
afterEach(async () => {
	for (const { session } of (await dialtone.list({ status: "running" })).sessions)
		await dialtone.client.call("close", { session, force: true });
	await dialtone[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
});

const read = async (input: object) => (await dialtone.client.call("read", { session: "s", ...input })).facts;

/** A session that has printed so many numbered lines and ended. */
async function numbered(count: number): Promise<SessionFacts> {
	const argv = ["seq", "-f", "line %.0f", "1", String(count)];
	const { facts } = await dialtone.client.call("start", { name: "s", argv, timeoutMs: 60_000 });
	expect(facts.status).toBe("succeeded");
	return facts;
}

const numbersIn = (text: string) => [...text.matchAll(/^line (\d+)/gm)].map(([, number]) => Number(number));
const to = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
/** The call that a cut names. */
function advised(text: string): object | null {
	const call = /^\[… (?:lines?|\d+ of \d+ matching lines|bytes) .*?left out: read (\{.*\}) …\]$/m.exec(text)?.[1];
	return call === undefined ? null : (JSON.parse(call) as object);
}

/** The numbers in an answer and in those to which its cuts lead. */
async function followed(
	text: string,
	{ maxCalls, ...more }: { maxCalls: number; maxTokens?: number },
): Promise<number[]> {
	const seen = numbersIn(text);
	let call = advised(text);
	for (let calls = 1; call !== null; calls++) {
		expect(calls).toBeLessThanOrEqual(maxCalls);
		const answer = await read({ ...call, ...more });
		seen.push(...numbersIn(answer.text));
		call = advised(answer.text);
	}
	return seen.sort((a, b) => a - b);
}

describe("T2 a search", () => {
	test("reaches everything that was printed, counts it, and says where it looked", async () => {
		await numbered(5000);
		const found = await read({ search: "line 12" });
		// 12, 120–129, 1200–1299.
		expect(found.matches).toEqual({ count: 111, shown: 50 });
		expect(found.lines).toEqual({ from: 1, to: 5000, total: 5000 });
		expect(found.text.split("\n").at(-1)).toBe("1299: line 1299");
		expect((await read({ from: 5, lines: 2 })).text).toBe("line 5\nline 6");
		expect((await read({ search: "line 12", lines: 2, order: "oldest" })).text).toMatch(
			/^12: line 12\n120: line 120\n\[… 109 of/,
		);
		expect((await read({ pattern: "^line 4[0-9]99$", lines: 100 })).matches).toEqual({ count: 10, shown: 10 });
		expect((await read({ search: "line 7", from: 70, to: 75 })).text.split("\n")).toHaveLength(6);
		expect((await read({ search: "line 2500", context: 1 })).text).toBe(
			"2499- line 2499\n2500: line 2500\n2501- line 2501",
		);
	});

	test("that finds nothing says so", async () => {
		await numbered(5000);
		const { text } = await dialtone.client.call("read", { session: "s", search: "nowhere" });
		expect(text).toContain("no match in 5000 lines");
	});

	test("that looks through no lines says so", async () => {
		const silent = await dialtone.start({ command: "sleep 600", name: "silent", timeoutMs: 0 });
		const { text } = await dialtone.client.call("read", { session: "silent", search: "nowhere" });
		expect(text).toContain("no match in 0 lines");
		await silent.close({ force: true });
	});

	test("finds what was copied from an answer, whatever is not shown of it and however its letters are composed", async () => {
		const printed = "cafe\u0301 err\u200bor \u26a0\ufe0f na\u00efve\n";
		await dialtone.client.call("start", { name: "s", argv: ["printf", printed] });
		const { text } = await read({ view: "lines", from: 1 });
		expect(text).toBe("cafe\u0301 error \u26a0\ufe0f na\u00efve");
		for (const search of [text, "caf\u00e9 error", "\u26a0 nai\u0308ve", printed.trim()])
			expect((await read({ search })).matches, JSON.stringify(search)).toEqual({ count: 1, shown: 1 });
		expect((await read({ pattern: "^caf\u00e9 .*nai\u0308ve$" })).matches).toEqual({ count: 1, shown: 1 });
		await expect(read({ search: "\u200b" })).rejects.toThrow("nothing visible");
	});

	test("in a full-screen program says that its screen is not in the lines, whether it matches, and how to see it", async () => {
		const command = "echo before; printf '\\033[?1049hfull needle'; read x; printf '\\033[?1049l'; read y";
		await dialtone.client.call("start", { name: "s", command });
		const answer = (input: object) => dialtone.client.call("read", { session: "s", ...input });
		const found = await answer({ search: "needle" });
		expect(found.facts.matches).toEqual({ count: 0, shown: 0 });
		const call = 'read {"session":"s","view":"screen"}';
		const told = `the program's full screen is not in these lines, and 1 row of it matches: ${call}`;
		expect(found.facts.notices).toEqual([told]);
		expect(found.text).toContain(told);
		expect((await answer({ pattern: "nee+dle" })).facts.notices).toEqual([told]);
		expect((await answer({ search: "elsewhere" })).text).toContain("and no row of it matches: read {");
		expect((await answer({ view: "lines" })).text).toContain("the program's full screen is not in these lines: read {");
		await dialtone.client.call("send", { session: "s", text: "", submit: true });
		expect((await answer({ search: "needle" })).facts.notices).toBeUndefined();
	});

	test("has what scrolled by below a row that stays at the top", async () => {
		const command = String.raw`printf '\033[H\033[2Jstatus: busy\n\033[2;24r\033[2;1H'; seq -f 'line %.0f' 1 300; printf '\033[r\033[24;1H'`;
		await dialtone.client.call("start", { name: "s", command, cols: 80, rows: 24 });
		expect((await read({ search: "line " })).matches?.count).toBe(300);
		expect((await read({ search: "status" })).matches?.count).toBe(1);
		expect(numbersIn((await read({ view: "lines", from: 1, to: 200 })).text)).toEqual(to(200));
	});

	test("asking for more lines than a screen keeps gives them", async () => {
		await numbered(5000);
		const { text, lines } = await read({ view: "lines", lines: 5000, maxTokens: 100_000 });
		expect(numbersIn(text)).toEqual(to(5000));
		expect(lines).toEqual({ from: 1, to: 5000, total: 5000 });
	});
});

describe("T3 a cut", () => {
	test("names the lines that are missing, and following it shows exactly these", async () => {
		const { text, missed } = await numbered(5000);
		expect(missed).toMatchObject({ lines: 5000 - numbersIn(text).length });
		expect(text).toContain(`[… lines ${missed!.from}–${missed!.to} of 5000 left out: read {"session":"s","from":`);
		expect(await followed(text, { maxCalls: 20 })).toEqual(to(5000));
	});

	test("page by page, every one of 200,000 lines is shown exactly once", async () => {
		const { text } = await numbered(200_000);
		expect(await followed(text, { maxCalls: 20, maxTokens: 100_000 })).toEqual(to(200_000));
	});

	test("of a line that is longer than the budget is made inside of it", async () => {
		await dialtone.client.call("start", { name: "s", argv: ["sh", "-c", "printf '%3000s|\\nnext\\n' x"] });
		const { text } = await read({ view: "lines", from: 1, maxTokens: 50 });
		const [, call = ""] =
			/^ +\[… \d+ more characters of line 1 left out: read (.*) …\]\n\[… line 2 of 2 left out: read .*\]$/.exec(text) ??
			[];
		expect((await read(JSON.parse(call) as object)).text).toBe(`${" ".repeat(2999)}x|`);
	});

	test("of a line that no answer of the usual length holds names a budget that does", async () => {
		const argv = ["sh", "-c", "head -c 20000 /dev/zero | tr '\\0' x"];
		await dialtone.client.call("start", { name: "s", argv, cols: 1000 });
		const { text } = await read({ view: "lines", from: 1, to: 1, maxTokens: 50 });
		const [, call = ""] = /more characters of line 1 left out: read (\{.*\}) …\]$/.exec(text) ?? [];
		expect((await read(JSON.parse(call) as object)).text).toMatch(/^x{8000,}$/);
	});

	test("of a search names the call that goes on, from the end that was asked for", async () => {
		await numbered(5000);
		for (const order of ["newest", "oldest"] as const) {
			const seen: number[] = [];
			let call: object | null = { search: "line 12", order, lines: 40, from: 2, to: 4999 };
			for (let calls = 0; call !== null; calls++) {
				expect(calls).toBeLessThan(3);
				const { text, matches } = await read(call);
				const numbers = [...text.matchAll(/^(\d+): line \1$/gm)].map(([, number]) => Number(number));
				expect(numbers).toHaveLength(matches!.shown);
				seen.push(...numbers);
				call = advised(text);
			}
			expect(seen.sort((a, b) => a - b)).toEqual([12, ...to(129, 120), ...to(1299, 1200)]);
		}
	});

	test("of a search by its budget names the call that goes on, too, and shows each match once", async () => {
		await numbered(5000);
		const seen: string[] = [];
		let call: object | null = { search: "line 12", context: 1, lines: 200 };
		for (let calls = 0; call !== null; calls++) {
			expect(calls).toBeLessThan(30);
			const { text, truncated } = await read({ ...call, maxTokens: 300 });
			call = advised(text);
			expect(truncated).toBe(call !== null);
			seen.push(...[...text.matchAll(/^(\d+): /gm)].map(([, number]) => number!));
		}
		expect(new Set(seen).size).toBe(111);
	});

	test("of a match that is longer than the budget is made inside of it, its context named", async () => {
		const argv = ["sh", "-c", "echo before; printf 'needle %3000s|\\n' x; echo after"];
		await dialtone.client.call("start", { name: "s", argv });
		const { text, matches } = await read({ search: "needle", context: 1, maxTokens: 100 });
		expect(matches).toEqual({ count: 1, shown: 1 });
		expect(text.length).toBeLessThan(500);
		expect(text).toMatch(/^2: needle +\[… \d+ more characters of line 2 left out: read \{.*\} …\]$/m);
		expect(advised(text)).toEqual({ session: "s", from: 1, to: 3 });
	});

	test("of raw bytes keeps to the budget and names the others, and following it gives every byte", async () => {
		await numbered(5000);
		const all: Buffer[] = [];
		let call: object | null = { view: "raw", from: 0 };
		for (let calls = 0; call !== null; calls++) {
			expect(calls).toBeLessThan(20);
			const answer = await dialtone.client.call("read", { session: "s", ...call });
			expect(answer.text.length).toBeLessThan(4000 * 2.3 + 300);
			all.push(Buffer.from(answer.facts.base64!, "base64"));
			call = advised(answer.facts.text);
		}
		expect(Buffer.concat(all).toString()).toBe(
			to(5000)
				.map((number) => `line ${number}\r\n`)
				.join(""),
		);
		const newest = await read({ view: "raw", maxTokens: 50 });
		expect(Buffer.from(newest.base64!, "base64").toString()).toMatch(/line 4999\r\nline 5000\r\n$/);
		expect(advised(newest.text)).toEqual({ session: "s", view: "raw", from: 0, to: newest.from });
	});

	test("is not counted as shown by the last line of the answer", async () => {
		await numbered(5000);
		const { facts, text } = await dialtone.client.call("read", { session: "s", view: "lines", from: 1, lines: 5000 });
		const last = numbersIn(facts.text).at(-1);
		expect(text.split("\n").at(-1)).toBe(`lines 1–${last} of 5000`);
		const all = await dialtone.client.call("read", { session: "s", from: 7, to: 7 });
		expect(all.text.split("\n").at(-1)).toBe("line 7 of 5000");
	});

	test("of a screen names the session, too", async () => {
		const command = "printf '\\033[?1049h'; seq -s ' ' 1 900; read x";
		const { facts } = await dialtone.client.call("start", { name: "s", command, cols: 120, rows: 60, maxTokens: 50 });
		const [, call = ""] = /left out: read (\{.*\}) …\]$/m.exec(facts.text) ?? [];
		expect((await dialtone.client.call("read", JSON.parse(call))).facts.text).toContain(" 450 451 452 ");
	});

	test("is not made in a line that has no end where the budget allows all of it", async () => {
		const argv = ["sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x"];
		const { facts } = await dialtone.client.call("start", { name: "s", argv, cols: 80, maxTokens: 100_000 });
		expect(facts.text.replaceAll(/[^x]/g, "")).toHaveLength(60_000);
		expect(facts.text.length).toBeLessThan(60_100);
	});

	test("T2: is made after a cleared screen as anywhere else", async () => {
		await dialtone.client.call("start", { name: "s", argv: ["sh"] });
		const text = "printf '\\033[H\\033[2J'; seq -f 'line %.0f' 1 5000";
		const { facts } = await dialtone.client.call("send", { session: "s", text, submit: true, timeoutMs: 60_000 });
		expect(facts.truncated).toBe(true);
		expect(await followed(facts.text, { maxCalls: 20 })).toEqual(to(5000));
	});

	test("T3: leaves out nothing new and shows nothing old", async () => {
		await dialtone.client.call("start", { name: "s", argv: ["bash", "--norc"] });
		const send = (text: string) =>
			dialtone.client.call("send", { session: "s", text, submit: true, timeoutMs: 60_000 });
		await send("echo OLD; echo OLDER");
		const { text } = (await send("seq -f 'line %.0f' 1 4000")).facts;
		expect(text).not.toMatch(/OLD/);
		expect(await followed(text, { maxCalls: 20 })).toEqual(to(4000));
	});

	test("in the output of `run` is the same", async () => {
		const { text, lines } = (await dialtone.client.call("run", { command: "seq -f 'line %.0f' 1 20000" })).facts;
		expect(lines!.to - lines!.from + 1).toBe(20_000);
		const shell = { session: "main" };
		const call = advised(text)!;
		const rest: string[] = [];
		for (let next: object | null = call; next !== null; ) {
			const answer = (await dialtone.client.call("read", { ...next, ...shell, maxTokens: 50_000 })).facts;
			rest.push(answer.text);
			next = advised(answer.text);
		}
		expect(numbersIn([text, ...rest].join("\n")).sort((a, b) => a - b)).toEqual(to(20_000));
	});
});

describe("D1 the dialects", () => {
	const call = async <F>(tool: string, input: object) => (await dialtone.client.call<string>(tool, input)).facts as F;

	test("lose nothing beyond the scrollback without saying so", async () => {
		const command = "seq -f 'line %.0f' 1 3000";
		const whole = await call<{ output: string; truncated: boolean }>("unified_exec", {
			cmd: command,
			yield_time_ms: 10_000,
		});
		expect(numbersIn(whole.output)).toEqual(to(3000));
		expect(whole.truncated).toBe(false);
		const cut = await call<{ output: string; original_token_count: number }>("exec_command", {
			cmd: command,
			max_output_tokens: 1000,
		});
		const [, from = "", last = ""] = /^\[… lines (\d+)–(\d+) of 3000 truncated: .* …\]$/m.exec(cut.output) ?? [];
		expect(numbersIn(cut.output)).toEqual([...to(Number(from) - 1), ...to(3000, Number(last) + 1)]);
		expect(cut.original_token_count).toBeGreaterThan(6000);
	});

	test("show the first and the last lines of everything", async () => {
		const { terminal_id } = await call<{ terminal_id: string }>("pty_create", { cmd: "seq -f 'line %.0f' 1 300000" });
		await dialtone.client.call("wait", { session: terminal_id, timeoutMs: 60_000 });
		const capture = (input: object) => call<{ text: string }>("pty_capture", { terminal_id, ...input });
		expect(numbersIn((await capture({ lines: 3, tail: false })).text)).toEqual([1, 2, 3]);
		expect(numbersIn((await capture({ lines: 3 })).text)).toEqual([299_998, 299_999, 300_000]);
		const { process_id } = await call<{ process_id: string }>("start_background_process", {
			command: "seq -f 'line %.0f' 1 5000",
		});
		await dialtone.client.call("wait", { session: process_id, timeoutMs: 60_000 });
		const { output } = await call<{ output: string }>("get_process_output", { process_id, lines: 4000 });
		expect(numbersIn(output)).toEqual(to(5000, 1001));
	});
});
