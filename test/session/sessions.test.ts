// Sessions as a caller meets them, through the library, with real programs.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { openSubscriptions } from "../../src/protocol/listeners.ts";
import type { Options } from "../../src/session/options.ts";
import { until as eventually } from "../condition.ts";
import { MONOSPACE, needing } from "../programs.ts";
import { leavesNoSubscription } from "./leaks.ts";

const opened: Dialtone[] = [];
async function open(options: Partial<Options> = {}, home?: string): Promise<Dialtone> {
	const dialtone = await Dialtone.open({ options, ...(home === undefined ? {} : { home }) });
	opened.push(dialtone);
	return dialtone;
}
afterEach(async () => {
	for (const dialtone of opened.splice(0)) await dialtone[Symbol.asyncDispose]();
});
const patient = { timeoutMs: 60_000 };

describe("R1.5 R2.7 R3.5 how many sessions there may be, and for how long", () => {
	test("at the limit a start is refused with the names of those that are open", async () => {
		const dialtone = await open({ maxSessions: 2 });
		await dialtone.start({ name: "a", argv: ["cat"], ...patient });
		await dialtone.start({ name: "b", argv: ["cat"], ...patient });
		await expect(dialtone.start({ name: "c", argv: ["cat"] })).rejects.toMatchObject({
			code: "too_many_sessions",
			next: expect.stringContaining("b, a"),
		});
		await (await dialtone.find("a")).close();
		expect((await dialtone.start({ name: "c", argv: ["cat"], ...patient })).facts.status).toBe("running");
	});

	test("of many starts at the same moment no more than the limit succeed", async () => {
		const dialtone = await open({ maxSessions: 3 });
		const starts = await Promise.allSettled(
			Array.from({ length: 8 }, (_, index) => dialtone.start({ name: `s${index}`, argv: ["cat"], ...patient })),
		);
		expect(starts.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
	});

	test("one that nobody touches is ended and says why; one that is kept is not", async () => {
		const dialtone = await open({ idleMs: 300 });
		await dialtone.start({ name: "idle", argv: ["cat"], ...patient });
		await dialtone.start({ name: "kept", argv: ["cat"], keep: true, ...patient });
		await eventually("the idle session is ended", async () => {
			const { sessions } = await dialtone.list({ status: "ended" });
			return sessions.some(({ name, because }) => name === "idle" && because.includes("idle for"));
		});
		expect((await dialtone.list({ status: "running" })).sessions.map(({ name }) => name)).toEqual(["kept"]);
	});
});

describe("R1.1 names", () => {
	test("a name is made from the command, and no two running sessions share one", async () => {
		const dialtone = await open();
		const first = await dialtone.start({ command: "FOO=1 cat", ...patient });
		const second = await dialtone.start({ command: "cat", ...patient });
		expect([first.name, second.name]).toEqual(["cat", "cat-2"]);
		await expect(dialtone.start({ name: "cat", argv: ["cat"] })).rejects.toMatchObject({ code: "name_taken" });
	});

	test("a repeated start with ifExists goes on with the session that is there", async () => {
		const dialtone = await open();
		const first = await dialtone.start({ name: "c", argv: ["cat"], ifExists: "use", ...patient });
		const again = await dialtone.start({ name: "c", argv: ["cat"], ifExists: "use", ...patient });
		expect(again.id).toBe(first.id);
		const replaced = await dialtone.start({ name: "c", argv: ["cat"], ifExists: "replace", ...patient });
		expect(replaced.id).not.toBe(first.id);
		expect((await first.read()).status).toBe("cancelled");
	});

	test("a session is found by name, id, the beginning of the id, and - for the last", async () => {
		const dialtone = await open();
		const cat = await dialtone.start({ name: "c", argv: ["cat"], ...patient });
		for (const reference of ["c", cat.id, cat.id.slice(0, 8), "-"]) {
			expect((await dialtone.find(reference)).id).toBe(cat.id);
		}
		await expect(dialtone.find("nobody")).rejects.toMatchObject({
			code: "session_not_found",
			next: "Open sessions: c.",
		});
	});

	test("without a command it is a shell, which says when it is at its prompt", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ name: "mine", ...patient });
		expect(shell.facts).toMatchObject({ activity: "waiting", waitingFor: "command", certainty: "certain" });
		const answer = await shell.send({ text: "read -p 'sure? ' x", submit: true, ...patient });
		expect(answer).toMatchObject({ returned: "waiting", waitingFor: "line" });
		const back = await shell.send({ text: "yes", submit: true, ...patient });
		expect(back).toMatchObject({ returned: "waiting", waitingFor: "command" });
	});

	test("two first commands at the same moment share one shell", async () => {
		const dialtone = await open();
		await Promise.allSettled([1, 2, 3].map((n) => dialtone.client.call("run", { command: `echo ${n}; sleep 0.2` })));
		expect((await dialtone.list()).sessions).toHaveLength(1);
	});

	test("R4.12 an ended session is started again under its name", async () => {
		const dialtone = await open();
		const first = await dialtone.start({ name: "date", command: "pwd; exit 3", cwd: "/usr", ...patient });
		expect(first.facts).toMatchObject({ status: "failed", text: "/usr" });
		const again = await dialtone.start({ again: "date", ...patient });
		expect(again.facts).toMatchObject({ name: "date", status: "failed", exit: { code: 3 }, text: "/usr" });
		expect(again.id).not.toBe(first.id);
	});
});

