import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Attention } from "../protocol/answer.ts";
import type { DriverChange } from "../protocol/driver.ts";
import { Listeners, openSubscriptions } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { wait } from "../pty/wait.ts";
import {
	type Awaited,
	attention,
	conditionsOf,
	hasCondition,
	marked,
	type NewOutput,
	type Outcome,
	timeout,
	type Until,
} from "./conditions.ts";

const WAITING: Attention = { activity: "waiting", waitingFor: "line", certainty: "certain", because: "it reads" };
const WORKING: Attention = { ...WAITING, activity: "working", waitingFor: null };

/** A session scripted by the test. */
class Scripted implements Awaited {
	readonly outputs = new Listeners<OutputChunk>("output");
	readonly endings = new Listeners<void>("ended");
	readonly decisions = new Listeners<Attention>("decided");
	ended = false;
	currentAttention: Attention | null = null;
	asked = 0;
	watchers = 0;
	shown = "";
	listensOn: readonly number[] = [];
	readonly screen = { snapshot: () => ({ text: this.shown }) };
	readonly drivers = new Listeners<DriverChange>("driver");
	readonly driving = { onChange: (listener: (change: DriverChange) => void) => this.drivers.add(listener) };

	onOutput = (listener: (chunk: OutputChunk) => void) => this.outputs.add(listener);
	onEnded = (listener: () => void) => this.endings.add(listener);
	onDecided = (listener: (attention: Attention) => void) => this.decisions.add(listener);
	watch = ({ ask = true }: { readonly ask?: boolean } = {}) => {
		this.watchers++;
		if (ask) this.asked++;
		return () => this.watchers--;
	};
	ports = async () => this.listensOn;

	print(text: string): void {
		this.outputs.emit({ offset: 0, bytes: new TextEncoder().encode(text) });
	}
	decide(verdict: Attention): void {
		this.decisions.emit(verdict);
	}
}

let session: Scripted;
let clock = 0;
// Every test passes by here: neither a subscription, a watcher nor a timer outlives its wait.
beforeEach(() => {
	vi.useFakeTimers();
	clock += 100_000;
	vi.advanceTimersByTime(clock); // no test begins before the last one ended
	session = new Scripted();
});
afterEach(() => {
	expect({
		subscriptions: openSubscriptions(),
		watchers: session.watchers,
		timers: vi.getTimerCount(),
	}).toEqual({ subscriptions: 0, watchers: 0, timers: 0 });
	vi.useRealTimers();
});

interface More extends Partial<NewOutput> {
	readonly timeoutMs?: number;
	readonly strict?: boolean;
	readonly signal?: AbortSignal;
}

const returned = async (until: Until = {}, { signal, ...more }: More = {}) => {
	const options = { timeoutMs: 5000, newOnScreen: () => "", ...more };
	return (await wait(conditionsOf(session, until, options), { signal })).returned;
};

