import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withFileLock } from "./file-lock.ts";

let dir: string;
beforeEach(() => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("the lock names its holder while the work runs, and nothing is left afterwards", () => {
	const path = join(dir, "lock");
	withFileLock(path, () => expect(readlinkSync(path)).toMatch(new RegExp(`^${process.pid}\\.\\d+\\.[0-9a-f]{12}$`)));
	expect(() =>
		withFileLock(path, () => {
			throw new Error("the work failed");
		}),
	).toThrow("the work failed");
	expect(readdirSync(dir)).toEqual([]);
});

test("the lock of a process that died is taken, also when its pid is in use again", () => {
	const path = join(dir, "lock");
	const { pid } = spawnSync("true");
	for (const dead of [`${pid}.1.aaaaaaaaaaaa`, `${process.pid}.1.bbbbbbbbbbbb`]) {
		symlinkSync(dead, path);
		expect(withFileLock(path, () => "done")).toBe("done");
		expect(existsSync(path)).toBe(false);
	}
	// Also when the process that removed it died while it did.
	symlinkSync(`${pid}.1.cccccccccccc`, path);
	symlinkSync(`${pid}.1.dddddddddddd`, `${path}.cccccccccccc`);
	expect(withFileLock(path, () => "done")).toBe("done");
	expect(readdirSync(dir)).toEqual([]);
});