describe("R2.5 R3.6 what is refused changes nothing", () => {
	test("a program that is not there, a directory that is not there: the stage, the reason, the next step", async () => {
		const dialtone = await open();
		await expect(dialtone.start({ argv: ["no-such-program-here"] })).rejects.toMatchObject({
			code: "spawn_failed",
			facts: { stage: "exec", code: "ENOENT" },
			next: expect.stringContaining("PATH"),
		});
		await expect(dialtone.start({ argv: ["cat"], cwd: "/no/such/place" })).rejects.toMatchObject({
			facts: { stage: "chdir" },
			next: expect.stringContaining("cwd"),
		});
		const { sessions } = await dialtone.list();
		expect(sessions.map(({ status }) => status)).toEqual(["failed", "failed"]);
		expect(sessions[1]!.because).toContain("No such file");
	});

	test("nothing is written to a session that ended, and the refusal says how it ended", async () => {
		const dialtone = await open();
		const ended = await dialtone.start({ command: "exit 4", ...patient });
		await expect(ended.send({ text: "hello", submit: true })).rejects.toMatchObject({
			code: "session_ended",
			message: expect.stringContaining("exit code 4; nothing was typed".replace("; ", "); ")),
		});
	});

	test("a line that the kernel would cut is refused whole", async () => {
		const dialtone = await open();
		const cat = await dialtone.start({ argv: ["cat"], ...patient });
		await expect(cat.send({ text: "x".repeat(5000), submit: true })).rejects.toMatchObject({ code: "line_too_long" });
		const answer = await cat.send({ text: "short", submit: true, ...patient });
		expect(answer.text).toBe("short");
	});

	test("an unknown key is refused with the nearest names, before anything is typed", async () => {
		const dialtone = await open();
		const cat = await dialtone.start({ argv: ["cat"], ...patient });
		await expect(cat.send({ text: "lost", keys: ["entre"] })).rejects.toMatchObject({
			code: "unknown_key",
			next: expect.stringContaining("enter"),
		});
		expect((await cat.send({ text: "x", submit: true, ...patient })).text).toBe("x");
	});

	test("with ifOffset a send is refused when the program has written more", async () => {
		const dialtone = await open();
		const cat = await dialtone.start({ argv: ["cat"], ...patient });
		const { offset } = cat.facts;
		await cat.send({ text: "one", submit: true, ifOffset: offset, ...patient });
		await expect(cat.send({ text: "two", submit: true, ifOffset: offset })).rejects.toMatchObject({
			code: "screen_moved",
		});
	});

	test("a repeated id is not typed twice", async () => {
		const dialtone = await open();
		const cat = await dialtone.start({ argv: ["cat"], ...patient });
		await cat.send({ text: "once", submit: true, id: "w1", ...patient });
		await cat.send({ text: "once", submit: true, id: "w1", ...patient });
		const { text } = await cat.read({ view: "lines", lines: 10 });
		expect(text).toBe("once\nonce");
	});
});