describe("R1.4 the first thing that happens ends a wait and is named", () => {
	test("a verdict that is known to be current is not asked for again", async () => {
		session.currentAttention = WAITING;
		expect(await returned()).toBe("waiting");
		session.currentAttention = WORKING;
		const outcome = returned();
		expect(session.asked).toBe(0);
		session.decide(WAITING);
		expect(await outcome).toBe("waiting");
	});

	test("waiting, which working does not do", async () => {
		const outcome = returned();
		session.decide(WORKING);
		session.decide(WAITING);
		expect(await outcome).toBe("waiting");
	});

	test("the end, also when it was before", async () => {
		const outcome = returned();
		session.endings.emit();
		expect(await outcome).toBe("ended");
		session.ended = true;
		expect(await returned()).toBe("ended");
	});

	test("a text, also when it comes in two pieces and in colour", async () => {
		const outcome = returned({ text: "Build succeeded", only: true });
		session.print("Build \x1b[32msucc");
		session.decide(WAITING);
		session.print("eeded\x1b[0m");
		expect(await outcome).toBe("matched");
	});

	test("a pattern on new output only", async () => {
		session.shown = "ready 1";
		const outcome = returned({ pattern: "ready \\d" });
		session.print("ready x\n");
		vi.advanceTimersByTime(10);
		session.print("ready 2\n");
		vi.advanceTimersByTime(10);
		expect(await outcome).toBe("matched");
	});

	test("output from before the wait that counts as new", async () => {
		const already = new TextEncoder().encode("it is done\n");
		expect(await returned({ text: "done" }, { already })).toBe("matched");
	});

	test("a text that only the screen has in one piece", async () => {
		let shown = "";
		const outcome = returned({ text: "100%" }, { newOnScreen: () => shown });
		shown = "100%";
		session.print("00%\x1b[1G\x1b[@1");
		vi.advanceTimersByTime(15);
		expect(await outcome).toBe("matched");
	});

	test("a text on the screen takes precedence over what ends the wait in the same moment", async () => {
		const outcome = returned({ text: "100%" }, { newOnScreen: () => "100%" });
		session.print("00%\x1b[1G\x1b[@1");
		session.decide(WAITING);
		expect(await outcome).toBe("matched");
	});

	test("the echo of what was typed is not an answer, on the screen neither", async () => {
		const outcome = returned(
			{ text: "done" },
			{ typed: [{ text: "echo done", ahead: false }], newOnScreen: () => "$ echo done" },
		);
		session.print("$ echo do");
		session.print("ne\r\n");
		vi.advanceTimersByTime(20);
		session.decide(WAITING);
		expect(await outcome).toBe("waiting");
	});

	test("a text that is gone from the screen", async () => {
		session.shown = "Loading…";
		const outcome = returned({ gone: "Loading" });
		session.shown = "Ready";
		session.print("x");
		vi.advanceTimersByTime(15);
		expect(await outcome).toBe("matched");
	});

	test("a port, however late", async () => {
		const outcome = returned({ port: 8080 });
		await vi.advanceTimersByTimeAsync(250);
		session.listensOn = [80, 8080];
		await vi.advanceTimersByTimeAsync(100);
		expect(await outcome).toBe("matched");
	});

	test("a server at rest gives the turn back", async () => {
		const outcome = returned();
		session.decide({ ...WORKING, activity: "serving" });
		expect(await outcome).toBe("still");
	});

	test("the timeout", async () => {
		const outcome = returned({}, { timeoutMs: 5 });
		vi.advanceTimersByTime(5);
		expect(await outcome).toBe("timeout");
	});

	test("a catastrophic pattern is the caller's fault, reported to the caller", async () => {
		const outcome = returned({ pattern: "(a+)+$" });
		session.print(`${"a".repeat(40)}!`);
		await expect(outcome).rejects.toThrow("took longer");
		await expect(returned({ pattern: "(" })).rejects.toThrow("Unterminated");
	});

	test("a caller that aborts leaves nothing behind", async () => {
		const gone = new AbortController();
		session.shown = "x";
		const until = { text: "a", pattern: "b", gone: "x", stillMs: 50, port: 1 };
		const outcome = returned(until, { signal: gone.signal });
		session.print("nothing");
		gone.abort(new Error("gone"));
		await expect(outcome).rejects.toThrow("gone");
	});
});

const SERVING: Attention = { ...WORKING, activity: "serving" };
const STOPPED: Attention = { ...WORKING, activity: "stopped" };
const UNRESPONSIVE: Attention = { ...WORKING, activity: "unresponsive" };

describe("T4 a condition that was given is what is waited for", () => {
	test("T4: a strict wait outlasts a prompt, a server at rest and a stopped job", async () => {
		const outcome = returned({ text: "done" }, { strict: true });
		for (const verdict of [WAITING, SERVING, STOPPED]) session.decide(verdict);
		session.print("done\n");
		expect(await outcome).toBe("matched");
	});

	test("T4: it ends with the program, and where nothing more would be learnt", async () => {
		const ended = returned({ text: "done" }, { strict: true });
		session.decide(WAITING);
		session.endings.emit();
		expect(await ended).toBe("ended");
		const unknown = returned({ port: 80 }, { strict: true });
		session.decide(UNRESPONSIVE);
		expect(await unknown).toBe("still");
	});

	test("T4: a strict wait without a condition ends when it is the caller's turn", async () => {
		const outcome = returned({}, { strict: true });
		session.decide(SERVING);
		expect(await outcome).toBe("still");
	});

	test("T4: after typing, a program that waits again ends the wait; a server at rest does not", async () => {
		const outcome = returned({ text: "done" });
		session.decide(SERVING);
		session.decide(WAITING);
		expect(await outcome).toBe("waiting");
	});

	test("T4: with `only` not even that", async () => {
		const outcome = returned({ text: "done", only: true });
		session.decide(WAITING);
		session.print("done\n");
		expect(await outcome).toBe("matched");
	});

	test.each<[Until, boolean]>([
		[{}, false],
		[{ only: true }, false],
		[{ text: "a" }, true],
		[{ pattern: "a" }, true],
		[{ gone: "a" }, true],
		[{ stillMs: 1 }, true],
		[{ port: 1 }, true],
	])("%j: a condition is given: %s", (until, given) => expect(hasCondition(until)).toBe(given));

	test("T4: the outcome says whether it was a condition of the caller's", async () => {
		const outcome = (until: Until) => wait(conditionsOf(session, until, { timeoutMs: 50, newOnScreen: () => "" }));
		const text = outcome({ text: "done" });
		session.print("done");
		expect(await text).toMatchObject({ returned: "matched", matched: true });
		const still = outcome({ stillMs: 10 });
		await vi.advanceTimersByTimeAsync(10);
		expect(await still).toMatchObject({ returned: "still", matched: true });
		const stopped = outcome({ stillMs: 10 });
		session.decide(STOPPED);
		expect(await stopped).toMatchObject({ returned: "still", matched: false });
		const timedOut = outcome({ text: "done" });
		await vi.advanceTimersByTimeAsync(50);
		expect(await timedOut).toMatchObject({ returned: "timeout", matched: false });
	});
});

