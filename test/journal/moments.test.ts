// What was on the screen of real programs at random moments, and what the recording shows of the same moments: while
// they run, when they have ended, and to the next daemon.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble } from "../../src/assemble.ts";
import { type Places, places, preparePlaces } from "../../src/pty/places.ts";
import { Recording } from "../../src/session/recording.ts";
import type { Session } from "../../src/session/session.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import type { Screen } from "../../src/terminal/screen.ts";
import type { LocalClient } from "../../src/tools/local-client.ts";
import { Past } from "../../src/tools/past.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

const MOMENTS = 20;

let home: string;
let where: Places;
let daemon: { sessions: Sessions; client: LocalClient };
let epoch = 0;

const open = () =>
	assemble({
		places: where,
		epoch: ++epoch,
		caller: { owner: "test", cwd: home, env: process.env as Record<string, string> },
		socket: null,
		onProblem: (problem) => console.error(problem),
		onFenced: () => {},
	});

beforeAll(async () => {
	home = mkdtempSync(join(tmpdir(), "dt-moments-"));
	where = places({ DIALTONE_HOME: home });
	preparePlaces(where);
	const lines = Array.from({ length: 400 }, (_, i) => `line ${i} ${"漢字 wide and é accents ".repeat(i % 7)}`);
	writeFileSync(join(home, "text"), lines.join("\n"));
	daemon = await open();
});
afterAll(async () => {
	await daemon.sessions.endAll();
	await daemon.client[Symbol.asyncDispose]();
	rmSync(home, { recursive: true, force: true });
});

const shownBy = (screen: Screen) => ({
	size: [screen.cols, screen.rows],
	lines: screen.snapshot().lines,
	styles: screen.styledRows(),
	cursor: screen.cursor,
});

interface Snapshot {
	readonly offset: number;
	readonly shown: ReturnType<typeof shownBy>;
}

const as = { agent: "test" };

/** Types and resizes at random, and looks on the way: in the middle of a redraw as well as after it. */
async function use(session: Session, inputs: readonly string[]): Promise<Snapshot[]> {
	const random = (below: number) => Math.floor(Math.random() * below);
	const grown = (from: number) => until("it has printed", () => session.ended || session.journal.end > from);
	const snapshots: Snapshot[] = [];
	for (let i = 0; i < MOMENTS; i++) {
		const from = session.journal.end;
		await session.type(Buffer.from(inputs[i % inputs.length]!), { as });
		await grown(from);
		// Never to the size that it has, which is no resize: by turns narrower and wider than it began.
		if (i % 5 === 4) await session.resize((i % 2 === 0 ? 50 : 130) + random(60), 12 + random(30), { as });
		for (let more = random(4); more > 0; more--) await new Promise(setImmediate);
		const { screen } = session;
		snapshots.push({ offset: screen.offset, shown: shownBy(screen) });
	}
	return snapshots;
}

const PROGRAMS: readonly [name: string, argv: string[], inputs: string[], leave: string][] = [
	[
		"bash",
		["bash", "--norc"],
		["ls -la --color=always /\r", "seq 1 300\r", "printf '\\033[3;5H\\033[41mred'\r", "clear\r", "echo some\r"],
		"\rexit\r",
	],
	["python3", ["python3", "-q"], ["print('x' * 300)\r", "1 +\r", "[i for i in range(200)]\r"], "\rexit()\r"],
	[
		"vim",
		["vim", "-u", "NONE", "-N", "text"],
		["ihello\x1b", "o漢字\x1b", "\x06ix\x1b", "yyp", ":set nu!\r", "Gox\x1b"],
		"\x1b\x1b:q!\r",
	],
	["less", ["less", "text"], [" ", "j", "/line 3\r", "b", "G"], "q"],
	["htop", ["htop", "-d", "2"], ["\x1b[B", "t", "\x1bOP", "\x1b", "P"], "q"],
];

describe("a screen of any moment on the timeline equals, row by row, what was seen live", () => {
	test.each(PROGRAMS)("%s", needing("vim", "less", "htop", "python3"), async (name, argv, inputs, leave) => {
		const env = { HOME: home, TERM: "xterm-256color", LC_ALL: "C.UTF-8", PS1: "$ " };
		await daemon.client.call("start", { argv, name, env, cwd: home, timeoutMs: 60_000 });
		const session = await daemon.sessions.find(name);
		const snapshots = await use(session, inputs);
		expect(snapshots).toHaveLength(MOMENTS);

		const directory = join(where.sessions, session.id);
		const compare = async (keyframeMs?: number) => {
			using recording = new Recording({ directory, scrollback: 1000, ...(keyframeMs !== undefined && { keyframeMs }) });
			// From the newest to the oldest and back: each of them from a keyframe, and as a continuation.
			for (const { offset, shown } of [...snapshots.toReversed(), ...snapshots])
				expect(await recording.see({ offset }, ({ screen }) => shownBy(screen)), `at ${offset}`).toEqual(shown);
		};
		await compare();
		await session.type(Buffer.from(leave), { as });
		await daemon.client.call("wait", { session: name, timeoutMs: 20_000 });
		await compare(0);

		await daemon.client[Symbol.asyncDispose]();
		daemon = await open();
		using past = new Past(daemon.sessions);
		for (const { offset, shown } of snapshots)
			expect((await past.moment(session.id, { offset })).lines).toEqual(shown.lines);
		const { marks, durationMs } = await past.timeline(session.id);
		expect(marks.filter(({ kind }) => kind === "resize")).toHaveLength(MOMENTS / 5);
		for (const { at } of marks) expect(at).toBeLessThanOrEqual(durationMs);
		// By time, too: a mark's own moment has what it tells.
		for (const mark of marks) {
			if (mark.kind !== "resize") continue;
			const { cols, rows, offset } = await past.moment(session.id, { at: mark.at });
			expect({ cols, rows }).toEqual({ cols: mark.cols, rows: mark.rows });
			expect(offset).toBeGreaterThanOrEqual(mark.offset);
		}
	});
});
