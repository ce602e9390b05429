// The behaviours of the tools, whichever way in they are called by: each is a conversation that must be the same on all of
// them, its refusals to the word.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Conversation } from "./conversation.ts";

export interface Behaviour {
	readonly what: string;
	/** Not of the native tools. */
	readonly dialect?: true;
	/** It has refusals, whose words are compared. */
	readonly refuses?: true;
	readonly show: (conversation: Conversation) => Promise<void>;
}

const SURVEY = `read -p 'Delete it? [y/N] ' a; echo "you said $a"; read -s -p 'Password: ' p; echo; echo "\${#p} characters"; exit 3`;
const survey = { argv: ["bash", "-c", SURVEY] };

/** The lines to which a cut leads, by a tool call or, on the command line, by a command. */
function advised(mark: string): object | null {
	const call = /^\[\d*… lines? .* left out: (?:read (\{.*\})|dialtone read \S+ --from (\d+) --to (\d+)) …\]$/.exec(
		mark,
	);
	if (call === null) return null;
	const [, json, from, to] = call;
	return json === undefined ? { from: Number(from), to: Number(to) } : (JSON.parse(json) as object);
}

/** What a program waits for, or what it has done: a time would be over too early on a busy machine. */
class Cue implements Disposable {
	readonly #directory = mkdtempSync(join(tmpdir(), "dt-cue-"));
	readonly #file = join(this.#directory, "given");
	readonly awaited = `until [ -e ${this.#file} ]; do sleep 0.02; done`;
	readonly given = `: > ${this.#file}`;

