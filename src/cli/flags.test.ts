import { describe, expect, test } from "vitest";
import type { Fault } from "../protocol/fault.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { flagsOf, parse } from "./flags.ts";

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
		expect(problem(() => parse(command("wait"), ["py", "--timeout", "30"]))).toContain("30s");
	});

	test.each([
		["wait", ["py", "-t", "500ms"], "timeout", 500],
		["wait", ["py", "-t", "1.5s"], "timeout", 1500],
		["wait", ["py", "-t", "2m"], "timeout", 120_000],
		["start", ["--limit-cpu", "2m"], "limit-cpu", 120],
		["start", ["--limit-memory", "512M"], "limit-memory", 512 * 2 ** 20],
		["start", ["--limit-memory", "1.5GiB"], "limit-memory", 1.5 * 2 ** 30],
		["kill", ["py", "-s", "sigterm"], "signal", "TERM"],
		["ls", ["--since", "12"], "since", 12],
		["ls", ["--since", "2026-01-01T00:00:00Z"], "since", "2026-01-01T00:00:00Z"],
		["send", ["py", "--no-submit"], "submit", false],
	])("%s %j gives --%s %j", (name, args, flag, value) => {
		expect(parse(command(name), args).flags.get(flag)).toBe(value);
	});

	test("a value that a flag cannot have is refused with those it can", () => {
		expect(problem(() => parse(command("start"), ["--if-exists", "maybe"]))).toContain("fail, use, replace");
		expect(problem(() => parse(command("start"), ["-e", "novalue"]))).toContain("KEY=VALUE");
		expect(problem(() => parse(command("start"), ["--cols", "wide"]))).toContain("whole number");
	});

	test("too few words and too many are refused before anything is done", () => {
		expect(problem(() => parse(command("send"), []))).toContain("SESSION is missing");
		expect(problem(() => parse(command("run"), ["-t", "1s"]))).toContain("COMMAND is missing");
		expect(problem(() => parse(command("ls"), ["py"]))).toContain('"py"');
	});

	test("the words of `exec` before the command are ours, and what follows is the program's", () => {
		const { words, flags } = parse(command("exec"), ["-t", "2s", "dev", "ls", "-t"]);
		expect(words).toEqual(["dev", "ls", "-t"]);
		expect(flags.number("timeout")).toBe(2000);
	});

	test("C4: a signal is given by its name in any form, or by its number", () => {
		for (const signal of ["KILL", "kill", "SIGKILL", "9"])
			expect(parse(command("kill"), ["-s", signal, "py"]).flags.get("signal")).toBe("KILL");
		expect(problem(() => parse(command("kill"), ["-s", "99", "py"]))).toContain("99");
	});

	test("an unknown flag is a fault that names it", () => {
		expect(problem(() => parse(command("ls"), ["--nope"]))).toContain("--nope");
		expect(problem(() => parse(command("wait"), ["py", "--timout", "1s"]))).toContain("did you mean --timeout");
	});

	test("C4: a letter means the same wherever it is used, but for what every other tool does too", () => {
		// As in docker: `logs -f` follows, `rm -f` forces. `-s` names a shell, or a signal as in kill(1).
		const SEVERAL: Readonly<Record<string, readonly string[]>> = {
			f: ["follow", "force", "foreground", "format"],
			s: ["shell", "signal"],
		};
		const meanings = new Map<string, Set<string>>();
		for (const { flags = {} } of COMMANDS) {
			const letters = Object.entries(flagsOf({ flags } as Command)).filter(([, { short }]) => short);
			expect(new Set(letters.map(([, { short }]) => short)).size).toBe(letters.length);
			for (const [name, { short }] of letters) meanings.set(short!, (meanings.get(short!) ?? new Set()).add(name));
		}
		for (const [letter, names] of meanings)
			expect([...names].sort(), `-${letter}`).toEqual(SEVERAL[letter] ?? [expect.any(String)]);
	});
});
