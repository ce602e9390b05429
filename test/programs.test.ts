// C1: no test can run a program that a bare machine may lack without saying so.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missing, named, PACKAGES } from "./programs.ts";

test("C1 a program that is not declared does not run, wherever it is installed", () => {
	const { status, stderr } = spawnSync("sh", ["-c", "w3m -version"], { encoding: "utf8" });
	expect(stderr).toContain("does not declare");
	expect(status).toBe(127);
});

test("C1 a declared program runs, or is missing", () => {
	const lacks = missing("less");
	const { stdout, error } = spawnSync("less", ["--version"], { encoding: "utf8" });
	if (lacks.length === 0) expect(stdout).toMatch(/^less \d/);
	else expect(error).toMatchObject({ code: "ENOENT" });
});

test("C1 a program that no package is known for is an error, not a skip", () => {
	expect(() => missing("no-such-program")).toThrow("debian-packages.txt");
});

test("C1 the programs of a line of shell are found in it", () => {
	expect(named(["sh", "-c", "seq 9 | fzf --ansi; cd /tmp && git log"])).toEqual(["fzf", "git"]);
});

test("C1 no test goes around PATH", () => {
	const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".ts"),
	);
	const direct = sources.flatMap((name) => {
		const text = readFileSync(join(import.meta.dirname, name), "utf8");
		return [...text.matchAll(/\/usr\/s?bin\/([\w.+-]+)/g)].flatMap(([path, program = ""]) =>
			PACKAGES.has(program) ? [`${name}: ${path}`] : [],
		);
	});
	expect(direct).toEqual([]);
});
