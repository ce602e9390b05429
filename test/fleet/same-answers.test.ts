// Every tool of every set, called for a session of this machine and then for one of another: the same facts, the same
// text, the same refusals, but for what `asOwn` takes away.

import { homedir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/protocol/fault.ts";
import { toolNames } from "../../src/tools/catalogue.ts";
import type { Answer, Client, ToolSet } from "../../src/tools/client.ts";
import { hostOfNumber, numberOnHost } from "../../src/tools/host-names.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { aimed, HOST } from "./fleet-surfaces.ts";
import { JoinedMachines, MACHINES_NEED } from "./joined-machines.ts";
import { TwoHosts } from "./two-hosts.ts";

/** What the answers before have said, by tool; and what a set that numbers its sessions calls one of them. */
type Said = { readonly by: (tool: string) => Record<string, unknown>; readonly number: (own: number) => number };
type Step = readonly [tool: string, input: object | ((said: Said) => object)];

const patient = { timeoutMs: 60_000 };
/** Without an echo, which comes before the answer or with it. */
const ANSWERS = "stty -echo; echo ready; while read -r l; do echo got $l; done";
/** More than an answer has room for. */
const CUT = "yes | head -n 20000";

const SCRIPTS: Readonly<Record<string, { readonly sets: readonly ToolSet[]; readonly steps: readonly Step[] }>> = {
	"the native tools": {
		sets: ["native"],
		steps: [
			["start", { name: "s1", argv: ["bash", "-c", ANSWERS], cwd: "/usr", ...patient }],
			["start", { name: "s1", argv: ["cat"] }],
			["send", { session: "s1", text: "hello", submit: true, ...patient }],
			...["screen", "lines", "raw", "why", "picture", "new"].map((view): Step => ["read", { session: "s1", view }]),
			["read", { session: "s1", search: "hello" }],
			["wait", { session: "s1", until: { text: "never" }, timeoutMs: 50 }],
			["resize", { session: "s1", cols: 100, rows: 30 }],
			["ask_human", { session: "s1", question: "Type it" }],
			["list", {}],
			["read", { session: "nobody" }],
			["send", { session: "s1", secret: "unheard-of" }],
			["send", { session: "s1", keys: ["entre"] }],
			["start", { again: "s1" }],
			["signal", { session: "s1", signal: "TERM", ...patient }],
			["send", { session: "s1", text: "x" }],
			["start", { again: "s1", ...patient }],
			["close", { session: "s1" }],
			["start", { name: "s2", command: CUT, ...patient }],
			["list", { status: "ended" }],
			["close", { session: "s2", forget: true }],
			["start", { name: "s3", argv: ["cat"], cwd: "/no/such" }],
			["start", { name: "s3", command: "true", colour: "red" }],
		],
	},
	"the shells of run": {
		sets: ["native"],
		steps: [
			["run", { command: "echo hi; false", cwd: "/usr", ...patient }],
			["run", { command: "pwd; exit 3", shell: "s4", ...patient }],
			// No child of it, whose end bash would tell or not before its own.
			["run", { command: "while :; do :; done", shell: "s5", onTimeout: "leave", timeoutMs: 300 }],
			["run", { command: "echo no", shell: "s5", timeoutMs: 300 }],
			["close", { session: "s5" }],
			["run", { command: CUT, ...patient }],
			["run", { command: "echo out; echo err >&2", separate: true, ...patient }],
			["start", { name: "s6", argv: ["cat"], ...patient }],
			["run", { command: "true", shell: "s6" }],
		],
	},
	"the exec set": {
		sets: ["exec"],
		steps: [
			["unified_exec", { cmd: ANSWERS, workdir: "/usr" }],
			["write_stdin", ({ by }) => ({ session_id: by("unified_exec").session_id, chars: "hi\n" })],
			["list_pty_sessions", {}],
			["write_stdin", { session_id: "nobody", chars: "x" }],
			["close_pty_session", ({ by }) => ({ session_id: by("unified_exec").session_id })],
			["write_stdin", ({ by }) => ({ session_id: by("unified_exec").session_id, chars: "x" })],
			["unified_exec", { cmd: "" }],
			["unified_exec", { cmd: CUT, max_output_tokens: 100, yield_time_ms: 30_000 }],
		],
	},
	"the codex set": {
		sets: ["codex"],
		steps: [
			["exec_command", { cmd: ANSWERS, workdir: "/usr", login: false }],
			["write_stdin", ({ by }) => ({ session_id: by("exec_command").session_id, chars: "hi\n" })],
			["write_stdin", ({ number }) => ({ session_id: number(1900), chars: "x" })],
			["exec_command", { cmd: CUT, login: false, max_output_tokens: 100, yield_time_ms: 30_000 }],
			["write_stdin", ({ number }) => ({ session_id: number(1001), chars: "x" })],
			["write_stdin", ({ number }) => ({ session_id: number(1001), from: 5, to: 8 })],
		],
	},
	"the pty set": {
		sets: ["pty"],
		steps: [
			["pty_create", { cmd: "stty -echo; cat", name: "s7", cwd: "/usr" }],
			["pty_create", { cmd: "cat", name: "s7" }],
			["pty_send_keys", ({ by }) => ({ terminal_id: by("pty_create").terminal_id, keys: "" })],
			["pty_capture", { terminal_id: "s7" }],
			["pty_capture", { terminal_id: "nobody" }],
			["pty_list", {}],
			["pty_kill", { terminal_id: "s7" }],
			["pty_send_keys", { terminal_id: "s7", keys: "x" }],
		],
	},
	"the terminal set": {
		sets: ["terminal"],
		steps: [
			["run_bash", { command: "cd /usr; pwd" }],
			["run_bash", { command: "sleep 60", timeout_seconds: 0.3 }],
			["run_bash", { command: CUT }],
			["start_background_process", { command: "cat" }],
			["get_process_output", { process_id: "bg_001" }],
			["get_process_output", { process_id: "bg_007" }],
			["stop_background_process", { process_id: "bg_001" }],
			["get_process_output", { process_id: "bg_001" }],
		],
	},
};

const OWN = "alpha";

/** Of all machines, where no `host` is given. */
const LISTING: ReadonlySet<string> = new Set(["list", "pty_list", "list_pty_sessions"]);

/** Of every call its own: times, processes, whether a shell has drawn its prompt already, the word around an output. */
const TIMES =
	/^(?:elapsedMs|durationMs|wall_time_seconds|pid|now|\w+At|\w+_at|offset|from|to|lines|original_token_count|row|column)$/;

/** How many lines: with the prompt or without. */
const nearly = (lines: number): number => (lines < 1000 ? lines : Math.round(lines / 100) * 100);

function lasting(value: unknown, field = ""): unknown {
	if (Array.isArray(value)) return value.map((one) => lasting(one));
	if (typeof value === "object" && value !== null)
		return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, lasting(one, name)]));
	if (typeof value === "number" && TIMES.test(field)) return "a number";
	if (typeof value === "number" && field === "total") return nearly(value);
	if (typeof value !== "string") return value;
	return (
		value
			.replace(/\b[0-9a-z]{26}\b/g, "an id")
			.replace(/\(\d+\) (?=is |sleeps )/g, "(pid) ")
			.replace(/"(pid|\w+_at)":\d+/g, '"$1":0')
			.replace(/ <<(\d{3,})\n([\s\S]*)\n\1/, " <<\n$2\n")
			.replace(/· \d+ (?:m?s|min) ·/g, "· a while ·")
			.replace(/Wall time: [\d.]+/g, "Wall time: some")
			.replace(/Original token count: \d+/g, "Original token count: some")
			// A longer name in the mark of a cut leaves less room for lines.
			.replace(/(?:y(?:\\n|\n)?){9,}/g, "yyy")
			.replace(/\[\d*… lines \d+–\d+ of (\d+)/g, (_, total) => `[… lines of ${nearly(Number(total))}`)
			.replace(/(\\*"(?:from|to|lines)\\*":)\d+/g, "$1 0")
	);
}