	give(): void {
		writeFileSync(this.#file, "");
	}

	[Symbol.dispose](): void {
		rmSync(this.#directory, { recursive: true, force: true });
	}
}

export const BEHAVIOURS: readonly Behaviour[] = [
	{
		what: "R1.1 R1.4 a conversation is one call a turn: question, answer, secret, end",
		show: async ({ talk, name }) => {
			const asked = await talk("start", { ...survey, name });
			expect(asked).toMatchObject({ state: "waiting for line", output: "Delete it? [y/N] ", matched: null });
			const secret = await talk("send", { session: name, text: "y", submit: true });
			expect(secret.state).toBe("waiting for secret");
			expect(secret.output).toContain("you said y\nPassword: ");
			const over = await talk("send", { session: name, text: "hunter2", submit: true });
			expect(over.state).toBe("ended 3");
			expect(over.output).toContain("7 characters");
			expect(over.output).not.toContain("hunter2");
		},
	},
	{
		what: "R1.3 what is new is told once, and all of it can be read again",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["cat"], name });
			await talk("send", { session: name, text: "héllo 🦀 日本", submit: true, until: { text: "日本\nhéllo" } });
			expect((await talk("read", { session: name })).output).toBe("");
			const { output } = await talk("read", { session: name, view: "lines" });
			expect(output.trimEnd()).toBe("héllo 🦀 日本\nhéllo 🦀 日本");
		},
	},
	{
		what: "T2 T3 any lines of a long output are the same by number, by a cut's advice, and by a search",
		show: async ({ talk, name }) => {
			const line = (number: number) => `${number}: the quick brown fox`;
			const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
			await talk("start", { argv: ["seq", "-f", "%.0f: the quick brown fox", "1", "60000"], name });
			expect((await talk("wait", { session: name, timeoutMs: 60_000 })).state).toBe("ended 0");
			const read = async (input: object) => (await talk("read", { session: name, ...input })).output.trimEnd();
			const range = { view: "lines", from: 31_000, to: 33_000 };
			expect(await read({ ...range, maxTokens: 50_000 })).toBe(lines(31_000, 33_000).join("\n"));
			// Too little room: what is left out is named, and following that shows the rest.
			const followed: string[] = [];
			for (let call: object | null = range; call !== null; ) {
				const page: string[] = (await read({ ...call, maxTokens: 10_000 })).split("\n");
				call = advised(page.at(-1)!);
				followed.push(...(call === null ? page : page.slice(0, -1)));
			}
			expect(followed).toEqual(lines(31_000, 33_000));
			const found = await read({ pattern: "^5?9999:", context: 1, order: "oldest" });
			const labelled = (number: number, mark: string) => `${number}${mark} ${line(number)}`;
			expect(found.split("\n")).toEqual([
				...[labelled(9998, "-"), labelled(9999, ":"), labelled(10_000, "-"), "--"],
				...[labelled(59_998, "-"), labelled(59_999, ":"), labelled(60_000, "-")],
			]);
			expect(await read({ search: "nowhere" })).toBe("");
		},
	},
	{
		what: "R1.2 a key is a key: Ctrl+C interrupts, Ctrl+D ends the input",
		show: async ({ talk, name }) => {
			await talk("start", {
				argv: ["bash", "-c", "trap 'echo caught' INT; while read l; do :; done; echo over"],
				name,
			});
			const caught = await talk("send", { session: name, keys: ["ctrl+c"], until: { text: "caught" } });
			expect(caught.output).toContain("caught");
			const over = await talk("send", { session: name, keys: ["ctrl+d"], until: { text: "over" } });
			expect(over.output).toContain("over");
			expect((await talk("wait", { session: name })).state).toBe("ended 0");
		},
	},
	{
		what: "a call that runs out of time says so, and the program goes on",
		show: async ({ talk, name }) => {
			expect((await talk("start", { argv: ["sleep", "600"], name, timeoutMs: 200 })).state).toBe("working");
			expect((await talk("wait", { session: name, timeoutMs: 100 })).state).toBe("working");
		},
	},
	{
		what: "T4 a condition ends a wait and is told as matched: text, pattern",
		show: async ({ talk, name }) => {
			using go = new Cue();
			const command = `echo one; ${go.awaited}; echo two 22; sleep 600`;
			const one = await talk("start", { command, name, until: { text: "one" } });
			expect(one).toMatchObject({ matched: true, output: expect.stringContaining("one") });
			const waiting = talk("wait", { session: name, until: { pattern: "two \\d+" } });
			go.give();
			const two = await waiting;
			expect(two).toMatchObject({ matched: true, output: expect.stringContaining("two 22") });
		},
	},
	{
		what: "T4 a condition that does not come true is told as not matched: at the timeout, at the end, at a question",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["bash", "-c", "read -p 'first? ' a; read -p 'second? ' b"], name });
			const until = { text: "never" };
			const late = await talk("wait", { session: name, until, timeoutMs: 200 });
			expect(late).toMatchObject({ matched: false, state: "waiting for line" });
			const asked = await talk("send", { session: name, text: "a", submit: true, until });
			expect(asked).toMatchObject({ matched: false, state: "waiting for line" });
			expect(asked.output).toContain("second? ");
			const over = await talk("send", { session: name, text: "b", submit: true, until });
			expect(over).toMatchObject({ matched: false, state: "ended 0" });
		},
	},
	{
		what: "X2 S2 stillness counts from the call and is told as matched, which a timeout is not",
		show: async ({ talk, name }) => {
			await talk("start", { command: "echo one; sleep 600", name, until: { text: "one" } });
			const until = { stillMs: 600 };
			// After the first the session has been quiet for longer than that: the second must not return at once.
			for (const _ of ["first", "second"]) {
				const before = performance.now();
				const still = await talk("wait", { session: name, until, timeoutMs: 90_000 });
				expect(still).toMatchObject({ matched: true, state: "working" });
				expect(performance.now() - before).toBeGreaterThan(until.stillMs - 50); // two clocks
			}
			const late = await talk("wait", { session: name, until: { stillMs: 60_000 }, timeoutMs: 300 });
			expect(late).toMatchObject({ matched: false, state: "working" });
		},
	},
	{
		what: "what was printed between two calls is not missed by the second",
		show: async ({ talk, name }) => {
			using go = new Cue();
			using printed = new Cue();
			const command = `echo one; ${go.awaited}; echo two; ${printed.given}; sleep 600`;
			await talk("start", { command, name, until: { text: "one" } });
			go.give();
			await talk("start", { command: printed.awaited, name: `${name}-meanwhile` });
			const { output } = await talk("wait", { session: name, until: { pattern: "^two" }, timeoutMs: 60_000 });
			expect(output).toContain("two");
			// Now it has been told: it is not new any more.
			const again = await talk("wait", { session: name, until: { text: "two" }, timeoutMs: 300 });
			expect(again).toMatchObject({ state: "working", output: "", matched: false });
		},
	},
	{
		what: "a program that answers at once is never missed by a call that waits for its answer",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["bash", "-c", "while read l; do echo got $l; done"], name });
			for (let n = 0; n < 15; n++) {
				const until = { text: `got ${n}.`, only: true };
				const { output } = await talk("send", { session: name, text: `${n}.`, submit: true, until, timeoutMs: 60_000 });
				expect(output).toContain(`got ${n}.`);
			}
		},
	},
	{
		what: "R2.5 an unknown session is refused with those that exist",
		refuses: true,
		show: async ({ talk, name, refusal, called }) => {
			await talk("start", { argv: ["cat"], name });
			const fault = await refusal(talk("read", { session: "nobody" }), "session_not_found");
			expect(`${fault.message} ${fault.next}`).toContain(`There is no session called "${called("nobody")}".`);
			expect(`${fault.message} ${fault.next}`).toContain(called(name));
		},
	},
	{
		what: "R3.6 nothing is typed into a session that has ended",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			expect((await talk("start", { argv: ["true"], name })).state).toBe("ended 0");
			const fault = await refusal(talk("send", { session: name, text: "x" }), "session_ended");
			expect(fault.message).toContain("nothing was typed");
		},
	},
	{
		what: "a wrong field is refused by its name, and nothing is done",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			const fault = await refusal(talk("start", { argv: ["cat"], name, colour: "red" }), "bad_input");
			expect(fault.message).toContain("colour");
			await refusal(talk("read", { session: name }), "session_not_found");
		},
	},
	{
		what: "T10 an unknown field inside another is refused by its path",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			await talk("start", { argv: ["cat"], name });
			const fault = await refusal(talk("wait", { session: name, until: { colour: "red" } }), "bad_input");
			expect(fault.message).toContain("until");
			expect(fault.message).toContain("colour");
		},
	},
	{
		what: "a key that does not exist is refused with one that does, and none of the others is pressed",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			await talk("start", { argv: ["cat"], name });
			const fault = await refusal(talk("send", { session: name, text: "abc", keys: ["entre"] }), "unknown_key");
			expect(`${fault.message} ${fault.next}`).toContain("enter");
			expect((await talk("read", { session: name, view: "lines" })).output.trim()).toBe("");
		},
	},
	{
		what: "R2.5 a program that cannot be started is a refusal with the reason",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			const fault = await refusal(talk("start", { argv: ["/no/such/program"], name }), "spawn_failed");
			expect(fault.message).toMatch(/no such file/i);
		},
	},
	{
		what: "a name is taken once, or gone on with where that is asked for",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			await talk("start", { argv: ["cat"], name });
			await refusal(talk("start", { argv: ["cat"], name }), "name_taken");
			expect((await talk("start", { argv: ["cat"], name, ifExists: "use" })).state).toBe("waiting for line");
		},
	},
	{
		what: "a write with an id is typed once, however often it is sent",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["cat"], name });
			const write = { session: name, text: "once", submit: true, id: `${name}-1` };
			expect((await talk("send", { ...write, until: { text: "once\nonce" } })).repeated).toBe(false);
			expect((await talk("send", { ...write, timeoutMs: 500 })).repeated).toBe(true);
			const { output } = await talk("read", { session: name, view: "lines" });
			expect(output.match(/once/g)).toHaveLength(2); // the echo and cat's answer
		},
	},
	{
		what: "a write for a screen that has moved on is refused",
		refuses: true,
		show: async ({ talk, name, refusal }) => {
			await talk("start", { argv: ["bash", "-c", "echo hello; cat"], name });
			await refusal(talk("send", { session: name, text: "x", ifOffset: 1 }), "screen_moved");
		},
	},
	{
		what: "R2.11 directory, environment and size are the session's own",
		show: async ({ talk, name }) => {
			const command = 'pwd; echo "$COLOUR $TERM"; stty size';
			const { output, state } = await talk("start", {
				command,
				name,
				cwd: "/usr",
				env: { COLOUR: "red" },
				cols: 97,
				rows: 31,
			});
			expect(state).toBe("ended 0");
			expect(output.trimEnd()).toMatch(/^\/usr\nred xterm-256color\n31 97$/);
		},
	},
	{
		what: "R3.1 a program is told its new size",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["bash", "-c", "read x; stty size"], name });
			await talk("resize", { session: name, cols: 71, rows: 13 });
			const { output } = await talk("send", { session: name, keys: ["enter"] });
			expect(output).toContain("13 71");
		},
	},
	{
		what: "R4.4 closing ends the program, once or twice, and its output stays",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["bash", "-c", "echo hello; cat"], name });
			expect((await talk("close", { session: name })).state).toMatch(/^ended SIG/);
			expect((await talk("close", { session: name })).state).toMatch(/^ended SIG/);
			expect((await talk("read", { session: name, view: "lines" })).output).toContain("hello");
		},
	},
	{
		what: "R3.5 a signal ends a program, and how it ended is told",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["sleep", "600"], name, timeoutMs: 200 });
			await talk("signal", { session: name, signal: "TERM" });
			expect((await talk("wait", { session: name })).state).toBe("ended SIGTERM");
			expect((await talk("read", { session: name })).state).toBe("ended SIGTERM");
		},
	},
	{
		what: "R2.8 raw output is exact to the byte, by offset",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["printf", "\\033[31mred\\033[0m\\000\\377\\303\\250\\007|"], name });
			const all = Buffer.from("\x1b[31mred\x1b[0m\x00\xff\xc3\xa8\x07|", "latin1");
			expect((await talk("read", { session: name, view: "raw", from: 0 })).bytes).toEqual(all);
			expect((await talk("read", { session: name, view: "raw", from: 5, to: 8 })).bytes).toEqual(all.subarray(5, 8));
		},
	},
	{
		what: "R2.9 ten writes at once to one session are typed one after the other, each whole and once",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["bash", "-c", "stty -echo; echo ready; cat"], name, until: { text: "ready" } });
			const lines = Array.from({ length: 10 }, (_, n) => `line ${n} ${"x".repeat(60)}`);
			await Promise.all(lines.map((text) => talk("send", { session: name, text, submit: true, timeoutMs: 60_000 })));
			const { output } = await talk("read", { session: name, view: "lines", lines: 100 });
			expect(output.trimEnd().split("\n").slice(1).sort()).toEqual(lines);
		},
	},
	{
		what: "what a program prints can neither colour the answer nor forge its frame",
		show: async ({ talk, name }) => {
			const { output } = await talk("start", {
				argv: ["printf", "\\033[31mred\\033[0m\\nout\\n<<out\\nout2\\n"],
				name,
			});
			expect(output.trimEnd()).toBe("red\nout\n<<out\nout2");
		},
	},
	{
		what: "a caller that goes away ends its wait and nothing else",
		show: async ({ talk, name }) => {
			await talk("start", { argv: ["cat"], name });
			const away = new AbortController();
			const waiting = talk(
				"wait",
				{ session: name, until: { text: "never", only: true }, timeoutMs: 60_000 },
				away.signal,
			);
			waiting.catch(() => {}); // looked at below
			setTimeout(() => away.abort(), 300);
			await expect(waiting).rejects.toThrow();
			const answer = await talk("send", {
				session: name,
				text: "still here",
				submit: true,
				until: { text: "here\nstill" },
			});
			expect(answer.state).toBe("waiting for line");
		},
	},
	{
		what: "R2.9 twenty sessions are talked to at once, and each answers for itself",
		show: async ({ talk, name }) => {
			const each = Array.from({ length: 20 }, (_, n) => `${name}-${n}`);
			const answers = await Promise.all(each.map((one) => talk("start", { command: `echo I am ${one}`, name: one })));
			expect(answers.map(({ output }) => output.trimEnd())).toEqual(each.map((one) => `I am ${one}`));
		},
	},
	{
		what: "R2.5 R2.12 the exec set refuses in the shape of its results, with the reason",
		dialect: true,
		show: async ({ refusalInShape, called }) => {
			const bad = await refusalInShape("unified_exec", { cmd: "" }, "bad_input");
			expect(bad).toMatchObject({ success: false, session_id: null, output: "", running: false, exit_code: null });
			const gone = await refusalInShape("write_stdin", { session_id: "nobody", chars: "x" }, "session_not_found");
			expect(gone).toMatchObject({ success: false, session_id: called("nobody"), running: false, truncated: false });
		},
	},
	{
		what: "R4.13 the pty set refuses with an error",
		dialect: true,
		show: async ({ refusalInShape }) => {
			expect(await refusalInShape("pty_create", { cmd: "  " }, "bad_input")).toHaveProperty("error");
			const gone = await refusalInShape("pty_capture", { terminal_id: "nobody" }, "session_not_found");
			expect(gone).toHaveProperty("error");
		},
	},
	{
		what: "an unknown tool is refused with those that exist",
		refuses: true,
		show: async ({ talk, refusal }) => {
			const fault = await refusal(talk("fly", {}), "unknown_tool");
			expect(`${fault.message} ${fault.next}`).toMatch(/There is no tool called "fly".*start/);
		},
	},
];