describe("R1.2 R4.4 signals and ends", () => {
	test("INT is Ctrl+C to the foreground program, also when its input is stuck", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ argv: ["bash", "--norc"], ...patient });
		await shell.send({ text: "sleep 1000", submit: true, timeoutMs: 0 });
		await eventually("sleep is in the foreground", async () => (await shell.read()).because.includes("sleep ("));
		for (let piece = 0; piece < 40; piece++)
			await shell.send({ text: `${"x".repeat(200)}\n`.repeat(20), timeoutMs: 0 });
		const interrupted = await shell.signal({ signal: "INT", ...patient });
		expect(interrupted).toMatchObject({ status: "running", returned: "waiting" });
	});

	test("close ends the whole tree, whatever it does to stay", async () => {
		const dialtone = await open({ endGraceMs: 300 });
		const script =
			"trap '' TERM HUP; (setsid sleep 1234 &) ; (trap '' TERM HUP; sleep 1235 & sleep 1235) & echo up; read x";
		const session = await dialtone.start({ command: script, ...patient });
		const closed = await session.close();
		expect(closed).toMatchObject({ status: "cancelled", returned: "ended" });
		expect(closed.survivors).toBeUndefined();
	});

	test(
		"with keep only the main program ends; what it left in the background lives on until it is closed",
		needing("python3"),
		async () => {
			const dialtone = await open();
			const server =
				"import http.server as h; s=h.HTTPServer(('127.0.0.1',0),h.BaseHTTPRequestHandler); print('port',s.server_port,flush=True); s.serve_forever()";
			const session = await dialtone.start({
				command: `trap '' HUP; python3 -c "${server}" & sleep 1000`,
				until: { pattern: "port \\d+" },
				...patient,
			});
			const [port] = session.facts.ports;
			expect(port).toBeGreaterThan(0);
			const kept = await session.close({ keep: true });
			expect(kept.status).toBe("cancelled");
			expect(kept.ports).toEqual([port]);
			expect((await session.close()).ports).toEqual([]);
		},
	);

	test("a stopped program is told as stopped; CONT lets it go on", async () => {
		const dialtone = await open();
		const session = await dialtone.start({ command: "kill -STOP $$; echo resumed; read x", ...patient });
		expect(session.facts).toMatchObject({ activity: "stopped", returned: "still" });
		const resumed = await session.signal({ signal: "CONT", ...patient });
		expect(resumed).toMatchObject({ returned: "waiting", waitingFor: "line", text: "resumed" });
	});

	test("TSTP stops the job in the foreground of a shell, which then waits", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ argv: ["bash", "--norc"], ...patient });
		await shell.send({ text: "sleep 1000", submit: true, timeoutMs: 0 });
		await eventually("sleep is in the foreground", async () => (await shell.read()).because.includes("sleep ("));
		const stopped = await shell.signal({ signal: "TSTP", ...patient });
		expect(stopped.text).toContain("Stopped");
		expect(stopped).toMatchObject({ returned: "waiting" });
	});
});

describe("R1.4 stillness", () => {
	test("is counted from the last output, not from the call", async () => {
		const dialtone = await open();
		const command = "for i in 1 2 3 4 5 6 7 8; do echo tick $i; sleep 0.1; done; sleep 1000";
		const session = await dialtone.start({ command, until: { stillMs: 600, only: true }, ...patient });
		expect(session.facts).toMatchObject({ returned: "still", activity: "working" });
		expect(session.facts.text).toContain("tick 8");
	});
});

describe("R2.10 limits", () => {
	test("CPU time, open files and wall-clock time are limited when asked", async () => {
		const dialtone = await open();
		const files = await dialtone.start({ command: "ulimit -n", limits: { openFiles: 77 }, ...patient });
		expect(files.facts.text).toBe("77");
		const cpu = await dialtone.start({ command: "while :; do :; done", limits: { cpuSeconds: 1 }, ...patient });
		expect(cpu.facts).toMatchObject({ returned: "ended", status: "failed" });
		expect(cpu.facts.because).toBe("ended: 1 s CPU limit; killed by SIGXCPU");
		const wall = await dialtone.start({ command: "sleep 1000", limits: { wallMs: 300 }, ...patient });
		expect(wall.facts).toMatchObject({
			returned: "ended",
			because: expect.stringMatching(/^ended: 300 ms wall-clock limit/),
		});
	});
});

describe("R4.8 output after the end", () => {
	test("stays readable after the exit, after eviction from memory, and in the next process", async () => {
		const home = mkdtempSync(join(tmpdir(), "dt-keep-"));
		const first = await open({ evictMs: 1 }, home);
		const session = await first.start({ name: "count", command: "seq 1 5000; echo last", ...patient });
		expect(session.facts).toMatchObject({ status: "succeeded" });
		await eventually(
			"it has left memory",
			async () => (await session.read({ view: "lines", lines: 2 })).text === "5000\nlast",
		);
		await opened.pop()![Symbol.asyncDispose]();
		const second = await open({}, home);
		const found = await second.find("count");
		expect(found.facts).toMatchObject({ status: "succeeded", exit: { code: 0 } });
		const raw = await found.read({ view: "raw", from: 0, to: 12 });
		expect(Buffer.from(raw.base64!, "base64").toString()).toBe("1\r\n2\r\n3\r\n4\r\n");
		expect((await found.read({ search: "499" })).text).toContain("4990");
		rmSync(home, { recursive: true, force: true });
	});
});