/** All that may differ: the machine's name before a session's, and its number in the set whose sessions are numbers. */
const asOwn = (told: string): string =>
	told
		.replaceAll(`${HOST}/`, "")
		.replace(/\b\d{10,}\b/g, (number) => String(hostOfNumber(Number(number), [HOST])?.number ?? number));

/** A session that is called as if it were one of this machine. `number`: in the set whose sessions are numbers. */
const unnamed = (told: string, isNumbered: boolean): readonly string[] => [
	...(told.match(/(?<!beta\/)\b(?:s\d|nobody|bg_\d+|an id)\b.{0,40}/g) ?? []),
	...(isNumbered ? (told.match(/.{0,20}\b1\d{3}\b/g) ?? []) : []),
];

const told = async (call: Promise<Answer>): Promise<unknown> =>
	lasting(
		await call.then(
			({ facts, text, refused }) => ({ facts, text, refused }),
			(error: unknown) => {
				if (!(error instanceof Fault)) throw error;
				const { code, message, next, facts } = error;
				return { code, message, next, facts };
			},
		),
	);

const PLACES = [
	{
		where: "two homes and a server",
		needs: BROKER_NEEDS,
		open: async () => {
			const hosts = await TwoHosts.start();
			return { hosts, alpha: hosts.alpha };
		},
	},
	{
		where: "three machines with a server each",
		needs: MACHINES_NEED,
		open: async () => {
			const hosts = await JoinedMachines.start();
			return { hosts, alpha: hosts.machines[0]!.home };
		},
	},
];

