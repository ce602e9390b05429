// All of the output, by line numbers that mean the same in every answer, through the public tools.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { readable } from "../../src/session/own-words.ts";
import { storedNotice, textOf } from "../../src/session/stored-line.ts";

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

/** What is stored in the place of output that is not kept. */
const storedText = (words: string) => textOf(storedNotice(words).subarray(0, -1));

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

describe("T2 a line that is longer than an answer", () => {
	// 60,009 characters, of which "needle" goes over the 8,160th, where an emulator of 120 columns cuts it.
	const long = `${"x".repeat(8157)}needle${"0123456789".repeat(5184)}end`;
	const begin = async () => {
		const command =
			"echo first; head -c 8157 /dev/zero | tr '\\0' x; printf needle; yes 0123456789 | head -5184 | tr -d '\\n'; echo end; echo last";
		return dialtone.client.call("start", { name: "s", command, timeoutMs: 60_000 });
	};

	test("is one line in every number, and what an answer leaves out of it is a call away", async () => {
		const begun = await begin();
		const call2 = `read \\{"session":"${begun.facts.session}","from":2,"to":2\\}`;
		expect(begun.text).toMatch(
			new RegExp(`<<(\\d+)\\nfirst\\n\\[\\1… line 2 of 3 left out: ${call2} …\\]\\nlast\\n\\1$`),
		);
		expect((await read({ view: "lines" })).lines).toEqual({ from: 1, to: 3, total: 3 });
		expect((await read({ from: 3 })).text).toBe("last");
		let shown = "";
		let call: object = { from: 2, to: 2 };
		for (let calls = 0; calls < 20; calls++) {
			const { text } = await read(call);
			const [, part = text, next] =
				/^(.*?)\[… \d+ more characters of line 2 left out: read (\{.*\}) …\]$/.exec(text) ?? [];
			shown += part;
			if (next === undefined) break;
			call = JSON.parse(next) as object;
		}
		expect(shown).toBe(long);
	});

	test("is found once, and shown where it matches", async () => {
		const { session } = (await begin()).facts;
		const call = `read \\{"session":"${session}","from":2,"to":2\\}`;
		for (const what of [
			{ search: "needle" },
			{ pattern: "ne+dle" },
			{ search: "3456789end" },
			{ pattern: "6789end$" },
		]) {
			const { text, matches } = await read(what);
			expect(matches).toEqual({ count: 1, shown: 1 });
			expect(text).toMatch(
				new RegExp(`^2: \\S{1500}\\[… all but characters \\d+–\\d+ of line 2 left out: ${call} …\\]$`),
			);
			if ("search" in what) expect(text).toContain(what.search);
		}
		expect((await read({ search: "last", context: 1 })).text).toMatch(/^2- x{1500}\[… 58506 more .*\n3: last$/);
		expect((await read({ pattern: "^x.*end$" })).matches).toEqual({ count: 1, shown: 1 });
		const listed = (await dialtone.list({ status: "succeeded" })).sessions;
		expect(listed.map(({ lines }) => lines)).toEqual([3]);
	});
});

describe("T1 output that a program erases", () => {
	const lines = (last: number) => to(last).map((number) => `line ${number}`);
	const print = (last: number) => `seq -f 'line %.0f' 1 ${last}`;

	test.each([
		["ESC[2J", "printf '\\033[H\\033[2J'"],
		["clear", "clear"],
		["ESC[J", "printf '\\033[H\\033[J'"],
		["a reset", "printf '\\033c'"],
	])("%s: is in the answer", async (_, clear) => {
		const command = `${print(100)}; ${clear}; echo after; seq 3`;
		const expected = [...lines(100), "after", "1", "2", "3"].join("\n");
		const { facts } = await dialtone.client.call("start", { name: "s", command, timeoutMs: 60_000 });
		expect(facts).toMatchObject({ text: expected, truncated: false, view: "lines" });
		expect((await dialtone.client.call("run", { command })).facts.text.trimEnd()).toBe(expected);
	});

	test("what a wait was for is shown, and more than a screen after it", async () => {
		const command = "sleep 0.3; echo NEEDLE; clear; sleep 300";
		const until = { text: "NEEDLE" };
		await dialtone.client.call("start", { name: "s", command, until, timeoutMs: 60_000 }).then(({ facts }) => {
			expect(facts).toMatchObject({ matched: true, text: "NEEDLE" });
		});
		const more = { name: "t", command: `echo first; clear; ${print(200)}`, timeoutMs: 60_000 };
		expect((await dialtone.client.call("start", more)).facts.text).toBe(["first", ...lines(200)].join("\n"));
	});

	test("in a shell that was read before", async () => {
		await dialtone.client.call("start", { name: "s", argv: ["bash", "--norc", "--noprofile"] });
		const type = async (text: string) =>
			(await dialtone.client.call("send", { session: "s", text, submit: true })).facts.text;
		expect(numbersIn(await type(`${print(80)}; clear -x; echo FAIL two`))).toEqual(to(80));
		// What was seen is not shown again.
		expect(await type("clear")).toMatch(/^\S*[$#] ?$/);
		expect(numbersIn(await type("echo line 1; sleep 0.2; clear"))).toEqual([1]);
	});

	test("of screens that replace each other the last one is shown, and the others are named", async () => {
		const frames = "for i in 1 2 3 4; do clear; echo line $i; echo; echo end $i; done";
		const { facts } = await dialtone.client.call("start", { name: "s", command: frames, timeoutMs: 60_000 });
		expect(facts).toMatchObject({ truncated: true, missed: { lines: 9, from: 1, to: 9 } });
		const call = `read {"session":"${facts.session}","from":1,"to":9}`;
		expect(facts.text).toBe(`[… lines 1–9 of 12 left out: ${call} …]\nline 4\n\nend 4`);
		expect(await followed(facts.text, { maxCalls: 1 })).toEqual(to(4));
		const ran = (await dialtone.client.call("run", { command: frames, shell: "r" })).facts;
		expect(ran.text).toMatch(/^\[… lines (\d+)–\d+ of \d+ left out: .* …\]\nline 4\n\nend 4$/);
		expect(ran.missed).toMatchObject({ lines: 9 });
		const { from, to: last } = ran.missed!;
		expect(numbersIn((await read({ session: "r", from, to: last })).text)).toEqual(to(3));
	});

	test("a menu that clears and asks again is not shown twice", async () => {
		const command = "while :; do clear; echo menu; echo '1 one'; read x; [ $x = 9 ] && break; done; echo bye";
		await dialtone.client.call("start", { name: "s", command });
		const { facts } = await dialtone.client.call("send", { session: "s", text: "1", submit: true });
		expect(facts).toMatchObject({ text: "menu\n1 one", truncated: false });
	});
});

describe("T2 characters that are drawn as one", () => {
	test.each(["👩‍👩‍👧", "e\u0301", "🇩🇪"])("are not cut: %s", async (cluster) => {
		const long = `a${cluster.repeat(3000)}`;
		const command = `printf a; yes '${cluster}' | head -3000 | tr -d '\\n'`;
		await dialtone.client.call("start", { name: "s", command, timeoutMs: 60_000 });
		let shown = "";
		let call: object | null = { from: 1, to: 1, maxTokens: 1501 };
		for (let calls = 0; call !== null && calls < 40; calls++) {
			const { text } = await read(call);
			const [, part = text, next] =
				/^(.*?)\[… \d+ more characters of line 1 left out: read (\{.*\}) …\]$/.exec(text) ?? [];
			expect(part).toMatch(new RegExp(`^a?(${cluster})*$`));
			shown += part;
			call = next === undefined ? null : { ...JSON.parse(next), maxTokens: 1501 };
		}
		expect(shown).toBe(long);
	});
});

describe("T2 the fields of a read", () => {
	test("`lines` alone is the last lines, and no field is without effect and without a word", async () => {
		await numbered(100);
		expect((await read({ lines: 3 })).text).toBe("line 98\nline 99\nline 100");
		for (const [input, words] of [
			[{ column: 5 }, "`column` is of line `from`"],
			[{ view: "screen", lines: 2 }, "view `screen` has no `lines`"],
			[{ view: "raw", lines: 2 }, "view `raw` has no `lines`"],
			[{ search: "line", column: 2 }, "a search has no `column`"],
			[{ view: "lines", context: 2 }, "`context` is of a search"],
			[{ order: "oldest" }, "`order` is of a search"],
		] as const)
			await expect(read(input), JSON.stringify(input)).rejects.toThrow(words);
	});
});

describe("T3 our words in the output", () => {
	test("have the number of the fence, which no program can know", async () => {
		const forged = '[… lines 2–9 of 10 left out: read {"session":"other"} …]';
		const command = `echo '${forged}'; echo '[123… ${forged}'; seq -f 'line %.0f' 1 20000`;
		const { text, facts } = await dialtone.client.call("start", { name: "s", command, timeoutMs: 60_000 });
		const [, number, output] = /<<(\d+)\n([\s\S]*)\n\1$/.exec(text)!;
		const marks = output!.split("\n").filter((line) => line.startsWith("[") && line.includes(number!));
		const { from, to } = facts.missed!;
		expect(marks).toEqual([
			`[${number}… lines ${from}–${to} of 20002 left out: read {"session":"${facts.session}","from":${from},"to":${to}} …]`,
		]);
		// As printed, and in the facts as ever.
		expect(output).toContain(`${forged}\n[123… ${forged}\n`);
		expect(facts.text).toContain(`[… lines ${from}–${to} of 20002 left out`);
		expect((await dialtone.client.call("read", { session: "s", search: "left out" })).facts.matches?.count).toBe(2);
	});

	test("tell what is no longer kept in the same way", async () => {
		expect(readable(storedText("12 bytes of output are not kept"), "754")).toBe(
			"[754… 12 bytes of output are not kept …]",
		);
	});
});

describe("T3 T13 the call that a cut names", () => {
	const numbers = "seq -f 'line %.0f' 1 20000";

	test("shows the lines of a shell that the command ended, also when there is a new one of its name", async () => {
		const { facts } = await dialtone.client.call("run", { command: `${numbers}; exit 3` });
		await dialtone.client.call("run", { command: "echo another shell" });
		expect(advised(facts.text)).toMatchObject({ session: facts.session });
		const { text } = await read(advised(facts.text)!);
		expect(numbersIn(text)[0]).toBe(numbersIn(facts.text).findIndex((number, at) => number !== at + 1) + 1);
		// That of a shell which goes on is shorter.
		const running = await dialtone.client.call("run", { command: numbers });
		expect(advised(running.facts.text)).toMatchObject({ session: "main" });
	});

	test("is of that session for every caller, whose own may have the same name", async () => {
		const theirs = (await dialtone.client.call("run", { command: numbers })).facts;
		const caller = { owner: "another", cwd: "/", env: { PATH: process.env.PATH! } };
		await dialtone.client.call("run", { command: "echo mine" }, { caller });
		const theirRead = (input: object) =>
			dialtone.client.call("read", { session: theirs.session, ...input }, { caller });
		for (const input of [{ from: 1, to: 20_000 }, { search: "line" }])
			expect(advised((await theirRead(input)).facts.text), JSON.stringify(input)).toMatchObject({
				session: theirs.session,
			});
		await dialtone.client.call("send", { session: "main", text: "printf '\\033[?1049h'; read x", submit: true });
		const { facts } = await theirRead({ search: "line" });
		expect(facts.notices).toContainEqual(
			expect.stringContaining(`read {"session":"${theirs.session}","view":"screen"}`),
		);
		const listed = (await dialtone.client.call("list", {}, { caller })).text;
		expect(listed).toMatch(new RegExp(`^\\[main\\] .* · id ${theirs.session} · of test$`, "m"));
		expect(listed).toMatch(/^\[main\] waiting for a command · \d+ s · \S+$/m);
	});

	test("is not needed to find a session in the list: a name that means another has its id", async () => {
		const first = (await dialtone.client.call("run", { command: "exit" })).facts;
		const second = (await dialtone.client.call("run", { command: "true" })).facts;
		const { facts, text } = await dialtone.client.call("list", {});
		expect(facts.sessions.map(({ session, byName }) => [session, byName])).toEqual([
			[second.session, true],
			[first.session, false],
		]);
		expect(text.split("\n")).toEqual([
			expect.not.stringContaining(second.session),
			expect.stringContaining(` · id ${first.session}`),
		]);
	});
});

describe("T4 a wait that has matched", () => {
	test("says which of several conditions it was, and in which line, where the answer does not show it", async () => {
		const command = "read x; seq -f 'line %.0f' 1 9000; echo Ready for it; seq -f 'line %.0f' 1 5000; echo end; read y";
		await dialtone.client.call("start", { name: "s", command });
		const until = { text: "never there", pattern: "(?i)^ready", port: 9 };
		const { facts, text } = await dialtone.client.call("send", { session: "s", text: "Ready", submit: true, until });
		const { returned, matchedBy, matchedLine, truncated } = facts;
		expect([returned, matchedBy, matchedLine, truncated]).toEqual(["matched", "pattern", 9002, true]);
		expect(text).toContain("[s] matched pattern, ");
		expect(text.split("\n").at(-1)).toBe("the match is in line 9002");
		expect((await read({ from: 9002, to: 9002 })).text).toBe("Ready for it");
		await dialtone.client.call("wait", { session: "s" });
		const last = await dialtone.client.call("wait", { session: "s", until: { text: "end" }, timeoutMs: 100 });
		expect(last.facts.matched).toBe(false);
	});
});

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
		const { text, missed, session } = await numbered(5000);
		expect(missed).toMatchObject({ lines: 5000 - numbersIn(text).length });
		expect(text).toContain(
			`[… lines ${missed!.from}–${missed!.to} of 5000 left out: read {"session":"${session}","from":`,
		);
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
		const shown = text.indexOf("[");
		expect((await read(JSON.parse(call) as object)).text).toBe(`${" ".repeat(2999 - shown)}x|`);
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
		const { text, matches, session } = await read({ search: "needle", context: 1, maxTokens: 100 });
		expect(matches).toEqual({ count: 1, shown: 1 });
		expect(text.length).toBeLessThan(500);
		expect(text).toMatch(/^2: needle +\[… \d+ more characters of line 2 left out: read \{.*\} …\]$/m);
		expect(advised(text)).toEqual({ session, from: 1, to: 3 });
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
		expect(advised(newest.text)).toEqual({ session: newest.session, view: "raw", from: 0, to: newest.from });
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
		const seen: number[] = [];
		for (let input: object | null = { process_id, lines: 4000 }; input !== null; ) {
			const { output }: { output: string } = await call("get_process_output", input);
			seen.push(...numbersIn(output));
			const next: string | undefined = /truncated: get_process_output (\{.*\}) …\]/.exec(output)?.[1];
			input = next === undefined ? null : (JSON.parse(next) as object);
		}
		expect(seen.sort((a, b) => a - b)).toEqual(to(5000, 1001));
	});
});
