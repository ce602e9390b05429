import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PendingQuestion } from "./pending-question.ts";

let directory: string;
beforeEach(() => {
	directory = mkdtempSync(join(tmpdir(), "dt-asked-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const SECRET = { waitingFor: "secret" } as const;

test("what was asked, why and when is known to the next daemon, until something was entered", async () => {
	const before = Date.now();
	new PendingQuestion(directory).ask({ question: "The PIN?", reason: null }, SECRET);
	const next = await PendingQuestion.load(directory);
	expect(next.pending(SECRET)).toMatchObject({ question: "The PIN?", reason: null });
	expect(next.pending(SECRET)!.since).toBeGreaterThanOrEqual(before);
	expect(next.pending({ waitingFor: "line" })).toBeNull();
	next.answered();
	expect(next.pending(SECRET)).toBeNull();
	expect(readdirSync(directory)).toEqual([]);
});

test("the longest question is kept whole", async () => {
	const question = "€".repeat(2000);
	new PendingQuestion(directory).ask({ question, reason: question }, SECRET);
	expect((await PendingQuestion.load(directory)).pending(SECRET)).toMatchObject({ question, reason: question });
});

test("of a file of an older version, only that something was asked is known", async () => {
	writeFileSync(join(directory, "asked.json"), '{"format":1,"waitingFor":"secret"}');
	const { question, reason, since } = (await PendingQuestion.load(directory)).pending(SECRET)!;
	expect({ question, reason, since }).toEqual({ question: null, reason: null, since: 0 });
});
