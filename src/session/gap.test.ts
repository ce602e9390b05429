// S8: output that is lost is lost to journal, screen, positions and keyframes alike, at the same offsets.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakePty } from "../../test/fake-pty.ts";
import { Journal } from "../journal/journal.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { DrawScheduler } from "./draw-scheduler.ts";
import { Floods } from "./giving-way.ts";
import { Keyframes } from "./keyframes.ts";
import { RenderQueue } from "./render-queue.ts";
import { ScreenCache } from "./screen-cache.ts";
import { SeenPositions } from "./seen-positions.ts";
import { Session } from "./session.ts";

const BEFORE = "before\r\n";
const AFTER = "after\r\n";
const LOST = 1000;
const END = BEFORE.length + LOST + AFTER.length;

/** A session whose program printed, lost a thousand bytes, and printed again. */
async function withGap() {
	const directory = await mkdtemp(join(tmpdir(), "dt-gap-"));
	const pty = new FakePty();
	const keyframes = new Keyframes(directory, { everyBytes: 1 << 20, savedAt: 0 });
	const cache = new ScreenCache({ maxScreens: 1, maxIdleMs: 60_000 });
	const session = new Session({
		id: "s",
		name: "s",
		cwd: "/",
		pty,
		journal: new Journal({ directory }),
		screen: { options: { cols: 40, rows: 6 }, from: 0 },
		drawing: {
			scheduler: new DrawScheduler(),
			floods: new Floods(),
			cache,
			transcripts: { queue: new RenderQueue(), cache, maxBytes: 0 },
		},
		status: "running",
		replayedUntil: 0,
		keyframes,
		seen: new SeenPositions(),
	});
	const chunks: OutputChunk[] = [];
	session.onOutput((chunk) => chunks.push(chunk));
	let disposed = false;
	const dispose = async () => {
		if (!disposed) await session[Symbol.asyncDispose]();
		cache[Symbol.dispose]();
		disposed = true;
	};
	onTestFinished(async () => {
		await dispose();
		await rm(directory, { recursive: true });
	});
	pty.print(BEFORE);
	const position = session.screen.diffSince(null).position;
	pty.lose(LOST);
	pty.print(AFTER);
	return { session, directory, chunks, position, dispose };
}

test("S8: journal and screen agree on where the output is after a gap", async () => {
	const { session, chunks } = await withGap();
	expect(session.journal.end).toBe(END);
	expect(session.screen.offset).toBe(END);
	expect(chunks.at(-1)).toMatchObject({ offset: END - AFTER.length });
	expect(chunks).toContainEqual({ gap: { from: BEFORE.length, to: BEFORE.length + LOST } });
});

test("S8: what follows the offset of a snapshot is nothing that the snapshot shows", async () => {
	const { session } = await withGap();
	expect(session.screen.snapshot().text).toContain("after");
	const { chunks, gaps } = await session.journal.read(session.screen.offset, session.journal.end);
	expect([...chunks, ...gaps]).toEqual([]);
});

test("S8: a position taken before the gap reports what came after it, once", async () => {
	const { session, position } = await withGap();
	const diff = session.screen.diffSince(position);
	expect(diff.text.trim()).toBe("after");
	expect(session.screen.diffSince(diff.position).text.trim()).toBe("");
});

test("S8: a keyframe saved after a gap names the journal's end", async () => {
	const { directory, dispose } = await withGap();
	await dispose();
	expect((await Keyframes.load(directory))?.screen.offset).toBe(END);
});