describe("T5 `gone`", () => {
	test("T5: a text that never was there is not gone", async () => {
		session.shown = "Ready";
		const outcome = returned({ gone: "Loading" }, { timeoutMs: 100 });
		session.print("x");
		await vi.advanceTimersByTimeAsync(100);
		expect(await outcome).toBe("timeout");
	});

	test("T5: one that is not there yet has to appear first", async () => {
		const outcome = returned({ gone: "Loading" });
		session.shown = "Loading";
		session.print("Load");
		await vi.advanceTimersByTimeAsync(15);
		session.shown = "Ready";
		session.print("ready");
		await vi.advanceTimersByTimeAsync(15);
		expect(await outcome).toBe("matched");
	});

	test("T5: one that was there for a moment only, between two looks at the screen", async () => {
		const outcome = returned({ gone: "Loading" });
		session.print("Load");
		session.print("ing\r\x1b[K");
		await vi.advanceTimersByTimeAsync(15);
		expect(await outcome).toBe("matched");
	});

	test("T5: the echo of the command does not count as its appearance", async () => {
		const outcome = returned({ gone: "Loading" }, { typed: [{ text: "echo Loading", ahead: false }], timeoutMs: 100 });
		session.print("echo Loading\r\n\x1b[2J");
		await vi.advanceTimersByTimeAsync(100);
		expect(await outcome).toBe("timeout");
	});
});

describe("T5 the echo on the screen", () => {
	test("T5: a text is gone although the echo of the command that names it is still there", async () => {
		session.shown = "Loading";
		const outcome = returned({ gone: "Loading" }, { typed: [{ text: "hide Loading", ahead: false }] });
		session.shown = "$ hide Loading\nLoading";
		session.print("hide Loading\r\n");
		await vi.advanceTimersByTimeAsync(15);
		session.shown = "$ hide Loading\nReady";
		session.print("ready");
		await vi.advanceTimersByTimeAsync(15);
		expect(await outcome).toBe("matched");
	});
});

describe("S2 stillness", () => {
	test("S2: counts from the beginning of the wait in a session that has long been quiet", async () => {
		vi.advanceTimersByTime(60_000);
		const settled = vi.fn();
		const outcome = returned({ stillMs: 1000, only: true }).finally(settled);
		await vi.advanceTimersByTimeAsync(999);
		expect(settled).not.toHaveBeenCalled();
		await vi.advanceTimersByTimeAsync(2);
		expect(await outcome).toBe("still");
	});

	test("S2: each piece of output starts it again", async () => {
		const settled = vi.fn();
		const outcome = returned({ stillMs: 100, only: true }).finally(settled);
		for (let i = 0; i < 10; i++) {
			await vi.advanceTimersByTimeAsync(99);
			session.print(".");
		}
		expect(settled).not.toHaveBeenCalled();
		await vi.advanceTimersByTimeAsync(101);
		expect(await outcome).toBe("still");
	});
});

describe("what only `run` composes", () => {
	test("the holder watches only commands that take longer", async () => {
		const outcome = wait<Outcome>([attention(session, { afterMs: 5 }), timeout(10)]);
		expect(session.watchers).toBe(0);
		vi.advanceTimersByTime(5);
		expect(session.watchers).toBe(1);
		session.decide(WAITING);
		expect(await outcome).toEqual({ returned: "waiting", attention: WAITING, matched: false });
	});

	test("a mark that is already there, one that comes, and one that another condition would have overtaken", async () => {
		const marks = new Listeners<void>("mark");
		const commands = { onMark: (listener: () => void) => marks.add(listener) };
		let isTrue = true;
		const first = () => wait<{ returned: string }>([marked(commands, () => isTrue), timeout(10)]);
		expect((await first()).returned).toBe("marked");
		isTrue = false;
		const later = first();
		isTrue = true;
		marks.emit();
		expect((await later).returned).toBe("marked");
		isTrue = false;
		const overtaken = first();
		isTrue = true;
		vi.advanceTimersByTime(10);
		expect((await overtaken).returned).toBe("marked");
	});
});
