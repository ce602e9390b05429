import fc from "fast-check";
import { expect, test } from "vitest";
import { Journal } from "../journal/journal.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { Screen } from "../terminal/screen.ts";
import { LazyScreen } from "./lazy-screen.ts";

const options = { cols: 30, rows: 5, scrollback: 20 };

/** A screen that is drawn late beside one that is drawn at once. */
class Pair {
	readonly journal: Journal;
	readonly replies: string[] = [];
	readonly eagerReplies: string[] = [];
	readonly eager = new Screen(options);
	readonly lazy: LazyScreen;

	constructor({ maxBytes = 1 << 20, answeredUntil = 0 } = {}) {
		this.journal = new Journal({ directory: "/nonexistent", maxBytes });
		this.lazy = new LazyScreen({
			journal: this.journal,
			options,
			from: 0,
			answeredUntil,
			onReply: (reply, offset) => {
				if (offset > answeredUntil) this.replies.push(Buffer.from(reply).toString());
			},
		});
		this.eager.onReply((reply) => {
			if (this.eager.offset > answeredUntil) this.eagerReplies.push(Buffer.from(reply).toString());
		});
	}

	take(chunk: OutputChunk): void {
		this.lazy.before(chunk);
		this.journal.take(chunk);
		this.lazy.after(chunk);
		this.eager.take(chunk);
	}

	print(text: string): void {
		this.take({ offset: this.journal.end, bytes: Buffer.from(text) });
	}

	dispose(): void {
		this.eager.dispose();
		this.lazy[Symbol.dispose]();
	}
}

test("nothing is drawn until the screen is read, and then everything is", () => {
	const pair = new Pair();
	pair.print("one\r\n");
	pair.print("two");
	expect(pair.lazy.asleep).toBe(true);
	expect(pair.lazy.pendingBytes).toBe(8);
	expect(pair.lazy.current.snapshot().text).toBe("one\ntwo");
	expect(pair.lazy.pendingBytes).toBe(0);
	pair.dispose();
});

test("a program that asks is recognised before anything is drawn, and answered when it is", () => {
	const pair = new Pair();
	pair.print("plain");
	expect(pair.lazy.mayAsk).toBe(false);
	pair.print("\x1b[6n");
	expect(pair.lazy.mayAsk).toBe(true);
	pair.lazy.draw();
	expect(pair.replies).toEqual(["\x1b[1;6R"]);
	expect(pair.lazy.mayAsk).toBe(false);
	pair.dispose();
});

test("what an earlier owner answered is not answered again, also when newer output is drawn with it", () => {
	const pair = new Pair({ answeredUntil: 4 });
	pair.print("\x1b[6n");
	pair.print("x\x1b[6n");
	pair.lazy.draw();
	expect(pair.replies).toEqual(["\x1b[1;2R"]);
	pair.dispose();
});

test("S8: after a gap snapshot, position and keyframe have the journal's offset", () => {
	const pair = new Pair();
	pair.print("before\r\n\x1b[3");
	pair.take({ gap: { from: 11, to: 5000 } });
	pair.print("after");
	const { current } = pair.lazy;
	expect(pair.journal.end).toBe(5005);
	expect(current.snapshot()).toMatchObject({ offset: 5005, text: "before\nafter" });
	expect(current.diffSince(null)).toMatchObject({ offset: 5005 });
	expect(pair.lazy.serialize()?.offset).toBe(5005);
	pair.dispose();
});

test("what is passed over is counted and sets modes, but only the newest is drawn", () => {
	const pair = new Pair();
	pair.print("seen\r\n");
	const before = pair.lazy.current.diffSince(null).position;
	pair.print(`\x1b[?2004h${"passed\r\n".repeat(100)}`);
	pair.print("newest\r\nline");
	pair.lazy.passOver(12);
	expect(pair.lazy.pendingBytes).toBe(0);
	const { current } = pair.lazy;
	expect(current.offset).toBe(pair.journal.end);
	expect(current.snapshot().text).toBe("newest\nline");
	expect(current.modes.bracketedPaste).toBe(true);
	expect(current.diffSince(before)).toMatchObject({ text: "newest\nline", missed: { lines: 100 } });
	pair.dispose();
});

test("asleep it is small, and wakes as it was", () => {
	const pair = new Pair();
	for (let i = 0; i < 30; i++) pair.print(`\x1b[3${i % 8}mline ${i}\r\n`);
	const seen = pair.lazy.current.diffSince(null).position;
	expect(pair.lazy.sleep()).toBe(true);
	expect(pair.lazy.asleep).toBe(true);
	pair.print("awake");
	expect(pair.lazy.asleep).toBe(true);
	expect(pair.lazy.current.diffSince(seen).text).toBe("awake");
	expect(pair.lazy.current.snapshot()).toEqual(pair.eager.snapshot());
	pair.dispose();
});

const text = fc.oneof(
	fc.string({ unit: "grapheme-ascii", maxLength: 40 }),
	fc.constantFrom(
		"\r\n",
		"\x1b[31m",
		"\x1b[H\x1b[2J",
		"\x1b[?1049h",
		"\x1b[?1049l",
		"\x1b[6n",
		"\x1b[",
		"漢",
		"line\r\n".repeat(100),
	),
);
const step = fc.oneof(
	{ weight: 6, arbitrary: text.map((print) => ({ print })) },
	{ weight: 1, arbitrary: fc.integer({ min: 1, max: 50 }).map((lose) => ({ lose })) },
	{ weight: 2, arbitrary: fc.constantFrom("look", "sleep", "draw", "resize").map((act) => ({ act })) },
);

test("however late it is drawn, it looks as if it had been drawn at once", () => {
	fc.assert(
		fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(64, 700, 1 << 20), (steps, maxBytes) => {
			const pair = new Pair({ maxBytes });
			for (const one of steps) {
				if ("print" in one) pair.print(one.print);
				else if ("lose" in one) pair.take({ gap: { from: pair.journal.end, to: pair.journal.end + one.lose } });
				else if (one.act === "sleep") pair.lazy.sleep();
				else if (one.act === "draw") pair.lazy.draw();
				else if (one.act === "look") expect(pair.lazy.current.snapshot()).toEqual(pair.eager.snapshot());
				else {
					pair.lazy.resize(20, 8);
					pair.eager.resize(20, 8);
				}
			}
			expect(pair.lazy.current.snapshot()).toEqual(pair.eager.snapshot());
			expect(pair.lazy.current.offset).toBe(pair.journal.end);
			expect(pair.replies.join("")).toBe(pair.eagerReplies.join(""));
			pair.dispose();
		}),
		{ numRuns: Number(process.env.FUZZ_RUNS ?? 400) },
	);
});
