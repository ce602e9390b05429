import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const directory = join(import.meta.dirname, "../examples");

describe("the examples check themselves", () => {
	test.each(readdirSync(directory))("%s", async (name) => {
		const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", join(directory, name)]);
		expect(stdout).not.toBe("");
	});
});
