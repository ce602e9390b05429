import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import {
	ACTIVITIES,
	CERTAINTIES,
	type ExitFacts,
	RETURNED,
	type RunFacts,
	STATUSES,
	WAITING_FOR,
} from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import { runHeader, sessionHeader } from "./header.ts";

type Facts = Parameters<typeof sessionHeader>[0];

const BASE: Facts = {
	name: oneLine("py"),
	status: "running",
	activity: "waiting",
	waitingFor: "line",
	certainty: "certain",
	because: oneLine("python3 (412) is blocked in read(0) on the terminal; line mode, echo on"),
	returned: "waiting",
	matched: null,
	exit: null,
	elapsedMs: 46,
};

// A word, a made-up one, and one that no tokenizer knows.
const NAMES = ["terminal", "frontend", "kqzxvjwp"].map((name) => oneLine(name));
const TIMES = [0, 9_999, 10_000, 59_000, 280_000];
const EXITS: readonly (ExitFacts | null)[] = [
	null,
	{ code: 0, signal: null },
	{ code: 255, signal: null },
	...["SIGTERM", "SIGKILL", "SIGVTALRM"].map((signal) => ({ code: null, signal })),
];

function* everyState(): Generator<Facts> {
	const limits = [{}, { limited: { askedMs: 600_000, waitedMs: 280_000 } }];
	const each = { ...BASE };
	for (const name of NAMES)
		for (const elapsedMs of TIMES)
			for (const returned of RETURNED)
				for (const matched of [true, false, null])
					for (const limited of limits) {
						const facts = { ...each, name, elapsedMs, returned, matched, ...limited };
						for (const certainty of CERTAINTIES) {
							for (const waitingFor of WAITING_FOR) yield { ...facts, certainty, waitingFor };
							for (const activity of ACTIVITIES) yield { ...facts, certainty, activity, waitingFor: null };
						}
						for (const status of STATUSES)
							for (const exit of EXITS) {
								const because = oneLine(describeEnd(status, exit));
								yield { ...facts, status, exit, because, activity: null, waitingFor: null, certainty: null };
							}
					}
}

const MOST_TOKENS = 18;

describe("T8 the header", () => {
	test(`T8: has at most ${MOST_TOKENS} tokens in every state`, () => {
		const headers = new Set([...everyState()].map(sessionHeader));
		expect(headers.size).toBeGreaterThan(1000);
		const longer = [...headers].filter((header) => encode(header).length > MOST_TOKENS);
		expect(longer).toEqual([]);
	});

	test(`T8: has at most ${MOST_TOKENS} tokens for every end of a command`, () => {
		const longer: string[] = [];
		for (const name of NAMES)
			for (const durationMs of TIMES)
				for (const exitCode of [0, 1, 255, null])
					for (const signal of [null, oneLine("SIGINT"), oneLine("SIGVTALRM")])
						for (const timedOut of [true, false])
							for (const ok of [true, false, null]) {
								const facts = { name, durationMs, exitCode, signal, timedOut, ok } as RunFacts;
								if (encode(runHeader(facts)).length > MOST_TOKENS) longer.push(runHeader(facts));
							}
		expect(longer).toEqual([]);
	});

	test("T8: doubt is one word; what is certain goes without saying, and so does a line", () => {
		expect(sessionHeader(BASE)).toBe("[py] waiting");
		expect(sessionHeader({ ...BASE, certainty: "likely" })).toBe("[py] likely waiting");
		expect(sessionHeader({ ...BASE, certainty: "guess" })).toBe("[py] maybe waiting");
		expect(sessionHeader({ ...BASE, waitingFor: "screen" })).toBe("[py] waiting, full screen");
	});

	test("T4: a condition that was given matched, or it is said why not", () => {
		const asked = { ...BASE, matched: false };
		const working = { activity: "working", waitingFor: null, certainty: "likely" } as const;
		expect(sessionHeader({ ...asked, matched: true, returned: "matched" })).toBe("[py] matched, waiting");
		expect(sessionHeader(asked)).toBe("[py] not matched: waiting");
		expect(sessionHeader({ ...asked, ...working, returned: "timeout" })).toBe(
			"[py] not matched: timed out, likely working",
		);
		const ended = { status: "failed", because: oneLine("exit code 3"), exit: { code: 3, signal: null } } as const;
		expect(sessionHeader({ ...asked, ...ended, returned: "ended" })).toBe("[py] not matched: ended: exit code 3");
		expect(sessionHeader({ ...BASE, ...working, returned: "timeout" })).toBe("[py] timed out, likely working");
	});

	test("how long it took is said where it is long and not what was asked for", () => {
		expect(sessionHeader({ ...BASE, elapsedMs: 9_900 })).toBe("[py] waiting");
		expect(sessionHeader({ ...BASE, elapsedMs: 12_400 })).toBe("[py] waiting · 12 s");
		expect(sessionHeader({ ...BASE, elapsedMs: 30_000, returned: "timeout" })).toBe("[py] timed out, waiting");
	});
});
