// Sessions that print faster than anybody looks: the output stays in the holder's
// log, nothing of it is lost, and whoever looks sees the newest.
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Dialtone, type Terminal } from "../../src/index.ts";
import type { Options } from "../../src/session/options.ts";
import { until as eventually, HANG_MS } from "../condition.ts";
import { needing } from "../programs.ts";
import { compiled } from "../pty/stage.ts";

let home: string;
let dialtone: Dialtone;

async function open(options: Partial<Options> = {}): Promise<void> {
	home = mkdtempSync(join(tmpdir(), "dt-flood-"));
	dialtone = await Dialtone.open({ home, owner: "test", options });
}
afterEach(async () => {
	for (const { session } of (await dialtone.list({ status: "running" })).sessions) {
		await dialtone.client.call("close", { session, force: true });
	}
	await dialtone[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
});

/** Numbered lines as fast as they can be printed, to the end or for ever. */
const numbers = (to: number | "for ever") => [
	"seq",
	"-f",
	"line %.0f of a long log, with some words in it",
	...(to === "for ever" ? ["1", "inf"] : ["1", String(to)]),
];

const numbersIn = (text: string) => [...text.matchAll(/^line (\d+) /gm)].map(([, number]) => Number(number));

async function logged(terminal: Terminal): Promise<number> {
	const directory = join(home, "sessions", terminal.id);
	const files = (await readdir(directory)).filter((name) => name.startsWith("out."));
	const last = files.sort().at(-1)!;
	return Number(last.slice(4)) + (await stat(join(directory, last))).size;
}

describe("S23 a flood that nobody looks at", () => {
	test("is left in the log; a look shows the newest lines and names what went by", async () => {
		await open();
		const flood = await dialtone.start({ argv: numbers("for ever"), timeoutMs: 0 });
		await eventually("20 MB are logged", async () => (await logged(flood)) > 20_000_000);
		const before = await logged(flood);
		const first = await flood.read();
		// But for what is on its way.
		expect(first.offset).toBeGreaterThan(before - (1 << 20));
		// Or, where there was no time to number them, the bytes.
		expect(first.missed?.lines ?? first.passedOver).toBeDefined();
		if (first.missed) expect(first.missed.lines).toBeGreaterThan(1000);
		const shown = numbersIn(first.text);
		const newest = shown.at(-1)!;
		// The lines at the end follow each other, and there are about as many as bytes say.
		expect(shown.slice(-20)).toEqual(Array.from({ length: 20 }, (_, i) => newest - 19 + i));
		expect(newest).toBeGreaterThan(first.offset / 60);
		const second = await flood.read();
		expect(second.offset).toBeGreaterThan(first.offset);
		expect(numbersIn(second.text).at(-1)).toBeGreaterThan(newest);
		expect(Math.min(...numbersIn(second.text))).toBeGreaterThan(newest - 1);
	});

	test("ends with its exit code and every byte on disk, though nobody looked", async () => {
		await open();
		const stop = new AbortController();
		const ended = (async () => {
			for await (const event of dialtone.events(stop.signal)) if (event.event === "ended") return event;
		})();
		const lines = 400_000;
		const flood = await dialtone.start({
			argv: [
				"sh",
				"-c",
				`${numbers(lines)
					.map((it) => `'${it}'`)
					.join(" ")}; exit 7`,
			],
			timeoutMs: 0,
		});
		expect(await ended).toMatchObject({ exit: { code: 7, signal: null } });
		stop.abort();
		const facts = await flood.read({ view: "lines", lines: 3 });
		expect(numbersIn(facts.text)).toEqual([lines - 2, lines - 1, lines]);
		const [listed] = (await dialtone.list()).sessions;
		expect(listed).toMatchObject({ lines, offset: facts.offset, lastLine: expect.stringContaining(`line ${lines} `) });
		const first = await flood.read({ view: "raw", from: 0, to: 6 });
		expect(Buffer.from(first.base64!, "base64").toString()).toBe("line 1");
	});

	test("does not hide the modes that it switched: the newest screen is drawn in them", async () => {
		await open();
		const script = `printf '\\033[?1h\\033[?2004h\\033[?25l'; ${numbers(300_000)
			.map((it) => `'${it}'`)
			.join(" ")}; printf 'ready'; cat >/dev/null`;
		const flood = await dialtone.start({ argv: ["sh", "-c", script], timeoutMs: 0 });
		const facts = await flood.wait({ until: { text: "ready" }, timeoutMs: 60_000 });
		expect(facts.text).toMatch(/ready$/);
		expect(facts.cursor).toBeNull();
		// Bracketed paste was asked for before everything else.
		await expect(flood.send({ paste: "two\nlines", timeoutMs: 1 })).resolves.toMatchObject({ status: "running" });
	});

	test("a question behind it is answered, though nobody looks", async () => {
		await open();
		const script = `${numbers(100_000)
			.map((it) => `'${it}'`)
			.join(
				" ",
			)}; stty raw -echo; printf '\\033[6n'; answer=$(dd bs=1 count=6 2>/dev/null); stty sane; [ -n "$answer" ] && exit 9`;
		const flood = await dialtone.start({ argv: ["bash", "-c", script], timeoutMs: 0 });
		await eventually("it has its answer", async () => {
			const { sessions } = await dialtone.list({ status: "ended" });
			return sessions.some(({ session, exit }) => session === flood.id && exit?.code === 9);
		});
	});
});

describe("a flood that a caller waits for", () => {
	const LINE = "a line that the program ends with CR LF itself";
	const floods: [name: string, argv: string[], end: RegExp][] = [
		["without a line end", ["base64", "-w0", "/dev/urandom"], /[A-Za-z0-9+/]{200}/],
		["of lines that end in CR CR LF", ["yes", `${LINE}\r`], new RegExp(`(?:^${LINE}\\n){10}`, "m")],
	];
	test.each(floods)(
		"%s: calls keep their timeouts, show the newest, and the rest can be read",
		async (_name, argv, end) => {
			await open();
			const timeoutMs = 1500;
			/** What drawing and rendering everything took: up to 60 s, on an idle machine. */
			const mostMs = timeoutMs + HANG_MS;
			const timed = async <T>(call: Promise<T>): Promise<T> => {
				const startedAt = performance.now();
				const answer = await call;
				expect(performance.now() - startedAt).toBeLessThan(mostMs);
				return answer;
			};
			const flood = await timed(dialtone.start({ argv, timeoutMs }));
			const first = await timed(flood.wait({ timeoutMs }));
			const second = await timed(flood.wait({ timeoutMs }));
			const sent = await timed(flood.send({ text: "x", timeoutMs }));
			for (const { returned, text } of [first, second, sent]) {
				expect(returned).toBe("timeout");
				expect(text).toMatch(end);
			}
			const bytes = async (from: number, to: number) =>
				Buffer.from((await flood.read({ view: "raw", from, to })).base64!, "base64").toString();
			// The newest at that moment.
			if (second.passedOver !== undefined) {
				const last = (await bytes(second.offset - 60, second.offset)).replaceAll("\r", "").trimEnd();
				expect(second.text.endsWith(last)).toBe(true);
			}
			const closed = await timed(dialtone.client.call("close", { session: flood.id, force: true }));
			expect(closed.facts.text).toMatch(end);

			// What no answer has shown is in the log and in the transcript.
			const from = Math.max(0, closed.facts.offset - (4 << 20)); // not much earlier: a fast machine prints more than is kept
			const [longest] = (await bytes(from, from + 60)).split(/[\r\n]+/).sort((a, b) => b.length - a.length);
			const found = await flood.read({ search: longest!, lines: 1 });
			expect(found.matches!.count).toBeGreaterThan(0);
			expect((await flood.read({ from: 1, to: 1, maxTokens: 100 })).lines).toMatchObject({ from: 1, to: 1 });
		},
	);
});

describe("a screen that is put away", () => {
	test("wakes as it was when somebody looks, types or something is printed", needing("python3"), async () => {
		await open({ hibernateMs: 50 });
		const python = await dialtone.start({ argv: ["python3", "-q"] });
		await python.send({ text: "print('\\033[31mred\\033[0m')", submit: true });
		const before = await python.read({ view: "screen" });
		for (let round = 0; round < 3; round++) {
			await new Promise((resolve) => setTimeout(resolve, 150)); // the time itself is what is tested
			expect((await python.read({ view: "screen" })).text).toBe(before.text);
			expect((await python.read()).text).toBe("");
		}
		expect((await python.send({ text: "6*7", submit: true })).text).toContain("42");
	});
});

describe("A1 a flood of a program that looks for keys without waiting", needing("gcc"), () => {
	/** Drawing such a flood takes seconds on a busy machine, and the call with it: far below for ever. */
	const LATE_MS = 60_000;

	// "wide" and "redraws" take a minute on a busy machine.
	for (const kind of ["lines", "no-line-ends", "two-returns"])
		for (const peek of ["poll", "count"])
			test(`${kind}, by ${peek}: never certain, every call is answered, and a key arrives`, async () => {
				await open();
				const started = Date.now();
				const flood = await dialtone.start({ argv: [compiled("flood-and-peek"), kind, peek], timeoutMs: 500 });
				expect(Date.now() - started).toBeLessThan(500 + LATE_MS);
				expect([flood.facts.activity, flood.facts.certainty]).not.toEqual(["waiting", "certain"]);
				for (let i = 0; i < 8; i++) {
					const asked = Date.now();
					const { certainty, activity } = i % 2 === 0 ? await flood.wait({ timeoutMs: 150 }) : await flood.read();
					expect(Date.now() - asked).toBeLessThan(150 + LATE_MS);
					expect([activity, certainty]).not.toEqual(["waiting", "certain"]);
				}
				const ended = await flood.send({
					text: "q",
					until: { pattern: "never printed", only: true },
					timeoutMs: 10_000,
				});
				expect(ended.status).not.toBe("running");
			});
});
