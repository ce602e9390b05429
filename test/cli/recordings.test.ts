// Recordings as a person meets them: on their own terminal they draw and do nothing else, and none is too old to be read.

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { CommandLine, MAIN } from "./command-line.ts";

let line: CommandLine;
let desk: Dialtone;

beforeAll(async () => {
	vi.stubEnv("DIALTONE_REMEMBER_ENDED", "3");
	line = new CommandLine();
	vi.unstubAllEnvs();
	desk = await Dialtone.open();
});
afterAll(async () => {
	await desk[Symbol.asyncDispose]();
	await line[Symbol.asyncDispose]();
});

const HOSTILE =
	"stty -echo; printf '\\e]52;c;ZXZpbA==\\a\\e[6n\\e]0;own\\a\\e[21t\\eP+q544e\\e\\\\\\e[31mred\\e[0m bidi:\\u202ex\\u200b\\n'";

/** What a command sends to the terminal of a person. */
async function onTerminal(args: readonly string[]): Promise<string> {
	const argv = [process.execPath, MAIN, ...args];
	const session = await desk.start({ argv, env: { ...line.env }, until: { only: true }, timeoutMs: 60_000 });
	const { base64 = "" } = await session.read({ view: "raw", from: 0 });
	return Buffer.from(base64, "base64").toString();
}

test("what draws reaches a person's terminal, and nothing else of a recording", async () => {
	await line.run(["start", "--name", "evil", HOSTILE]);
	for (const args of [
		["replay", "evil"],
		["logs", "evil"],
		["read", "evil", "--view", "raw"],
	]) {
		const shown = await onTerminal(args);
		expect(shown).toContain("\x1b[31mred\x1b[0m bidi:");
		expect(shown).not.toMatch(/\x1b\]|\x1b\[6n|\x1b\[21t|\x1bP/);
		// To a file or a program it goes byte for byte.
		expect((await line.run(args)).out).toContain("\x1b]52;c;ZXZpbA==\x07\x1b[6n");
	}
	expect((await line.run(["export", "evil", "--format", "text"])).out).toBe("red bidi:x\n");
});

test("a session that ended long ago is exported and replayed as any other", async () => {
	for (const name of ["old", "a", "b", "c", "d"]) await line.run(["start", "--name", name, `echo of ${name}`]);
	expect((await line.run(["ls", "-a"])).out).not.toMatch(/^old /m);
	expect(await line.run(["export", "old", "--format", "text"])).toMatchObject({ code: 0, out: "of old\n" });
	expect((await line.run(["export", "old"])).out).toContain('"command":"echo of old"');
	expect(await line.run(["replay", "old"])).toMatchObject({ code: 0, out: "of old\r\n" });
});

test("a fault's JSON has no character that is not drawn", async () => {
	const { out } = await line.run(["read", "a\u202eb\u009bc", "--json"]);
	expect(JSON.parse(out)).toMatchObject({ fault: "session_not_found", facts: { id: "abc" } });
	expect(out).not.toMatch(/[\u202e\u009b]/);
});
