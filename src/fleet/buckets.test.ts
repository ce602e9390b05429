import { describe, expect, test } from "vitest";
import { oneLine } from "../protocol/clean.ts";
import { limits } from "../session/options.ts";
import { entryIn, leaseIn, MOST_VALUE_BYTES, type SessionEntry } from "./buckets.ts";

const entry: SessionEntry = {
	name: "build",
	command: "make",
	status: "failed",
	activity: null,
	waitingFor: null,
	owner: "me",
	createdAt: 1,
	updatedAt: 2,
	exit: { code: null, signal: "SIGTERM" },
	sandbox: "none",
	boot: "12345678",
};
const lease = {
	host: "beta",
	bootId: "b",
	home: "/home/me",
	daemonEpoch: 1,
	version: "1.0.0",
	labels: { zone: "a" },
	capacity: { sessions: 64 },
	running: 1,
	load: 0.5,
	since: 1,
};
const HIDDEN = "a\u001b[2J\u202e\nb";
const SHOWN = "a[2J↵b";

describe("what a host has written", () => {
	test("is read as it was written", () => {
		expect(entryIn(JSON.stringify(entry))).toEqual(entry);
		expect(leaseIn(JSON.stringify(lease))).toEqual(lease);
	});

	test("is text that may be shown, whoever wrote it; whose a session is, is compared", () => {
		const written = { ...entry, name: HIDDEN, command: HIDDEN, owner: HIDDEN, exit: { code: null, signal: HIDDEN } };
		expect(entryIn(JSON.stringify(written))).toEqual({
			...{ ...entry, name: SHOWN, command: SHOWN, owner: HIDDEN },
			exit: { code: null, signal: SHOWN },
		});
		const told = leaseIn(JSON.stringify({ ...lease, version: HIDDEN, labels: { [HIDDEN]: HIDDEN } }));
		expect(told).toEqual({ ...lease, version: SHOWN, labels: { [SHOWN]: SHOWN } });
	});

	test.each([
		["is no JSON", "{"],
		["is nothing", "null"],
		["lacks what it has to have", JSON.stringify({ ...entry, name: undefined })],
		["has a time that is none", JSON.stringify({ ...entry, createdAt: 1e300 })],
		["is too large", JSON.stringify({ ...entry, owner: "x".repeat(MOST_VALUE_BYTES) })],
	])("is left out where it %s", (_what, text) => {
		expect(entryIn(text)).toBeNull();
		expect(leaseIn(text)).toBeNull();
	});

	test("is never too large where the host is honest", () => {
		// Each as long as it may be, of characters that take most.
		const long = oneLine("\u{1f4a9}".repeat(1000), 200);
		const owner = "\u0001".repeat(limits.ownerChars);
		const text = JSON.stringify({ ...entry, name: long, command: long, owner, exit: { code: 1, signal: long } });
		expect(Buffer.byteLength(text)).toBeLessThan(MOST_VALUE_BYTES);
		expect(entryIn(text)).toMatchObject({ owner });
		const labels = { a: "x".repeat(8000) };
		const largest = JSON.stringify({ ...lease, home: "x".repeat(limits.pathChars), labels });
		expect(Buffer.byteLength(largest)).toBeLessThan(MOST_VALUE_BYTES);
		expect(leaseIn(largest)).toMatchObject({ home: "x".repeat(limits.pathChars) });
	});
});
