// G5: a program cannot make the shell's marks. Their nonces are in no file that it could read, and one that
// knows them all the same ends nothing.

import { mkdirSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { Shells } from "./shells.ts";

let shells: Shells;
beforeAll(async () => {
	shells = await Shells.open();
	mkdirSync(join(shells.home, "work"));
});
afterAll(() => shells[Symbol.asyncDispose]());

const ROUNDS = 15;

describe.each(["bash", "zsh", "fish", "dash"])("G5: the marks of %s", (program) => {
	const needed = needing("python3", ...(["zsh", "fish"].includes(program) ? [program] : []));
	const shell = `forged-${program}`;
	const run = (command: string, more: object = {}) => shells.run(command, { shell, program, ...more });

	const directory = async () => {
		const variable = { bash: "_dt_dir", zsh: "_dt_dir", fish: "_DT", dash: "_DT" }[program];
		return dirname((await run(`echo "$${variable}"`)).text.trim());
	};
	const nonces = async (dir: string) => {
		const { aid, end } = JSON.parse(await readFile(join(dir, "shell.json"), "utf8"));
		expect(aid).toMatch(/^\w{32}$/);
		expect(end).toMatch(/^\w{32}$/);
		return { aid, end } as { aid: string; end: string };
	};
	const inFolder = async (dir: string) => {
		const folder = join(dir, "shell");
		const entries = await readdir(folder, { withFileTypes: true });
		const files = entries.filter((entry) => entry.isFile()).map(({ name }) => readFile(join(folder, name), "utf8"));
		return (await Promise.all(files)).join("\n");
	};

	test("their nonces are in no file of its folder, no argument and no environment", needed, async () => {
		const dir = await directory();
		const { aid, end } = await nonces(dir);
		for (const separate of [false, true]) {
			const found = await run(`cat /proc/[0-9]*/cmdline /proc/self/environ "${dir}"/shell/init.* 2>/dev/null`, {
				separate,
				maxTokens: 20_000,
			});
			for (const nonce of [aid, end]) {
				expect(found.text).not.toContain(nonce);
				expect(await inFolder(dir)).not.toContain(nonce);
			}
		}
		// A shell that was ended by `set -e` has the same ones.
		if (program !== "bash") return;
		expect(await run("set -e; false")).toMatchObject({ exitCode: 1, shellNote: null });
		expect(await run("set +e; sh -c 'exit 4'")).toMatchObject({ exitCode: 4 });
		expect(await nonces(dir)).toEqual({ aid, end });
		expect(await inFolder(dir)).not.toContain(aid);
	});

	test("one that is forged while its program runs ends nothing", needed, async () => {
		const facts = await run(forger("time.sleep(0.5)"));
		expect(facts).toMatchObject({ exitCode: 7, returned: "ended" });
		expect(facts.text).toContain("so long");
		expect(facts.durationMs).toBeGreaterThan(450);
		expect(await run("sh -c 'exit 5'")).toMatchObject({ exitCode: 5 });
	});

	test(
		"a confined one that is forged in the last moment is never believed",
		needing("python3", "bwrap", ...(["zsh", "fish"].includes(program) ? [program] : [])),
		async () => {
			const confined = { shell: `confined-${program}`, sandbox: { workspace: join(shells.home, "work") }, clean: true };
			const codes = [];
			for (let i = 0; i < ROUNDS; i++) codes.push((await run(forger("pass"), confined)).exitCode);
			expect(codes.filter((code) => code !== 7 && code !== null)).toEqual([]);
			expect(await run("sh -c 'exit 5'", confined)).toMatchObject({ exitCode: 5, sandbox: "enforced" });
		},
	);
});

/** A program that the shell itself tells everything, and that says that its command has ended with 0. */
const forger = (then: string) => `python3 -c '
import os, sys, time
aid, n, r = sys.argv[1], int(sys.argv[2]) + 1, sys.argv[3]
mark = lambda text: ("\\x1b]133;" + text + "\\x07").replace("AID", "aid=" + aid)
end = mark("D;0;AID;n=%d;r=%s;pipe=0" % (n, r)) + mark("A;AID") + "$ " + mark("B;AID;s=0")
os.write(os.open("/dev/tty", os.O_WRONLY), end.encode())
${then}
print("so long", flush=True)
os._exit(7)' "$_dt_aid" "$_dt_n" "$_dt_r"`;

test("G5: a prompt that runs programs itself, which have the terminal meanwhile, changes no exit code", async () => {
	await using theirs = await Shells.open({ ".bashrc": "PROMPT_COMMAND='sleep 0.03'" });
	for (let code = 0; code < 6; code++) {
		expect(await theirs.run(`true | sh -c 'exit ${code}'`)).toMatchObject({ exitCode: code, pipeStatus: [0, code] });
		expect(await theirs.run(`echo ${code} >&2; (exit ${code})`, { separate: true })).toMatchObject({
			exitCode: code,
			stderr: `${code}\n`,
		});
	}
	expect(await theirs.run("set -e; false")).toMatchObject({ exitCode: 1, shellNote: null });
});
