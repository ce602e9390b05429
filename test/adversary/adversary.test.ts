// Programs built to fool the rules: none of them gets a wrong `certain`, for root nor for a normal user, nor on a busy machine.
//
// What cannot be known may be answered wrong, as `likely`; how often is printed. `npx tsx test/adversary/main.ts NAME`
// plays one case.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needing, SYSTEM_PATH } from "../programs.ts";
import { User } from "../users/user.ts";
import { type Case, cases } from "./cases.ts";
import { build, outside, playAll, report, type Verdict } from "./play.ts";

const LANES = 8; // nearly all of a case is waiting
const TIMEOUT_MS = 600_000;
const ROOT = join(import.meta.dirname, "../..");
const options = { timeout: TIMEOUT_MS, ...needing("gcc", "python3", "go") };

let directory: string;
let built: ReturnType<typeof build>;

beforeAll(() => {
	directory = mkdtempSync(join(tmpdir(), "dialtone-adversary-"));
	chmodSync(directory, 0o755);
	built = build(directory);
}, TIMEOUT_MS);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function expectTruth(verdicts: readonly Verdict[], least: number): void {
	console.log(report(verdicts));
	expect(verdicts.filter((it) => it.skipped === undefined).length).toBeGreaterThanOrEqual(least);
	expect(verdicts.filter((it) => it.wrongButCertain.length > 0).map((it) => [it.case, it.wrongButCertain])).toEqual([]);
	// A suite in which nothing is certain proves nothing.
	expect(verdicts.filter((it) => it.certain && it.truth === "waits").length).toBeGreaterThan(5);
}

/** `share`: one of how many cases. */
async function play(socket: string, share = 1): Promise<Verdict[]> {
	const outsideSocket = join(directory, socket);
	using _server = await outside(outsideSocket);
	const all = cases({ ...built, outsideSocket });
	const root = process.getuid?.() === 0;
	return await playAll(
		all.filter((one, index) => (root || one.needs !== "root") && index % share === 0),
		LANES,
	);
}

describe("A1 A2 A3 A4 no program gets a wrong certain", () => {
	test("for this user", options, async () => {
		expectTruth(await play("outside"), 90);
	});

	test("with two busy loops beside it", options, async () => {
		const loops = cpus()
			.slice(0, 2)
			.map((): ChildProcess => spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" }));
		try {
			expectTruth(await play("outside-busy", 3), 30);
		} finally {
			for (const loop of loops) loop.kill("SIGKILL");
		}
	});

	test("for a normal user", { ...options, ...needing("root", "gcc", "python3", "go") }, async ({ skip }) => {
		using user = new User(directory, "adversary");
		if (!user.canRead(import.meta.filename)) skip("other users may not read this checkout");
		const result = join(user.home, "verdicts.json");
		const main = [
			process.execPath,
			"--import",
			"tsx",
			join(import.meta.dirname, "main.ts"),
			"--json",
			result,
			"--lanes",
			String(LANES),
		];
		const play = ["sh", "-c", 'cd "$0" && exec "$@"', ROOT, ...main];
		const env = { TMPDIR: user.home, PATH: SYSTEM_PATH };
		const { code, out, err } = await user.run(play, { env, timeoutMs: TIMEOUT_MS });
		expect([code, out.slice(-500), err.slice(-500)]).toEqual([0, expect.anything(), expect.anything()]);
		expectTruth(JSON.parse(readFileSync(result, "utf8")), 80);
	});
});

test("the harness itself can fail: a program that works, told as one that waits", options, async () => {
	const [one] = cases({ ...built, outsideSocket: "" }).filter(({ name }) => name === "reads read");
	const lie: Case = { ...(one as Case), moments: [{ truth: "works" }] };
	const [verdict] = await playAll([lie], 1);
	expect(verdict?.wrongButCertain.length).toBeGreaterThan(0);
});