describe.each(PLACES)("answers for a session of another machine: $where", ({ needs, open }) => {
	const lacks = missing(...needs).length > 0;
	let hosts: AsyncDisposable;
	let client: Client;
	beforeAll(async () => {
		if (lacks) return;
		const { alpha, ...opened } = await open();
		hosts = opened.hosts;
		// What is started there has that machine's directory: here, the caller is given the same.
		const env = alpha.env as Record<string, string>;
		client = await alpha.connect({ caller: { owner: "test", cwd: homedir(), env } });
	}, 120_000);
	afterAll(async () => {
		await client?.[Symbol.asyncDispose]();
		await hosts?.[Symbol.asyncDispose]();
	});

	test("every tool is tried", () => {
		const tried = Object.values(SCRIPTS).flatMap(({ steps }) => steps.map(([tool]) => tool));
		expect([...new Set(tried)].sort()).toEqual([...toolNames()].sort());
	});

	test.skipIf(lacks).each(Object.entries(SCRIPTS))("are those of this one: %s", async (_, { steps, sets }) => {
		const answersOf = async (host: string | null): Promise<readonly string[]> => {
			const answers: string[] = [];
			const last = new Map<string, Record<string, unknown>>();
			const said: Said = {
				by: (tool) => last.get(tool) ?? {},
				number: (own) => (host === null ? own : numberOnHost({ onHost: host }, own)),
			};
			for (const [tool, given] of steps) {
				const input = typeof given === "function" ? given(said) : given;
				const meant = host === null ? input : aimed(tool, input);
				const asked = LISTING.has(tool) ? { ...(meant as object), host: host ?? OWN } : meant;
				const call: Promise<Answer> = client.call(tool as never, asked as never, { sets });
				call.then(({ facts }) => last.set(tool, facts as Record<string, unknown>)).catch(() => {}); // told below
				answers.push(JSON.stringify(await told(call), null, 1));
			}
			return answers;
		};
		const here = await answersOf(null);
		const there = await answersOf(HOST);
		for (const [index, answer] of there.entries()) {
			const step = `step ${index + 1}: ${JSON.stringify(steps[index])}`;
			expect(asOwn(answer), step).toBe(here[index]);
			expect(unnamed(answer, sets.includes("codex")), step).toEqual([]);
		}
	});
});
