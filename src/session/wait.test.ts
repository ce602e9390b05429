import { describe, expect, test, vi } from "vitest";
import type { Attention } from "../protocol/answer.ts";
import { type Awaited, type Until, waitFor } from "./wait.ts";

const WAITING: Attention = { activity: "waiting", waitingFor: "line", certainty: "certain", because: "it reads" };
const WORKING: Attention = { ...WAITING, activity: "working", waitingFor: null };

/** A session of which the test says what happens. */
function scripted(screen = "") {
	const output = new Set<(bytes: Uint8Array) => void>();
	const ended = new Set<() => void>();
	const decided = new Set<(attention: Attention) => void>();
	let watchers = 0;
	let lastOutputAt = Date.now();
	const on =
		<T>(set: Set<T>) =>
		(listener: T) => {
			set.add(listener);
			return () => set.delete(listener);
		};
	const session: Awaited = {
		ended: false,
		lastOutputAt: () => lastOutputAt,
		onOutput: on(output),
		onEnded: on(ended),
		onDecided: on(decided),
		watch: () => {
			watchers++;
			return () => watchers--;
		},
		visibleText: () => screen,
		newOnScreen: () => "",
		ports: async () => [8080],
	};
	return {
		session,
		say: (text: string) => {
			lastOutputAt = Date.now();
			for (const listener of [...output]) listener(new TextEncoder().encode(text));
		},
		end: () => {
			for (const listener of [...ended]) listener();
		},
		decide: (attention: Attention) => {
			for (const listener of [...decided]) listener(attention);
		},
		show: (text: string) => {
			screen = text;
		},
		listeners: () => output.size + ended.size + decided.size + watchers,
	};
}

const wait = async (session: Awaited, until: Until = {}, more: object = {}) =>
	(await waitFor(session, { until, timeoutMs: 5000, signal: new AbortController().signal, ...more })).returned;

describe("R1.4 the first thing that happens ends a wait and is named", () => {
	test("waiting, which working does not do", async () => {
		const it = scripted();
		const returned = wait(it.session);
		it.decide(WORKING);
		it.decide(WAITING);
		expect(await returned).toBe("waiting");
		expect(it.listeners()).toBe(0);
	});

	test("the end", async () => {
		const it = scripted();
		const returned = wait(it.session);
		it.end();
		expect(await returned).toBe("ended");
	});

	test("a text, also when it comes in two pieces and in colour", async () => {
		const it = scripted();
		const returned = wait(it.session, { text: "Build succeeded", only: true });
		it.say("Build \x1b[32msucc");
		it.decide(WAITING);
		it.say("eeded\x1b[0m");
		expect(await returned).toBe("matched");
	});

	test("a pattern on new output only", async () => {
		const it = scripted("ready 1");
		const returned = wait(it.session, { pattern: "ready \\d" });
		it.say("ready x\n");
		it.say("ready 2\n");
		expect(await returned).toBe("matched");
	});

	test("the echo of what was typed is not an answer", async () => {
		const it = scripted();
		const returned = wait(it.session, { text: "done" }, { typed: "echo done" });
		it.say("$ echo do");
		it.say("ne\r\n");
		it.decide(WAITING);
		expect(await returned).toBe("waiting");
	});

	test("a text that is gone from the screen", async () => {
		const it = scripted("Loading…");
		const returned = wait(it.session, { gone: "Loading" });
		it.show("Ready");
		it.say("x");
		expect(await returned).toBe("matched");
	});

	test("a port", async () => {
		expect(await wait(scripted().session, { port: 8080 })).toBe("matched");
	});

	test("stillness", async () => {
		expect(await wait(scripted().session, { stillMs: 20 })).toBe("still");
	});

	test("a server at rest gives the turn back", async () => {
		const it = scripted();
		const returned = wait(it.session);
		it.decide({ ...WORKING, activity: "serving" });
		expect(await returned).toBe("still");
	});

	test("the timeout", async () => {
		expect(await wait(scripted().session, {}, { timeoutMs: 5 })).toBe("timeout");
	});

	test("a caller that goes away ends its wait and leaves nothing behind", async () => {
		const it = scripted();
		const controller = new AbortController();
		const returned = waitFor(it.session, { until: {}, timeoutMs: 5000, signal: controller.signal });
		controller.abort(new Error("gone"));
		await expect(returned).rejects.toThrow("gone");
		await vi.waitFor(() => expect(it.listeners()).toBe(0));
	});

	test("a catastrophic pattern is the caller's fault, told to the caller", async () => {
		const it = scripted();
		const returned = wait(it.session, { pattern: "(a+)+$" });
		it.say(`${"a".repeat(40)}!`);
		await expect(returned).rejects.toThrow("took longer");
		expect(it.listeners()).toBe(0);
	});
});
