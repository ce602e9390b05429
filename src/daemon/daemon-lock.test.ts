import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
	acquireLock,
	corruptLocks,
	isHeld,
	type LockPlaces,
	lastNumber,
	newestLock,
	releaseLock,
} from "./daemon-lock.ts";

let run: string;
let where: LockPlaces;
beforeEach(() => {
	run = mkdtempSync(join(tmpdir(), "dt-lock-"));
	where = { run, state: run };
});
afterEach(() => rmSync(run, { recursive: true, force: true }));

const take = () => acquireLock(where, lastNumber(where), "1.0.0");
const file = (name: string) => join(run, name);

describe("the lock of a daemon", () => {
	test("is found again as it was taken, and held as long as its process lives", () => {
		const lock = take()!;
		expect(lock).toMatchObject({ epoch: 1, pid: process.pid, socket: file("d1.sock") });
		expect(newestLock(run)).toEqual(lock);
		expect(isHeld(lock)).toBe(true);
		expect(isHeld({ ...lock, born: "1" })).toBe(false);
		expect(isHeld({ ...lock, pid: 2 ** 30 })).toBe(false);
		releaseLock(run, lock);
		expect(newestLock(run)).toBeNull();
		expect(take()).toMatchObject({ epoch: 2 });
	});

	test("is not given to one that looked before another took it, nor after that one has stopped", () => {
		const before = lastNumber(where);
		const winner = take()!;
		expect(acquireLock(where, before, "1.0.0")).toBeNull();
		releaseLock(run, winner);
		expect(acquireLock(where, before, "1.0.0")).toBeNull();
		expect(readdirSync(run)).toEqual(["epoch"]);
	});

	test("names no socket but its own", () => {
		writeFileSync(file("daemon.3"), JSON.stringify({ epoch: 9, pid: 1, born: null, version: "1", socket: "/evil" }));
		expect(newestLock(run)).toMatchObject({ epoch: 3, socket: file("d3.sock") });
	});
});

describe("G16 a lock file that is corrupt", () => {
	const corrupt: readonly (readonly [string, () => void])[] = [
		["an empty object", () => writeFileSync(file("daemon.5"), "{}")],
		["an empty file", () => writeFileSync(file("daemon.5"), "")],
		["null", () => writeFileSync(file("daemon.5"), "null")],
		["wrong types", () => writeFileSync(file("daemon.5"), `{"pid":"1","born":7,"version":null}`)],
		["the pid of a group", () => writeFileSync(file("daemon.5"), `{"pid":-1,"born":null,"version":"1"}`)],
		["binary", () => writeFileSync(file("daemon.5"), Buffer.from([0, 255, 254, 10, 0]))],
		["huge", () => writeFileSync(file("daemon.5"), `{"pid":1,"born":null,"version":"${"x".repeat(1 << 20)}"}`)],
		["a directory", () => mkdirSync(file("daemon.5"))],
		["a link to a valid one", () => link(`{"pid":1,"born":null,"version":"1"}`)],
		["a valid one that others can write", () => open(`{"pid":1,"born":null,"version":"1"}`)],
	];
	const link = (text: string) => {
		writeFileSync(file("valid"), text);
		symlinkSync(file("valid"), file("daemon.5"));
	};
	const open = (text: string) => {
		writeFileSync(file("daemon.5"), text);
		chmodSync(file("daemon.5"), 0o666);
	};

	test.each(corrupt)("(%s) counts as stale, keeps its number and is reported", (_, make) => {
		make();
		expect(newestLock(run)).toBeNull();
		expect(corruptLocks(run)).toEqual([file("daemon.5")]);
		expect(take()).toMatchObject({ epoch: 6 });
	});

	test("does not hide an older one that is held", () => {
		const older = take()!;
		writeFileSync(file("daemon.5"), "{}");
		expect(newestLock(run)).toEqual(older);
	});

	test("with a number that no lock can have is passed over", () => {
		for (const name of ["daemon.99999999999999999999", "daemon.0", "daemon.x"]) writeFileSync(file(name), "{}");
		expect(take()).toMatchObject({ epoch: 1 });
		expect(corruptLocks(run)).toHaveLength(3);
	});

	test.each([Number.MAX_SAFE_INTEGER, 2 ** 48 + 44])(
		"with a number that no daemon has (%d) is not counted",
		(number) => {
			writeFileSync(file(`daemon.${number}`), "{}");
			expect(take()!.epoch).toBe(1);
			expect(corruptLocks(run)).toEqual([file(`daemon.${number}`)]);
		},
	);

	test("with a number that a daemon may have is passed, and every later one is above it, also when it is lost", () => {
		writeFileSync(file("daemon.1000000000000"), "{}");
		const { epoch } = take()!;
		expect(epoch).toBe(1_000_000_000_001);
		for (const name of ["daemon.1000000000000", `daemon.${epoch}`]) rmSync(file(name));
		writeFileSync(file("epoch"), "garbage");
		expect(take()!.epoch).toBeGreaterThan(epoch);
	});

	test("a directory in the place of the epoch is set aside and shown", () => {
		mkdirSync(file("epoch"));
		expect(take()).not.toBeNull();
		expect(corruptLocks(run)).toEqual([file("epoch.corrupt-not-a-file")]);
	});

	test.each(["garbage", "", "-5", "1e308", String(Number.MAX_SAFE_INTEGER)])(
		"of the epoch (%s) makes the next number higher than any that was counted, since holders refuse a lower one",
		(text) => {
			writeFileSync(file("epoch"), text);
			const { epoch } = take()!;
			expect(epoch).toBeGreaterThan(1_700_000_000);
			expect(readFileSync(file("epoch"), "utf8")).toBe(String(epoch));
			expect(acquireLock(where, lastNumber(where), "1.0.0")).toMatchObject({ epoch: epoch + 1 });
		},
	);

	test("of the epoch that is gone while a session runs does the same", () => {
		writeFileSync(file("abc.sock"), "");
		expect(take()!.epoch).toBeGreaterThan(1_700_000_000);
	});
});
