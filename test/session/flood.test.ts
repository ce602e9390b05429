// Sessions that print faster than anybody looks: the output stays in the holder's
// log, nothing of it is lost, and whoever looks sees the newest.
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Dialtone, type Terminal } from "../../src/index.ts";
import type { Options } from "../../src/session/options.ts";
import { until as eventually } from "../condition.ts";
import { needing } from "../programs.ts";

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
		expect(first.missed?.lines).toBeGreaterThan(1000);
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
