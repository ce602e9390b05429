import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import {
	ACTIVITIES,
	CERTAINTIES,
	type ExitFacts,
	MATCHED_BY,
	RETURNED,
	type RunFacts,
	STATUSES,
	WAITING_FOR,
} from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import { isFormOf } from "../protocol/short-name.ts";
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
const WORDS = ["terminal", "frontend", "kqzxvjwp", "integration-test"];
// Each character may be a token of its own, and long ones are cut.
const AWKWARD = [
	"e2e-chromium-12",
	"a1b2c3d4e5f6",
	"7-Q_z.9-X-4",
	"QZyGJteFQEMJxMIa",
	"ylzvzmjwvjiwqfql",
	"x",
	"q7",
	"aB3",
	"日本語のセッション",
	"セッション-42-セッション-42-セッション",
];
// As long as a name may be.
const LONG = [
	"release-candidate-build-and-integration-test-runner-for-branch42",
	"kqzxvjwp".repeat(8),
	"3f2504e0-4f89-41d3-9a0c-0305e82c3301",
];
const NAMES = [...WORDS, ...AWKWARD, ...LONG].map((name) => oneLine(name));
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
		for (const elapsedMs of AWKWARD.includes(name) ? TIMES.slice(-1) : TIMES)
			for (const returned of RETURNED)
				for (const matched of [true, false, null])
					for (const limited of limits) {
						const facts = { ...each, name, elapsedMs, returned, matched, ...limited };
						if (matched)
							for (const matchedBy of MATCHED_BY)
								for (const waitingFor of WAITING_FOR)
									for (const certainty of CERTAINTIES) yield { ...facts, matchedBy, waitingFor, certainty };
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
/** The number is one token, whichever it is. */
const FENCES = [" <<754", " rows<<038"];
const tokens = (header: string) => Math.max(...FENCES.map((fence) => encode(header + fence).length));

describe("T8 the header", () => {
	test(`T8: has at most ${MOST_TOKENS} tokens in every state`, () => {
		const headers = new Set([...everyState()].map(sessionHeader));
		expect(headers.size).toBeGreaterThan(1000);
		const longer = [...headers].filter((header) => tokens(header) > MOST_TOKENS);
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
								if (tokens(runHeader(facts)) > MOST_TOKENS) longer.push(runHeader(facts));
							}
		expect(longer).toEqual([]);
	});

	test("T8: a long name is shortened at both sides of what makes it its own", () => {
		expect(sessionHeader({ ...BASE, name: oneLine("feature-login-dev-server") })).toBe("[fea…ver] waiting");
		expect(sessionHeader({ ...BASE, name: oneLine("feature-login-dv") })).toBe("[feature-login-dv] waiting");
	});

	test("T8: a name that no tokenizer knows is shortened only where there is no room, and keeps both ends", () => {
		const name = oneLine("e2e-chromium-12");
		expect(sessionHeader({ ...BASE, name })).toBe("[e2e-chromium-12] waiting");
		const long = { ...BASE, name, matched: false, returned: "timeout", waitingFor: "command" } as const;
		expect(sessionHeader(long)).toBe("[e…2] not matched: timed out, waiting for a command");
		expect(sessionHeader({ ...long, name: oneLine("py") })).toBe("[py] not matched: timed out, waiting for a command");
		for (const form of ["e2…12", "e2e…-12"]) expect(isFormOf(form, name)).toBe(true);
		for (const form of ["e2…13", "e2", "e2e-chrom…omium-12"]) expect(isFormOf(form, name)).toBe(false);
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
		const several = { ...BASE, matched: true, matchedBy: "port", returned: "matched" } as const;
		expect(sessionHeader(several)).toBe("[py] matched port, waiting");
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
