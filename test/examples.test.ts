import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { named, skipWithout } from "./programs.ts";

const directory = join(import.meta.dirname, "../examples");

describe("the examples check themselves", () => {
	test.for(readdirSync(directory))("%s", async (name, context) => {
		skipWithout(context, ...named([readFileSync(join(directory, name), "utf8")]));
		const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", join(directory, name)]);
		expect(stdout).not.toBe("");
	});
});
