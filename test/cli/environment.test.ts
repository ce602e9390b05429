// R2.10, R2.13, D5, D7: the environment and the limits of programs, by flags of the command line and by options.

import { afterAll, describe, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

const PRINTED = 'echo "[$PLAIN:$SOME_API_KEY:$MORE] $(ulimit -n)"';
const OURS = { SHELL: "/bin/bash", HOME: "/nonexistent", PLAIN: "plain", SOME_API_KEY: "key" };

/** Both verbs that start a program; each `run` in a shell of its own. */
let shells = 0;
const VERBS = {
	start: (flags: readonly string[], command: string) => ["start", ...flags, command],
	run: (flags: readonly string[], command: string) => ["run", "--shell", `sh${++shells}`, ...flags, command],
} as const;

test("S17 D5: what is started again inherits as before", async () => {
	await using line = new CommandLine(OURS);
	expect((await line.run(["start", "--name", "all", "--inherit", "all", PRINTED])).out).toContain("[plain:key:]");
	expect((await line.run(["start", "--again", "all"])).out).toContain("[plain:key:]");
	expect((await line.run(["start", "--again", "all", "--inherit", "none"])).out).toContain("[::]");
});

describe.each(Object.entries(VERBS))("%s", (verb, args) => {
	const line = new CommandLine(OURS);
	afterAll(() => line[Symbol.asyncDispose]());

	test.each([
		["D5", ["--inherit", "none"], "[::]"],
		["D5", ["--inherit", "safe"], "[plain::]"],
		["D5", ["--inherit", "all"], "[plain:key:]"],
		["D5", ["-e", "MORE=more"], "[plain::more]"],
		["R2.10 D7", ["--limit-open-files", "77"], "] 77"],
	])("%s: %s", async (_, flags, expected) => {
		const { code, out } = await line.run(args(flags, PRINTED));
		expect(code).toBe(0);
		expect(out).toContain(expected);
	});

	test("R2.10 D7: what a limit of time ended is told", async () => {
		const { out, err } = await line.run(args(["--limit-wall", "2500ms"], "echo begun; sleep 600"));
		expect(out).toContain("begun");
		expect(out + err).toContain("wall-clock limit");
	});

	test("C3: a directory that does not exist is an invalid command line, and nothing is done", async () => {
		const { code, err } = await line.run(args(["--cwd", "/no/such/place"], "true"));
		expect(code).toBe(2);
		expect(err).toContain('--cwd takes a directory that exists, not "/no/such/place"');
		expect((await line.run(["ls", "-a"])).out).not.toMatch(/ true$/m);
		expect((await line.run(args(["--cwd", "/usr"], "pwd"))).out).toContain("/usr");
	});

	test("R2.13 D5 D7: the options hold for all programs", async () => {
		await using narrow = new CommandLine({ ...OURS, DIALTONE_INHERIT: "none", DIALTONE_LIMIT_OPEN_FILES: "77" });
		expect((await narrow.run(args([], PRINTED))).out).toContain("[::] 77");
		expect((await narrow.run(args(["--limit-open-files", "50"], PRINTED))).out).toContain("] 50");
		expect((await narrow.run(args(["--limit-open-files", "99"], PRINTED))).out).toContain("] 77");
		expect((await narrow.run(args(["--inherit", "safe"], PRINTED))).out, verb).toContain("[plain::] 77");
	});
});

test("S21: a session belongs to the conversation in the environment of the command line that starts it", async () => {
	await using line = new CommandLine({ DIALTONE_PARENT: "conversation-1" });
	await line.run(["start", "--name", "mine", "cat"]);
	expect(await line.json(["ls"])).toMatchObject({ sessions: [{ name: "mine", parent: "conversation-1" }] });
});
