import { describe, expect, test } from "vitest";
import type { Fault } from "../protocol/fault.ts";
import { parse } from "./flags.ts";
import type { Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const verb = (name: string) => VERBS.find((one) => one.name === name) as Verb;
const problem = (act: () => unknown) => {
	try {
		act();
	} catch (fault) {
		return (fault as Fault).message;
	}
	throw new Error("nothing was refused");
};

describe("words on the command line", () => {
	test("flags after the program belong to the program", () => {
		const { words, flags } = parse(verb("start"), ["--name", "py", "python3", "-i", "--json"]);
		expect(words).toEqual(["python3", "-i", "--json"]);
		expect(flags.string("name")).toBe("py");
		expect(flags.on("json")).toBe(false);
	});

	test("a short flag's value is not taken for the program", () => {
		expect(parse(verb("start"), ["-n", "x", "-e", "A=1", "vim"]).words).toEqual(["vim"]);
	});

	test("everything after -- is the command, whatever it looks like", () => {
		expect(parse(verb("run"), ["--", "--name"]).words).toEqual(["--name"]);
	});

	test("a time without a unit is refused, with an example of what would be right", () => {
		const { flags } = parse(verb("wait"), ["py", "--timeout", "30"]);
		expect(problem(() => flags.duration("timeout"))).toContain("30s");
	});

	test.each([
		["500ms", 500],
		["1.5s", 1500],
		["2m", 120_000],
	])("%s is %d milliseconds", (said, ms) => {
		expect(parse(verb("wait"), ["py", "-t", said]).flags.duration("timeout")).toBe(ms);
	});

	test("an unknown flag is a fault that names it", () => {
		expect(problem(() => parse(verb("ls"), ["--nope"]))).toContain("--nope");
	});

	test("no verb uses one letter for two flags", () => {
		for (const { flags = {} } of VERBS) {
			const letters = ["h", ...Object.values(flags).flatMap(({ short }) => short ?? [])];
			expect(new Set(letters).size).toBe(letters.length);
		}
	});
});