describe("R1.3 R4.3 events", () => {
	test("a start, whose turn it became, and the end with its last lines are told", async () => {
		const dialtone = await open();
		const told: string[] = [];
		const stop = new AbortController();
		const listening = (async () => {
			for await (const event of dialtone.events(stop.signal))
				if (event.event !== "dropped") told.push(`${event.event} ${event.status} ${event.lastLines ?? ""}`);
		})();
		const session = await dialtone.start({ command: "read x; echo bye $x", ...patient });
		await session.send({ text: "now", submit: true, ...patient });
		await eventually("the end is told", () => told.some((it) => it.startsWith("ended")));
		stop.abort();
		await listening;
		expect(told[0]).toContain("started running");
		expect(told).toContainEqual(expect.stringContaining("attention running"));
		expect(told.at(-1)).toBe("ended succeeded now\nbye now");
	});
});

describe("R2.6 R2.8 what an agent reads is bounded, and nothing is out of reach", () => {
	test("more than the budget: head and tail, the cut marked with how to get the rest, which then comes exactly", async () => {
		const dialtone = await open();
		const session = await dialtone.start({ command: "seq 1 3000; read x", maxTokens: 300, ...patient });
		const { text, truncated } = session.facts;
		expect(truncated).toBe(true);
		expect(text.length / 2.3).toBeLessThanOrEqual(300);
		expect(text).toMatch(/^1\n2\n/);
		expect(text).toMatch(/2999\n3000$/);
		const [mark, from, to] = /^\[… lines (\d+)–(\d+) of 3000 left out: read .* …\]$/m.exec(text)!;
		const rest = await session.read({ view: "lines", from: Number(from), to: Number(to), maxTokens: 100_000 });
		const all = text.replace(mark, rest.text).split("\n");
		expect(all).toEqual(Array.from({ length: 3000 }, (_, index) => String(index + 1)));
	});

	test("escape sequences are there where raw output is asked for, and nowhere else", async () => {
		const dialtone = await open();
		const session = await dialtone.start({ command: "printf '\\033[31mred\\033[0m\\n'", ...patient });
		expect(session.facts.text).toBe("red");
		const raw = await session.read({ view: "raw" });
		expect(Buffer.from(raw.base64!, "base64").toString()).toBe("\x1b[31mred\x1b[0m\r\n");
	});

	test("a progress bar of 2000 frames is one line", async () => {
		const dialtone = await open();
		const command = "for i in $(seq 1 2000); do printf '\\rprogress %d' $i; done; echo; read x";
		expect((await dialtone.start({ command, ...patient })).facts.text).toBe("progress 2000");
	});

	test("an agent that can look gets the screen as a picture", needing(MONOSPACE), async () => {
		const dialtone = await open();
		const session = await dialtone.start({ command: "printf '\\033[7mchosen\\033[0m\\n'; read x", ...patient });
		const { picture } = (await dialtone.client.call("read", { session: session.id, view: "picture" })).facts as {
			picture: { mimeType: string; base64: string };
		};
		expect(picture.mimeType).toBe("image/png");
		expect(Buffer.from(picture.base64, "base64").subarray(1, 4).toString()).toBe("PNG");
	});
});

test("S6: a stream that is aborted while its reader does not read keeps no subscription", async () => {
	const dialtone = await open();
	const terminal = await dialtone.start({ argv: ["cat"], ...patient });
	let cols = 100;
	await leavesNoSubscription(async () => {
		const before = openSubscriptions();
		const gone = new AbortController();
		const events = dialtone.events(gone.signal)[Symbol.asyncIterator]();
		const output = terminal.output({ signal: gone.signal })[Symbol.asyncIterator]();
		const [event] = [events.next(), output.next()];
		expect(openSubscriptions()).toBeGreaterThan(before);
		cols += 1;
		await terminal.resize({ cols, rows: 30 });
		await event;
		gone.abort();
	});
});

test("`run` uses the shell that `start` opened by the name that its answers show", async () => {
	const dialtone = await open();
	const shell = await dialtone.start(patient);
	const { name } = shell.facts;
	const ran = await dialtone.run({ command: "echo ran", shell: name, ...patient });
	expect(ran).toMatchObject({ session: shell.id, name, exitCode: 0, text: "ran\n" });
	expect((await dialtone.list()).sessions.map((each) => each.name)).toEqual([name]);
	await shell.close();
	// One that has ended is not what `run` means: it has a new one.
	expect((await dialtone.run({ command: "true", shell: name, ...patient })).session).not.toBe(shell.id);
});
