// G6 Whose world: the daemon has its own, and each program has its caller's, whoever started the daemon.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionFacts, StartFacts } from "../../src/protocol/answer.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";
import { Background, dialtone, run } from "./people.ts";

const KEY = "sk-of-the-first-caller";

/** A command line whose parent is a shell that has set itself up; what the program printed. */
async function from(home: Home, setup: string, program: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
	const start = dialtone("call", "start", JSON.stringify({ argv: ["sh", "-c", program], timeoutMs: 60_000 }));
	// Not the last command of its line: a shell would replace itself by it.
	const line = `${setup}\n"$@"\ncode=$?; exit $code`;
	const { out, err } = await run(["sh", "-c", line, "sh", ...start], { ...home.env, ...env });
	expect(err).toBe("");
	return (JSON.parse(out) as SessionFacts).text;
}

const pidOf = async (home: Home) => JSON.parse((await home.cli("daemon", "status", "--json")).stdout).pid as number;
const proc = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");

describe("G6 the daemon's world is not its first caller's", () => {
	test("its environment has no keys, and no later program can read them there", async () => {
		await using home = new Home();
		await from(home, "", "true", {
			ANTHROPIC_API_KEY: KEY,
			SECRET: KEY,
			LD_DEBUG_OUTPUT: "/nowhere",
			DIALTONE_OWNER: "me",
		});
		const pid = await pidOf(home);
		const names = proc(pid, "environ")
			.split("\0")
			.filter(Boolean)
			.map((entry) => entry.split("=")[0]!);
		const own = /^(PATH|HOME|SHELL|USER|LOGNAME|LANG|LANGUAGE|TZ|LC_\w+|DIALTONE_HOME|DIALTONE_LOG_LEVEL)$/;
		expect(names.filter((name) => !own.test(name))).toEqual([]);
		const seen = await from(
			home,
			"",
			`cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c "^ANTHROPIC_API_KEY=${KEY}$"`,
		);
		expect(seen.trim()).toBe("0");
	});

	test("NODE_OPTIONS of the first caller has no effect on it", async () => {
		await using home = new Home();
		const mark = join(home.path, "loaded");
		const script = join(home.path, "mark.cjs");
		writeFileSync(script, `require("fs").appendFileSync(${JSON.stringify(mark)}, process.argv.join(" ") + "\\n")`);
		await from(home, "", "true", { NODE_OPTIONS: `--require ${script}` });
		await home.cli("ls");
		const loaded = readFileSync(mark, "utf8").trim().split("\n");
		expect(loaded).toEqual([expect.stringContaining("call start")]);
	});

	test("DIALTONE_HOLDER of the first caller chooses no holder, for it or others", async () => {
		await using home = new Home();
		const mark = join(home.path, "chosen");
		const holder = join(home.path, "holder");
		writeFileSync(holder, `#!/bin/sh\ntouch ${mark}\nexit 1\n`, { mode: 0o755 });
		expect(await from(home, "", "echo first", { DIALTONE_HOLDER: holder })).toBe("first");
		expect(await from(home, "", "echo second")).toBe("second");
		expect(existsSync(mark)).toBe(false);
	});

	test("it is a session of its own, in /, with a closed umask; only its own limits and nice value hinder it", async () => {
		await using home = new Home();
		const setup = `cd ${home.path}; umask 000; ulimit -S -t 60; ulimit -S -f 1000; renice -n 7 $$ >/dev/null`;
		await from(home, setup, "true");
		const pid = await pidOf(home);
		const stat = proc(pid, "stat").replace(/.*\) /, "").split(" ");
		expect(Number(stat[3])).toBe(pid); // session
		const cwd = await run(["readlink", `/proc/${pid}/cwd`]);
		expect(cwd.out).toBe("/\n");
		expect(/^Umask:\s+(\d+)/m.exec(proc(pid, "status"))?.[1]).toBe("0077");
		expect(proc(pid, "limits")).toMatch(/Max cpu time\s+unlimited/);
		expect(proc(pid, "limits")).toMatch(/Max file size\s+unlimited/);
		if (process.getuid?.() === 0) expect(Number(stat[16])).toBe(0); // nice
	});
});

