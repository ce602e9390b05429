// Where no library of a fleet's broker can be found, also not late: the library and the daemon work all the same. The
// daemon's bundle is made of the same modules; here it runs from these.

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

const LIBRARY = `
import { Dialtone } from "./dist/index.js";
const dialtone = await Dialtone.open();
const terminal = await dialtone.start({ argv: ["cat"] });
await terminal.send({ text: "hello", submit: true, until: { text: "hello" } });
console.log((await terminal.read({ view: "screen" })).text);
console.log((await dialtone.run({ command: "echo $((6 * 7))" })).text);
console.log((await dialtone.list()).sessions.length);
await dialtone[Symbol.asyncDispose]();
`;

describe("issue 15: without the libraries of a broker", () => {
	let copy: string;
	let env: NodeJS.ProcessEnv;
	beforeAll(() => {
		copy = mkdtempSync(join(tmpdir(), "dt-no-nats-"));
		cpSync(join(root, "dist"), join(copy, "dist"), {
			recursive: true,
			filter: (path) => !path.includes("daemon-bundle"), // all libraries are in it
		});
		for (const name of ["build", "shell", "package.json"]) symlinkSync(join(root, name), join(copy, name));
		mkdirSync(join(copy, "node_modules"));
		for (const name of readdirSync(join(root, "node_modules")).filter((each) => each !== "@nats-io"))
			symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name));
		env = { ...process.env, DIALTONE_HOME: join(copy, "home") };
	});
	afterAll(async () => {
		await cli("daemon", "stop", "--sessions");
		rmSync(copy, { recursive: true, force: true });
	});

	const node = (...args: string[]) => run(process.execPath, args, { cwd: copy, env });
	const cli = (...args: string[]) => node("dist/main.js", ...args);

	test("the library starts, types, reads, lists and ends", async () => {
		const { stdout } = await node("--input-type=module", "-e", LIBRARY);
		expect(stdout).toMatch(/hello.*42.*2\n$/s);
	});

	test("the command line does so through the daemon, and is told that it is in no fleet", async () => {
		await cli("start", "--name", "cat", "--", "cat");
		expect((await cli("send", "cat", "hello")).stdout).toContain("hello");
		expect((await cli("run", "echo $((6 * 7))")).stdout).toContain("42");
		expect((await cli("ls")).stdout).toContain("cat");
		expect((await cli("ls", "--json")).stdout).toContain('"name":"cat"');
		await expect(cli("fleet", "status", "--json")).rejects.toMatchObject({ stdout: "null\n" });
		// Where it would tell of what it could not load, and go on.
		expect(readFileSync(join(copy, "home/daemon.log"), "utf8")).not.toContain("@nats-io");
	});

	test("(this test can fail) a fleet cannot be joined", async () => {
		expect(existsSync(join(copy, "dist/daemon-bundle.cjs"))).toBe(false);
		await expect(cli("join", "nats://127.0.0.1:1")).rejects.toThrow(/Cannot find package '@nats-io/);
	});
});
