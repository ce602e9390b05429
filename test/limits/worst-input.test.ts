// One budget: no call stalls the event loop for more than 200 ms or makes the process grow by more than 50 MB, whatever
// is in its fields and whatever is in the log. The inputs are made from the tools' own schemas (worst-values.ts).
//
// Stalls are measured in processor time of the loop's thread (loop-meter.ts). Even so a collection of garbage that
// earlier calls left behind may fall into a call, or the collector may have no processor for a while, so one that exceeds a
// limit is repeated on a collected heap, and the best of five counts: what a call itself costs is in all of them.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listen } from "../../src/daemon/server.ts";
import { Dialtone } from "../../src/index.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { limits } from "../../src/session/options.ts";
import { catalogue } from "../../src/tools/catalogue.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { anyCaller } from "../any-caller.ts";
import { HANG_MS, until } from "../condition.ts";
import { FakeClient } from "../fake-client.ts";
import { type Measured, measured } from "./loop-meter.ts";
import { UNBOUNDED_CHARS, worstOf } from "./worst-values.ts";

const MAX_STALL_MS = 200;
const MAX_GROWTH_MB = 50;
const TRIES = 5;
const LOG_MIB = 32;
/** Beyond what any honest call here takes: waits are cut off. */
const CUT_OFF_MS = 1000;

/** A screen of 1000 × 500 cells, no two neighbours in the same colours. */
const COLOURS =
	'BEGIN { for (r = 0; r < 500; r++) { for (c = 0; c < 1000; c++) printf "\\033[38;5;%d;48;5;%dm%c", (r*7+c)%256, (c*3+r)%256, 65+(c+r)%26; if (r < 499) printf "\\r\\n" } }';
const LARGE = { cols: 1000, rows: 500 };
const PREPARED: Readonly<Record<string, string>> = {
	log: `yes 'a line of some output with 0123456789 and é' | head -c ${LOG_MIB}M; exec cat`,
	"one-line": `head -c ${LOG_MIB / 4}M /dev/zero | tr '\\0' x; exec cat`,
	colours: `awk '${COLOURS}'; exec cat`,
	"full-screen": `printf '\\033[?1049h'; awk '${COLOURS}'; exec cat`,
	blanks: "head -c 2M /dev/zero | tr '\\0' ' '; echo x; exec cat",
	"line-ends": "head -c 2M /dev/zero | tr '\\0' '\\n'; echo x; exec cat",
	sink: "stty raw -echo; exec cat >/dev/null",
};

let dialtone: Dialtone;
const results: (Measured & { readonly what: string })[] = [];

beforeAll(async () => {
	dialtone = await Dialtone.open();
	for (const [name, script] of Object.entries(PREPARED))
		await dialtone.client.call("start", { name, ...LARGE, argv: ["sh", "-c", script], timeoutMs: 0 });
	await until("everything is printed", async () => {
		for (const [name, size] of [["log", LOG_MIB << 20] as const, ["one-line", (LOG_MIB / 4) << 20] as const])
			if ((await dialtone.client.call("read", { session: name })).facts.offset < size) return false;
		return true;
	});
}, 120_000);

afterAll(async () => {
	const worst = (by: "stallMs" | "grewMb") => [...results].sort((a, b) => b[by] - a[by]).slice(0, 10);
	const lines = [...new Set([...worst("stallMs"), ...worst("grewMb")])].map(
		({ what, stallMs, grewMb }) => `${String(stallMs).padStart(5)} ms ${String(grewMb).padStart(4)} MB  ${what}`,
	);
	console.log(`The most expensive of ${results.length} calls:\n${lines.join("\n")}`);
	await dialtone[Symbol.asyncDispose]();
});

async function withinBudget(what: string, act: () => Promise<unknown>): Promise<void> {
	let { stallMs, grewMb } = await measured(act);
	for (let tries = 1; tries < TRIES && (stallMs > MAX_STALL_MS || grewMb > MAX_GROWTH_MB); tries++) {
		const again = await measured(act, { collect: true });
		stallMs = Math.min(stallMs, again.stallMs);
		grewMb = Math.min(grewMb, again.grewMb);
	}
	results.push({ what, stallMs, grewMb });
	expect.soft(stallMs, `${what}: longest stall in ms`).toBeLessThanOrEqual(MAX_STALL_MS);
	expect.soft(grewMb, `${what}: growth in MB`).toBeLessThanOrEqual(MAX_GROWTH_MB);
}

/** Calls a tool; a refusal is an answer, anything else that is thrown is a bug. */
async function call(tool: string, input: unknown): Promise<void> {
	const signal = AbortSignal.timeout(CUT_OFF_MS);
	try {
		await dialtone.client.call<string>(tool, input, { signal });
	} catch (error) {
		if (!(error instanceof Fault) && !signal.aborted) throw error;
	}
}

