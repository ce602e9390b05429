// G16: whatever is in a session's files, opening, listing and reading settle, other sessions are not affected, and
// what was corrupt is set aside. In 0.1.0 a bad keyframe made its session unreadable, an absurd segment name made a
// read spin, and one large record broke every list.
import { execFileSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { setAsideIn } from "../../src/journal/state-file.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { within } from "../../src/pty/wait.ts";
import { Home } from "../daemon/home.ts";

const LIMIT_MS = 20_000;
const patient = { timeoutMs: 60_000 };
const TEXT = "the whole output\nof a session";

/** A home with two ended sessions, to be copied. */
let pristine: string;
beforeAll(async () => {
	pristine = mkdtempSync(join(tmpdir(), "dt-pristine-"));
	await using dialtone = await Dialtone.open({ home: pristine });
	for (const name of ["victim", "other"]) {
		const command = `printf '${TEXT.replace("\n", "\\n")}\\n'`;
		await dialtone.start({ name, command, ...patient });
	}
});
afterAll(() => rmSync(pristine, { recursive: true }));

const idOf = (home: string, name: string) =>
	readdirSync(join(home, "sessions")).find(
		(id) =>
			!id.includes(".") && JSON.parse(readFileSync(join(home, "sessions", id, "meta.json"), "utf8")).name === name,
	)!;

/** A copy of the home, changed, then opened, listed and read. */
async function afterCorrupting(corrupt: (directory: string, home: string) => void) {
	const home = mkdtempSync(join(tmpdir(), "dt-corrupt-"));
	try {
		cpSync(pristine, home, { recursive: true });
		const id = idOf(home, "victim");
		const directory = join(home, "sessions", id);
		corrupt(directory, home);
		const dialtone = await within(LIMIT_MS, "opening", Dialtone.open({ home }));
		try {
			const { sessions } = await within(LIMIT_MS, "listing", dialtone.list());
			const other = await within(LIMIT_MS, "reading the other", dialtone.find("other"));
			expect((await other.read({ view: "lines" })).text).toBe(TEXT);
			const facts = await within(LIMIT_MS, "reading", read(dialtone, id));
			return {
				listed: sessions.find(({ session }) => session === id),
				facts,
				aside: setAsideIn(join(home, "sessions")),
			};
		} finally {
			await within(LIMIT_MS, "closing", dialtone[Symbol.asyncDispose]());
		}
	} finally {
		rmSync(home, { recursive: true, force: true });
	}
}

async function read(dialtone: Dialtone, id: string) {
	try {
		const found = await dialtone.find(id);
		let output = "";
		for await (const chunk of found.output({ from: 0, signal: AbortSignal.timeout(LIMIT_MS / 2) })) {
			if ("bytes" in chunk) output += Buffer.from(chunk.bytes).toString();
		}
		return { ...(await found.read({ view: "lines" })), output };
	} catch (error) {
		expect(error).toBeInstanceOf(Fault);
		expect(error).not.toMatchObject({ code: "internal" });
		return null;
	}
}

describe("G16 a corrupt state file", () => {
	test("a record of 60 MB is set aside, and the session is listed from its copy", async () => {
		const { listed, facts, aside } = await afterCorrupting((directory) => {
			truncateSync(join(directory, "meta.json"), 60_000_000);
		});
		expect(listed).toMatchObject({ status: "succeeded", exit: { code: 0 }, name: "victim" });
		expect(facts).toMatchObject({ text: TEXT, status: "succeeded" });
		expect(aside).toEqual([expect.stringMatching(/meta\.json\.corrupt-too-large$/)]);
	});

	test("a record without a copy is set aside, and the session is listed from its exit and its log", async () => {
		const { listed, facts, aside } = await afterCorrupting((directory) => {
			truncateSync(join(directory, "meta.json"), 60_000_000);
			rmSync(join(directory, "meta.copy.json"));
		});
		expect(listed).toMatchObject({
			status: "succeeded",
			exit: { code: 0 },
			name: expect.stringMatching(/^recovered-/),
		});
		expect(facts).toMatchObject({ text: TEXT, status: "succeeded" });
		expect(aside).toEqual([expect.stringMatching(/meta\.json\.corrupt-too-large$/)]);
	});

	test("a session that was closed is still told as closed", async () => {
		const { listed } = await afterCorrupting((directory) => {
			const exit = JSON.parse(readFileSync(join(directory, "exit"), "utf8"));
			writeFileSync(join(directory, "exit"), JSON.stringify({ ...exit, code: null, signal: 15, reason: "end" }));
			rmSync(join(directory, "meta.copy.json"));
			rmSync(join(directory, "meta.json"));
		});
		expect(listed).toMatchObject({ status: "cancelled", exit: { signal: "SIGTERM" } });
	});

	test("a keyframe that is not one is set aside, and the screen is drawn from the log", async () => {
		for (const change of [
			{ content: 7 },
			{ cols: 1e9 },
			{ mouse: { protocol: "?", encoding: "?" } },
			{ normal: null },
		]) {
			const { facts, aside } = await afterCorrupting((directory) => {
				const path = join(directory, "keyframe.json");
				const keyframe = JSON.parse(readFileSync(path, "utf8"));
				writeFileSync(path, JSON.stringify({ ...keyframe, screen: { ...keyframe.screen, ...change } }));
			});
			expect(facts, JSON.stringify(change)).toMatchObject({ text: TEXT });
			expect(aside).toEqual([expect.stringMatching(/keyframe\.json\.corrupt-bad-content$/)]);
		}
	});

	test("segments with absurd names do not make a read spin", async () => {
		for (const name of ["out.99999999999999999999", "out.00009007199254740991", "out.00000900719925474099"]) {
			const { facts } = await afterCorrupting((directory) => writeFileSync(join(directory, name), "x"));
			expect(facts, name).toMatchObject({ text: TEXT, output: `${TEXT.replace("\n", "\r\n")}\r\n` });
		}
	});

	test("a file of a newer format is kept for the version that wrote it", async () => {
		const { aside, facts } = await afterCorrupting((directory) => {
			const path = join(directory, "keyframe.json");
			writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), format: 2 }));
		});
		expect(aside).toEqual([]);
		expect(facts).toMatchObject({ text: TEXT });
	});

	test("a running session whose record was corrupt is found again with its holder, and doctor names the file", async () => {
		await using home = new Home();
		const first = await home.connect();
		const { session } = (await first.call("start", { name: "cat", argv: ["cat"], ...patient })).facts;
		await first.stop({ sessions: false });
		writeFileSync(join(home.path, "sessions", session, "meta.json"), "not a record");
		await using second = await home.connect();
		const { facts } = await second.call("send", { session, text: "still here", submit: true, ...patient });
		expect(facts).toMatchObject({ status: "running", text: expect.stringContaining("still here") });
		const { stdout } = await home.cli("doctor");
		expect(stdout).toMatch(/note {2}state files: 1 corrupt.*meta\.json\.corrupt-not-json/);
	});

	const files = [
		"meta.json",
		"meta.copy.json",
		"keyframe.json",
		"seen.json",
		"exit",
		"timing",
		"out.00000000000000000000",
		"../ended.jsonl",
	];
	const damage = fc.oneof(
		fc.record({ kind: fc.constant("bytes" as const), bytes: fc.uint8Array({ maxLength: 200 }) }),
		fc.record({ kind: fc.constant("json" as const), value: fc.jsonValue() }),
		fc.record({ kind: fc.constant("field" as const), at: fc.nat(), value: fc.jsonValue() }),
		fc.record({ kind: fc.constant("cut" as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
		fc.record({ kind: fc.constant("flip" as const), at: fc.double({ min: 0, max: 1, noNaN: true }), bit: fc.nat(7) }),
		fc.record({
			kind: fc.constantFrom("gone" as const, "directory" as const, "link" as const, "pipe" as const, "huge" as const),
		}),
	);

	test("no damage to any file throws, hangs or harms another session", { timeout: 300_000 }, async () => {
		await fc.assert(
			fc.asyncProperty(fc.constantFrom(...files), damage, async (name, how) => {
				await afterCorrupting((directory) => apply(join(directory, name), how));
			}),
			{ numRuns: Number(process.env.DIALTONE_FUZZ_RUNS ?? 60) },
		);
	});

	function apply(path: string, how: typeof damage extends fc.Arbitrary<infer T> ? T : never): void {
		const before = existsSync(path) ? readFileSync(path) : Buffer.from("{}");
		const remove = () => rmSync(path, { recursive: true, force: true });
		switch (how.kind) {
			case "bytes":
				writeFileSync(path, how.bytes);
				break;
			case "json":
				writeFileSync(path, JSON.stringify(how.value) ?? "");
				break;
			case "field": {
				let text = "";
				try {
					const value = JSON.parse(before.toString());
					const place = path.endsWith("keyframe.json") ? value.screen : value;
					const keys = Object.keys(place);
					place[keys[how.at % keys.length]!] = how.value;
					text = JSON.stringify(value);
				} catch {
					text = `${before}${JSON.stringify(how.value)}`; // not JSON: appended
				}
				writeFileSync(path, text);
				break;
			}
			case "cut":
				writeFileSync(path, before.subarray(0, Math.floor(before.length * how.at)));
				break;
			case "flip": {
				const at = Math.min(before.length - 1, Math.floor(before.length * how.at));
				if (at >= 0) before[at]! ^= 1 << how.bit;
				writeFileSync(path, before);
				break;
			}
			case "gone":
				remove();
				break;
			case "directory":
				remove();
				mkdirSync(path);
				break;
			case "link":
				remove();
				symlinkSync("/dev/zero", path);
				break;
			case "pipe":
				remove();
				execFileSync("mkfifo", [path]);
				break;
			case "huge":
				truncateSync(path, 100_000_000);
				break;
		}
	}
});
