import { describe, expect, test } from "vitest";
import type { Fault } from "../protocol/fault.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { parse } from "./flags.ts";

const command = (name: string) => COMMANDS.find((one) => one.name === name) as Command;
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
		const { words, flags } = parse(command("start"), ["--name", "py", "python3", "-i", "--json"]);
		expect(words).toEqual(["python3", "-i", "--json"]);
		expect(flags.string("name")).toBe("py");
		expect(flags.on("json")).toBe(false);
	});

	test("a short flag's value is not taken for the program", () => {
		expect(parse(command("start"), ["-n", "x", "-e", "A=1", "vim"]).words).toEqual(["vim"]);
	});

	test("everything after -- is the command, whatever it looks like", () => {
		expect(parse(command("run"), ["--", "--name"]).words).toEqual(["--name"]);
	});

	test("a time without a unit is refused, with an example of what would be right", () => {
		const { flags } = parse(command("wait"), ["py", "--timeout", "30"]);
		expect(problem(() => flags.duration("timeout"))).toContain("30s");
	});

	test.each([
		["500ms", 500],
		["1.5s", 1500],
		["2m", 120_000],
	])("%s is %d milliseconds", (text, ms) => {
		expect(parse(command("wait"), ["py", "-t", text]).flags.duration("timeout")).toBe(ms);
	});

	test("an unknown flag is a fault that names it", () => {
		expect(problem(() => parse(command("ls"), ["--nope"]))).toContain("--nope");
	});

	test("no command uses one letter for two flags", () => {
		for (const { flags = {} } of COMMANDS) {
			const letters = ["h", ...Object.values(flags).flatMap(({ short }) => short ?? [])];
			expect(new Set(letters).size).toBe(letters.length);
		}
	});
});