const DEPENDS_ON_CONTENT = ["view", "lines", "search", "from", "tail", "until"];
const SESSION_FIELDS = ["session", "session_id", "terminal_id", "process_id"];
const NEEDED: Readonly<Record<string, unknown>> = { command: "true", cmd: "true", question: "?", keys: "x" };

/** On which of the prepared sessions a tool is tried: what ends a session, on none. */
function targetsOf({ name, effect, input }: Tool): readonly string[] {
	if (!Object.keys(input.shape).some((field) => SESSION_FIELDS.includes(field))) return [""];
	if (name === "read") return Object.keys(PREPARED).filter((prepared) => prepared !== "sink");
	if (effect === "reads") return ["log", "one-line", "colours"];
	return effect === "types" && name !== "signal" ? ["sink"] : ["no-such-session"];
}

function inputsOf(tool: Tool): readonly { readonly about: string; readonly input: object }[] {
	const { shape } = tool.input;
	const inputs: { about: string; input: object }[] = [];
	for (const session of targetsOf(tool)) {
		const base: Record<string, unknown> = {};
		for (const [field, schema] of Object.entries(shape)) {
			if (SESSION_FIELDS.includes(field)) base[field] = session;
			else if (field === "timeoutMs" || field === "yield_time_ms") base[field] = 50;
			else if (field === "timeout_seconds") base[field] = 1;
			else if (field === "cols" || field === "rows") base[field] = LARGE[field];
			else if (!schema.safeParse(undefined).success) base[field] = NEEDED[field];
		}
		for (const [field, schema] of Object.entries(shape)) {
			// What only the door sees is the same for every session.
			if (session !== targetsOf(tool)[0] && !DEPENDS_ON_CONTENT.includes(field)) continue;
			for (const value of worstOf(schema, field)) {
				const shown = JSON.stringify(value)?.slice(0, 30);
				inputs.push({
					about: `${tool.name}(${session}) ${field} = ${shown}`,
					input: {
						...base,
						// A range is of the output, not of the screen.
						...((field === "from" || field === "to") && "view" in shape && { view: "lines", from: 0 }),
						...(field === "search" && { lines: 100_000 }),
						// Not a shell, which would stay.
						...(tool.name === "start" && field !== "argv" && field !== "again" && { command: "true" }),
						[field]: value,
					},
				});
			}
		}
	}
	return inputs;
}

describe.each(Object.entries(catalogue))("G3 G9 G11 the worst input to the %s tools", (_, tools) => {
	// Hundreds of calls, some of which take their whole time.
	test.each(tools.map((tool) => [tool.name, tool as Tool] as const))("%s", { timeout: 600_000 }, async (name, tool) => {
		for (const { about, input } of inputsOf(tool)) await withinBudget(about, () => call(name, input));
	});

	test("every field of text has a limit", () => {
		for (const { name, input } of tools as readonly Tool[]) {
			for (const [field, schema] of Object.entries(input.shape)) {
				for (const value of [field, "x"].map((text) => text.repeat(UNBOUNDED_CHARS)))
					expect(schema.safeParse(value).success, `${name}.${field} takes ${value.length} characters`).toBe(false);
			}
		}
	});
});

/** Nothing of it has been drawn yet, but for what the scheduler did meanwhile: later looks find most of the work done. */
const UNSEEN = {
	...PREPARED,
	"scroll region": "printf '\\033[2;500r'; yes $(printf '\\033[500;1Hx') | head -c 250K; exec cat",
	"deleted characters": "yes $(printf '\\033[H\\033[P') | tr -d '\\n' | head -c 250K; exec cat",
	"inserted lines": "yes $(printf '\\033[H\\033[L') | head -c 250K; exec cat",
};

test.each(Object.entries(UNSEEN))("G3 the first look at a full terminal: %s", async (name, script) => {
	const directory = mkdtempSync(join(tmpdir(), "dt-unseen-"));
	let looks = 0;
	await withinBudget(`first look(${name})`, async () => {
		// One for each try: a second look would find it drawn.
		const printed = join(directory, `${++looks}`);
		const argv = ["sh", "-c", script.replace("exec cat", `: > ${printed}; exec cat`)];
		const session = await dialtone.start({ name: "unseen", ...LARGE, argv, timeoutMs: 0 });
		await until("everything is printed", () => existsSync(printed));
		await session.read();
		await session.close({ force: true, forget: true });
	});
	rmSync(directory, { recursive: true });
});

test("G9 a caller's name has a limit", async () => {
	const caller = { owner: "x".repeat(limits.ownerChars + 1), cwd: "/", env: {} };
	await expect(dialtone.client.call("list", {}, { caller })).rejects.toMatchObject({ code: "bad_input" });
});

test.each(["log", "one-line", "colours", "full-screen"])(
	"G3 joining %s: its snapshot, then its output from the beginning",
	async (name) => {
		await withinBudget(`snapshot(${name})`, () => dialtone.client.snapshot(name));
		await withinBudget(`output(${name})`, async () => {
			const stop = new AbortController();
			let bytes = 0;
			for await (const chunk of dialtone.client.output(name, { from: 0, signal: stop.signal })) {
				if ("bytes" in chunk) bytes += chunk.bytes.length;
				if (bytes >= 8 << 20) break;
			}
		});
	},
);

