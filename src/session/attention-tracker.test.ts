import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { FakePty } from "../../test/fake-pty.ts";
import { screenFacts } from "../../test/screen-facts.ts";
import type { KernelFacts, TerminalFlag, ThreadFacts } from "../protocol/kernel-facts.ts";
import { AttentionTracker } from "./attention-tracker.ts";

const READER: ThreadFacts = {
	pid: 7,
	tid: 7,
	command: "python3",
	foreground: true,
	doing: "tty-read",
	call: "read",
	fd: 0,
	main: true,
	switches: 3,
	fresh: true,
};

function facts(more: Partial<KernelFacts> = {}): KernelFacts {
	return {
		at: Date.now(),
		readable: true,
		foregroundGroup: 7,
		foregroundLives: true,
		mainForeground: true,
		canonical: true,
		echo: true,
		signals: true,
		vmin: 1,
		vtime: 0,
		queued: 0,
		unread: 0,
		offset: 0,
		quietMs: 1000,
		sinceInputMs: null,
		threads: [READER],
		more: 0,
		doubts: [],
		...more,
	};
}

function turnOver(pty: FakePty, seen = () => 0, isDrawn = () => true) {
	return new AttentionTracker({
		pty,
		seen,
		isDrawn,
		screen: () => screenFacts({ lastLine: ">>> " }),
		shell: () => ({ atPrompt: null, pid: 412 }),
	});
}

afterEach(() => vi.useRealTimers());