describe("G6 a program's world is its caller's", () => {
	const TELL = "umask; nice; for limit in -Sn -Hn -Sc -Ss -Su; do ulimit $limit; done";

	test("umask, nice value and limits of each caller, not of the one that started the daemon", async () => {
		await using home = new Home();
		const worlds = [
			["umask 000; ulimit -S -n 333; ulimit -S -s 4096", { umask: "0000", nice: "0" }],
			[
				"umask 027; ulimit -S -n 444; ulimit -H -n 5000; ulimit -c 0; renice -n 5 $$ >/dev/null",
				{ umask: "0027", nice: "5" },
			],
			["umask 077; ulimit -S -n 555; ulimit -S -s 16384", { umask: "0077", nice: "0" }],
		] as const;
		for (const [setup, { umask, nice }] of worlds) {
			// What the caller's own shell tells of a program that it starts itself.
			const { out: expected } = await run(["bash", "-c", `${setup}; bash -c '${TELL}'; true`], home.env);
			const told = await from(home, setup, `exec bash -c '${TELL}'`);
			expect(told.trim()).toBe(expected.trim());
			expect(told.split("\n").slice(0, 2)).toEqual([umask, nice]);
		}
	});

	test("D5, R4.14: each caller's own environment, without its keys; they never reach the daemon unless a call says so", async () => {
		await using home = new Home();
		const tell = 'echo "$DATABASE_URL $GITHUB_TOKEN"';
		const first = { DATABASE_URL: "db://first", GITHUB_TOKEN: KEY };
		expect((await from(home, "", tell, first)).trim()).toBe("db://first");
		expect((await from(home, "", tell, { DATABASE_URL: "db://second" })).trim()).toBe("db://second");
		const start = (input: object) =>
			run(dialtone("call", "start", JSON.stringify({ argv: ["sh", "-c", tell], timeoutMs: 60_000, ...input })), {
				...home.env,
				...first,
			});
		const safe = JSON.parse((await start({})).out) as StartFacts;
		expect(safe.environment.inherit).toBe("safe");
		expect(safe.environment.withheld).toContain("GITHUB_TOKEN");
		const all = JSON.parse((await start({ inherit: "all" })).out) as StartFacts;
		expect(all.text.trim()).toBe(`db://first ${KEY}`);
		expect(all.environment.withheld).toEqual([]);
		const none = JSON.parse((await start({ inherit: "none" })).out) as StartFacts;
		expect(none.text.trim()).toBe("");
		const added = JSON.parse((await start({ env: { GITHUB_TOKEN: "given" } })).out) as StartFacts;
		expect(added.text.trim()).toBe("db://first given");
		expect(added.environment.withheld).not.toContain("GITHUB_TOKEN");
	});

	test("also in a shell of `run`", async () => {
		await using home = new Home({ HOME: "/nonexistent" }); // start files of a person take their time
		await home.cli("ls");
		const line = `umask 027; ulimit -S -n 345\n"$@"\ntrue`;
		const tell = dialtone("run", "umask; ulimit -Sn");
		const { out } = await run(["sh", "-c", line, "sh", ...tell], home.env);
		expect(out.trim().split("\n")).toEqual(["0027", "345"]);
	});

	test("over HTTP, of the person who opened it", async () => {
		await using home = new Home();
		await home.cli("ls");
		const line = `umask 027; ulimit -S -n 345\n"$@"\ntrue`;
		const { out } = await run(["sh", "-c", line, "sh", ...dialtone("serve", "--port", "0")], home.env);
		const url = /http:\/\/[\d.:]+/.exec(out)![0];
		const token = (await home.cli("token", "create", "t")).stdout.trim();
		const answer = await fetch(`${url}/v1/tools/start`, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			body: JSON.stringify({ argv: ["sh", "-c", "umask; ulimit -Sn"] }),
		});
		expect(((await answer.json()) as SessionFacts).text).toBe("0027\n345");
	});

	test("files that it makes have the caller's mode, while the daemon's own stay closed", async () => {
		await using home = new Home();
		expect(await from(home, "umask 022", `touch ${home.path}/made; stat -c %a ${home.path}/made`)).toBe("644");
		const inside = readdirSync(home.path, { recursive: true, encoding: "utf8" }).filter((name) => name !== "made");
		const modes = await run(["stat", "-c", "%a %n", ...inside.map((name) => join(home.path, name))]);
		const open = modes.out
			.trim()
			.split("\n")
			.filter((line) => !/^[67]00 /.test(line));
		expect(open).toEqual([]);
	});

	test("the limit of open files that node raised is not passed on, however many nodes are between", async () => {
		await using home = new Home();
		const argv = dialtone("call", "start", JSON.stringify({ argv: ["sh", "-c", "ulimit -Sn"] }));
		const node = `const r = require("child_process").spawnSync(${JSON.stringify(argv[0])}, ${JSON.stringify(argv.slice(1))}); process.stdout.write(r.stdout)`;
		const line = `ulimit -S -n 321\n"$@"\ntrue`;
		const { out } = await run(["sh", "-c", line, "sh", process.execPath, "-e", node], home.env);
		expect((JSON.parse(out) as SessionFacts).text).toBe("321");
	});
});

describe("G1 what a client sends of its caller", () => {
	test("is the environment that programs get, with calls that start one; its keys never", async () => {
		await using home = new Home({ HOME: "/nonexistent" });
		await using client = await home.connect();
		const { socket } = await client.status();
		const fake = join(import.meta.dirname, "../fixtures/fake-daemon.mjs");
		let epoch = 0;
		const sent = async (...args: string[]) => {
			// In a home of its own, or the daemon would give way to it.
			const elsewhere = join(home.path, "between");
			const directory = join(elsewhere, "run");
			mkdirSync(directory, { recursive: true, mode: 0o700 });
			await using between = new Background([process.execPath, fake, directory, String(++epoch), VERSION, socket!]);
			await until("it listens", () => between.out.includes("ready"));
			const env = { ...home.env, DIALTONE_HOME: elsewhere, ANTHROPIC_API_KEY: KEY, VIRTUAL_ENV: "/venv" };
			expect(await run(dialtone(...args), env)).toMatchObject({ code: 0 });
			return until("it was called", () => between.out.includes('"do":"call"') && between.out);
		};
		for (const args of [
			["ls"],
			["start", "--name", "cat", "cat"],
			["read", "cat"],
			["send", "cat", "x"],
			["run", "true"],
		]) {
			const received = await sent(...args);
			expect(received).not.toContain(KEY);
			expect([args[0], received.includes("/venv")]).toEqual([args[0], ["start", "run"].includes(args[0]!)]);
		}
	});
});