describe("G9 the worst line on the daemon's socket", () => {
	const filled = (unit: string) => unit.repeat(Math.floor((limits.frameBytes - 100) / unit.length));
	test.each([
		["nested arrays", filled("[")],
		["many small objects", `[${filled("{},")}{}]`],
		["a long string", JSON.stringify(filled("x"))],
		["a string of escapes", `"${filled("\\u0000")}"`],
		["quotes", `"${filled('\\"')}"`],
		["a line that never ends", filled("x").repeat(2)],
	])("%s", async (what, line) => {
		const directory = mkdtempSync(join(tmpdir(), "dt-worst-"));
		const path = join(directory, "s");
		const server = await listen(path, {
			client: new FakeClient(),
			version: "1",
			callers: anyCaller,
			limits: { connections: 100, callsPerConnection: 10 },
			onStop: async () => ({}),
			stopping: new AbortController().signal,
			http: null,
			fleet: null,
			onClients: () => {},
			onDropped: () => {},
		});
		const bytes = Buffer.from(`{"id":1,"do":"call","tool":"list","caller":{},"input":${line}}\n`);
		await withinBudget(`a line of ${what}`, async () => {
			const socket = createConnection(path);
			socket.on("error", () => {}); // cut off while it writes
			const answered = new Promise<void>((resolve) => {
				socket.once("data", () => resolve());
				socket.once("close", () => resolve());
			});
			socket.write(bytes);
			await answered;
			socket.destroy();
		});
		await server.stop();
		rmSync(directory, { recursive: true });
	});
});

describe("G3 one request", () => {
	test("for all of a long log as it came gets its beginning and its end, and is told so", async () => {
		await withinBudget("write_stdin(log) raw", async () => {
			const { id } = await dialtone.find("log");
			const owner = `raw ${performance.now()}`;
			const { facts } = await dialtone.client.call(
				"write_stdin",
				{ session_id: id, raw: true, max_output_tokens: 1_000_000, yield_time_ms: 0 },
				{ caller: { owner, cwd: "/", env: {} } },
			);
			expect(facts).toMatchObject({ success: true, truncated: true });
			expect(facts.output.length).toBeLessThan(1 << 20);
			expect(facts.output).toContain("truncated");
		});
	});

	test("whose command prints 20 MB gets its beginning and its end, streams apart or not", async () => {
		const command = "yes 'some output of a command' | head -c 20M";
		for (const separate of [true, false])
			await withinBudget(`run 20 MB, separate: ${separate}`, async () => {
				const { facts } = await dialtone.client.call("run", {
					command,
					separate,
					shell: "prints",
					program: "bash",
					clean: true,
					timeoutMs: 120_000,
				});
				expect(facts).toMatchObject({ exitCode: 0, truncated: true });
				expect(JSON.stringify(facts).length).toBeLessThan(1 << 20);
				expect(facts.text).toContain("left out");
				if (separate) expect(facts.stdout).toContain("left out");
			});
	});

	test("with view raw says where to go on", async () => {
		const { facts } = await dialtone.client.call("read", { session: "log", view: "raw", from: 5 });
		expect(facts.from).toBe(5);
		expect(facts.to).toBeLessThanOrEqual(5 + (1 << 20));
		expect(Buffer.from(facts.base64!, "base64")).toHaveLength(facts.to! - 5);
	});
});

test("G9 the event of an end carries a bounded part of its last lines", async () => {
	const stop = new AbortController();
	const events = dialtone.client.events({ signal: stop.signal })[Symbol.asyncIterator]();
	const next = events.next();
	const line = "head -c 1500000 /dev/zero | tr '\\0' x";
	await dialtone.start({ name: "long-line", argv: ["sh", "-c", line], ...LARGE, timeoutMs: 60_000 });
	for (let event = (await next).value; ; event = (await events.next()).value) {
		if (event.event !== "ended" || event.name !== "long-line") continue;
		expect(JSON.stringify(event).length).toBeLessThan(5000);
		break;
	}
	stop.abort();
	await events.return?.();
});

test("G11 twenty waits with an expensive pattern on a program that prints all the time", async () => {
	const print = "while :; do head -c 500 /dev/zero | tr '\\0' y; sleep 0.05; done";
	const talker = await dialtone.start({ name: "talker", argv: ["sh", "-c", print], timeoutMs: 0 });
	await withinBudget("20 waits for [^]{0,60}x", async () => {
		const until = { pattern: "[^]{0,60}x", only: true };
		const waits = Array.from({ length: 20 }, () => talker.wait({ until, timeoutMs: 3000 }));
		const startedAt = performance.now();
		for (const { returned } of await Promise.all(waits)) expect(returned).toBe("timeout");
		expect(performance.now() - startedAt).toBeLessThan(HANG_MS);
	});
	await talker.close({ force: true });
});