describe("R1.4 whose turn it is", () => {
	test("without a waiter the holder does not watch", () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		expect(pty.watched).toBe(false);
		const unwatch = turn.watch();
		expect(pty.watched).toBe(true);
		unwatch();
		unwatch();
		expect(pty.watched).toBe(false);
	});

	test("facts whose output has not been seen do not count yet", () => {
		const pty = new FakePty();
		let seen = 0;
		using turn = turnOver(pty, () => seen);
		onTestFinished(turn.watch());
		pty.pushFacts(facts({ offset: 10 }));
		expect(turn.attention.activity).toBe("working");
		seen = 10;
		turn.outputSeen(new Uint8Array());
		expect(turn.attention).toMatchObject({ activity: "waiting", waitingFor: "line", certainty: "certain" });
	});

	test("facts of a screen that has much left to draw do not count yet", () => {
		const pty = new FakePty();
		let isDrawn = false;
		using turn = turnOver(
			pty,
			() => 10,
			() => isDrawn,
		);
		onTestFinished(turn.watch());
		pty.pushFacts(facts({ offset: 10 }));
		turn.outputSeen(new Uint8Array());
		expect(turn.attention.activity).toBe("working");
		isDrawn = true;
		turn.drawn();
		expect(turn.attention).toMatchObject({ activity: "waiting", certainty: "certain" });
	});

	test("A6: the echo behind a prompt is no new prompt, one on a line of its own is", async () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		onTestFinished(turn.watch());
		const editor = { canonical: false, echo: false, flags: ["iexten", "lnext"] as const };
		pty.pushFacts(facts(editor));
		const works = { ...editor, quietMs: 3, threads: [{ ...READER, doing: "running" as const }] };
		const type = (text: string) => {
			pty.pushFacts(facts(works));
			turn.typing(Buffer.from(text))();
		};
		const output = (text: string) => turn.outputSeen(Buffer.from(text));
		// It works, half a second after all of that; what it prints all the time is not shown here.
		const later = () => {
			pty.pushFacts(facts({ ...works, at: Date.now() + 500 }));
			return turn.attention.activity;
		};
		type("1\n");
		output("1\r\n1\r\n>>> ");
		type("work()\n");
		output("work()\r\n");
		expect(later()).toBe("working");
		type("tick()\n");
		output("tick()\r\n>>> ");
		output("tick");
		expect(later()).toBe("waiting");
	});

	test("what was known before we typed is void, and so are facts that come before the write is acknowledged", async () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		onTestFinished(turn.watch());
		pty.pushFacts(facts());
		expect(turn.attention.activity).toBe("waiting");
		const acknowledge = turn.disturb();
		expect(turn.attention.activity).toBe("working");
		pty.pushFacts(facts());
		expect(turn.attention.activity).toBe("working");
		acknowledge();
		// Looked at again by itself, because somebody waits.
		await vi.waitFor(() => expect(turn.attention.activity).toBe("waiting"));
	});

	test("facts that come before the acknowledgement count when it comes, if they were seen after what was typed", async () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		onTestFinished(turn.watch({ ask: false }));
		const asked = vi.spyOn(pty, "facts");
		const type = async (inputOffset: number, also = () => {}) => {
			const acknowledge = turn.typing(new TextEncoder().encode("hi\r"));
			also();
			pty.pushFacts(facts({ inputOffset }));
			expect(turn.current).toBe(null);
			await pty.write(new TextEncoder().encode("hi\r"));
			acknowledge();
			expect(turn.current?.activity).toBe("waiting");
		};
		await type(3);
		expect(asked).toHaveBeenCalledTimes(0);
		await type(5);
		expect(asked).toHaveBeenCalledTimes(1);
		await type(9, () => turn.disturb()());
		expect(asked).toHaveBeenCalledTimes(2);
		await type(12);
		expect(asked).toHaveBeenCalledTimes(2);
	});

	test("a verdict is current while the program is watched, until something is typed", async () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		pty.pushFacts(facts());
		expect(turn.current).toBe(null);
		const unwatch = turn.watch({ ask: false });
		expect(turn.current).toBe(null);
		pty.pushFacts(facts());
		expect(turn.current?.activity).toBe("waiting");
		const acknowledge = turn.disturb();
		expect(turn.current).toBe(null);
		acknowledge();
		expect(turn.current?.activity).toBe("waiting");
		unwatch();
		onTestFinished(turn.watch({ ask: false }));
		expect(turn.current).toBe(null);
	});

	test("what was certain before a wait began is not, until a look has answered", () => {
		vi.useFakeTimers();
		const pty = new FakePty();
		let seen = 0;
		using turn = turnOver(pty, () => seen);
		const unwatch = turn.watch();
		pty.pushFacts(facts());
		unwatch();
		expect(turn.attention).toMatchObject({ activity: "waiting", certainty: "certain" });
		vi.advanceTimersByTime(5000);
		pty.pushFacts(facts({ offset: 7 }));
		onTestFinished(turn.watch());
		expect(turn.attention).toMatchObject({ activity: "waiting", certainty: "likely" });
		seen = 7;
		turn.outputSeen(new Uint8Array());
		expect(turn.attention).toMatchObject({ activity: "waiting", certainty: "certain" });
	});

	test("a loop that may still be painting is rechecked after enough silence", async () => {
		vi.useFakeTimers();
		const pty = new FakePty();
		using turn = turnOver(pty);
		onTestFinished(turn.watch());
		const loop: ThreadFacts = { ...READER, doing: "tty-poll", call: "epoll_wait", others: 2 };
		pty.pushFacts(facts({ threads: [loop], quietMs: 10 }));
		expect(turn.attention.activity).toBe("working");
		await vi.advanceTimersByTimeAsync(1000);
		expect(turn.attention).toMatchObject({ activity: "waiting", certainty: "likely" });
	});

	test("A2 that input was typed is not certain before a look has answered", () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		turn.typing(Buffer.from("x"));
		expect(turn.attention).toMatchObject({ activity: "working", certainty: "likely" });
	});

	test("A9 Ctrl+S has stopped output only where it was no key, and still is none", () => {
		const writes: ThreadFacts = { ...READER, doing: "tty-write", call: "write" };
		const stopped = (...flags: readonly (readonly TerminalFlag[])[]) => {
			const pty = new FakePty();
			using turn = turnOver(pty);
			const [before = [], ...after] = flags;
			onTestFinished(turn.watch());
			pty.pushFacts(facts({ flags: before }));
			turn.typing(Uint8Array.of(0x13))();
			for (const one of after) pty.pushFacts(facts({ threads: [writes], flags: one, quietMs: 1000 }));
			return turn.attention.certainty === "certain" && turn.attention.activity === "stopped";
		};
		expect(stopped(["ixon"], ["ixon"])).toBe(true);
		expect(stopped([], ["ixon"])).toBe(false);
		expect(stopped(["ixon"], [], ["ixon"])).toBe(false);
	});

	test("S3: a holder that does not answer is a verdict of its own, also for a wait that begins then", async () => {
		const pty = new FakePty();
		using turn = turnOver(pty);
		const decided: string[] = [];
		turn.onDecided(({ activity }) => decided.push(activity));
		onTestFinished(turn.watch());
		pty.pushFacts(facts());
		pty.answer(false);
		expect(turn.attention).toMatchObject({ activity: "unresponsive", certainty: "likely" }); // there is no process that is stopped
		expect(turn.attention.because).toContain("999");
		expect(decided.at(-1)).toBe("unresponsive");
		decided.length = 0;
		onTestFinished(turn.watch());
		await vi.waitFor(() => expect(decided).toContain("unresponsive"));
		pty.answer(true);
		await vi.waitFor(() => expect(turn.attention.activity).toBe("waiting"));
	});
});
