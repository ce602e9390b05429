import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isAlive } from "../../src/pty/process-stat.ts";
import { named, needing, skipWithout } from "../programs.ts";
import { CommandLine, MAIN } from "./command-line.ts";

let line: CommandLine;
beforeAll(() => {
	line = new CommandLine();
});
afterAll(() => line[Symbol.asyncDispose]());

describe("a conversation from a shell", () => {
	test("start, send, read and end, each with the exit code a script can rely on", needing("python3"), async () => {
		expect(await line.run(["start", "--name", "py", "python3", "-q"])).toMatchObject({
			code: 0,
			out: expect.stringContaining(">>> "),
		});
		expect((await line.run(["send", "py", "6*7"])).out).toContain("42");
		expect((await line.json(["send", "-", "6*7"])).text).toContain("42");
		expect((await line.run(["screen", "py"])).out).toMatch(/^>>> 6\*7\n42\n/);
		expect((await line.run(["wait", "py", "--until", "never", "--only", "-t", "100ms"])).code).toBe(4);
		expect((await line.run(["ls"])).out).toMatch(/^py +waiting \(line\) +\d+[sm] +python3 -q$/m);
		expect((await line.run(["stop", "py"])).code).toBe(0);
		expect((await line.run(["ls"])).out).not.toContain("python3");
		expect((await line.run(["ls", "-a"])).out).toMatch(/^py +(cancelled|succeeded|failed)/m);
		expect((await line.run(["kill", "py"])).code).toBe(0);
		expect((await line.run(["send", "py", "1"])).code).toBe(5);
		expect((await line.run(["rm", "py"])).code).toBe(0);
		expect((await line.run(["read", "py"])).code).toBe(3);
	});

	test("a running session is not removed without --force", async () => {
		await line.run(["start", "--name", "stays", "cat"]);
		await line.run(["start", "--name", "too", "cat"]);
		expect(await line.run(["rm", "stays"])).toMatchObject({ code: 6, err: expect.stringContaining("rm --force") });
		expect((await line.run(["rm", "-f", "stays", "too"])).code).toBe(0);
	});

	test.each([
		["on its terminal", 'trap "" HUP; sleep 8640 & echo up; exit 0'],
		["away from its terminal", "(setsid sleep 8640 >/dev/null 2>&1 </dev/null &); sleep 0.2; exit 0"],
	])("what an ended session left running %s is named, and not ended by rm without --force", async (_, command) => {
		await line.run(["start", "--name", "left", "--", "bash", "-c", command]);
		const { left } = (await line.json(["wait", "left"])) as { left?: { pid: number; command: string }[] };
		expect(left).toMatchObject([{ command: "sleep" }]);
		const { pid } = left![0]!;
		const refused = await line.run(["rm", "left"]);
		expect(refused).toMatchObject({ code: 6, err: expect.stringContaining(`is still running (sleep (${pid}))`) });
		expect(refused.err).toContain("rm --force");
		expect(isAlive({ pid, born: null })).toBe(true);
		expect((await line.run(["rm", "--force", "left"])).code).toBe(0);
		expect(isAlive({ pid, born: null })).toBe(false);
		expect((await line.run(["read", "left"])).code).toBe(3);
	});

	test.each([
		["on its terminal", 'trap "" HUP; sleep 8642 & echo up; exit 0'],
		["away from its terminal", "(setsid sleep 8642 >/dev/null 2>&1 </dev/null &); sleep 0.2; exit 0"],
	])("what an ended session left running %s is ended by `daemon stop --sessions`", async (_, command) => {
		await line.run(["start", "--name", "rest", "--", "bash", "-c", command]);
		const { left } = (await line.json(["wait", "rest"])) as { left?: { pid: number; command: string }[] };
		const { pid } = left![0]!;
		expect((await line.run(["ls"])).out).toMatch(/^rest /m);
		expect((await line.run(["daemon", "stop", "--sessions"])).code).toBe(0);
		expect(isAlive({ pid, born: null })).toBe(false);
		expect((await line.run(["rm", "rest"])).code).toBe(0);
	});

	test("what `close` was told to keep is not ended by rm without --force", async () => {
		await line.run(["start", "--name", "kept", "--", "bash", "-c", 'trap "" HUP; sleep 8641 & echo up; cat']);
		const closed = await line.run(["call", "close", '{"session":"kept","keep":true}']);
		const { left } = JSON.parse(closed.out) as { left: { pid: number; command: string }[] };
		const { pid } = left.find(({ command }) => command === "sleep")!;
		expect((await line.run(["rm", "kept"])).code).toBe(6);
		expect(isAlive({ pid, born: null })).toBe(true);
		expect((await line.run(["rm", "-f", "kept"])).code).toBe(0);
		expect(isAlive({ pid, born: null })).toBe(false);
	});

	test("a command's exit code is ours, and its output is all that is printed", async () => {
		expect(await line.run(["run", "echo hello; (exit 7)"])).toMatchObject({ out: "hello\n", code: 7 });
		expect(await line.run(["run", "cd /usr && export DT=1"])).toMatchObject({ code: 0, out: "" });
		expect(await line.run(["run", "pwd; echo $DT"])).toMatchObject({ out: "/usr\n1\n" });
	});

	test("C4: all of a command's output is printed, however much, unless a maximum is asked for", async () => {
		const counted = (to: number) => Array.from({ length: to }, (_, at) => `${at + 1}\n`).join("");
		expect(await line.run(["run", "seq 1 5000"])).toEqual({ code: 0, out: counted(5000), err: "" });
		// More than one answer may hold.
		expect(await line.run(["run", "seq 1 150000; (exit 3)"])).toEqual({ code: 3, out: counted(150_000), err: "" });
		expect((await line.run(["run", "--max-tokens", "100", "seq 1 5000"])).out).toMatch(
			/^1\n[\s\S]*left out: dialtone read /,
		);
	});

	test("T11: what else there is to say of a command is said on stderr", async () => {
		await line.run(["run", "true"]);
		const { out, err } = await line.run(["run", "--env", "WORD=5", "echo [$WORD]"]);
		expect(out).toBe("[]\n");
		expect(err).toContain("`--env` had no effect");
		const left = await line.run(["run", "--shell", "left", "--on-timeout", "leave", "-t", "500ms", "sleep 600"]);
		expect(left).toMatchObject({ code: 124, err: expect.stringContaining("still running") });
		await line.run(["stop", "--force", "left"]);
	});

	test("C3: `run` exits as timeout(1) and a shell do", async () => {
		expect((await line.run(["run", "-t", "1s", "sleep 5"])).code).toBe(124);
		expect((await line.run(["run", "--shell", "victim", "kill -9 $BASHPID"])).code).toBe(137);
		expect((await line.run(["run", "exit 5"])).code).toBe(5);
	});

	test("C4: `start` without a command opens a shell, and `exec` runs in it", async () => {
		expect((await line.json(["new", "--name", "dev"])).waitingFor).toBe("command");
		expect((await line.run(["exec", "dev", "cd /usr && export HERE=dev"])).code).toBe(0);
		expect(await line.run(["exec", "dev", "pwd; echo $HERE; (exit 9)"])).toMatchObject({ out: "/usr\ndev\n", code: 9 });
		expect(await line.run(["exec", "nosuch", "true"])).toMatchObject({ code: 125, out: "" });
		expect((await line.run(["ls"])).out).not.toContain("nosuch");
		expect((await line.run(["stop", "de"])).code).toBe(0); // an abbreviation
	});

	test("text comes from stdin where it is asked to", async () => {
		await line.run(["start", "--name", "in", "cat"]);
		await line.run(["send", "in", "-", "--until", "two\ntwo"], "one\ntwo");
		expect((await line.run(["read", "in", "-v", "lines"])).out).toContain("one\ntwo");
	});

	test("T3: a cut names a command line, and that shows what is missing", async () => {
		/** The command lines in an answer, run by a shell; what they print, and what they say beside it. */
		const followed = (text: string) =>
			[...text.matchAll(/left out: (dialtone read .*?) …\]$/gm)].map(([, command]) => {
				const script = `dialtone() { '${process.execPath}' '${MAIN}' "$@"; }\n${command} --max-tokens 50000`;
				const { stdout, stderr } = spawnSync("sh", ["-c", script], { env: line.env, encoding: "utf8" });
				return { out: stdout, err: stderr };
			});
		await line.run(["start", "--name", "cut", "--", "seq", "-f", "it's -%.0f", "1", "5000"]);
		const [lines] = followed((await line.run(["read", "cut", "--view", "lines", "--lines", "5000"])).out);
		expect(lines?.out).toMatch(/^it's -1\n[\s\S]*\nlines 1–\d+ of 5000$/m);
		const found = await line.run(["read", "cut", "--search=-12", "--lines", "1", "--order", "oldest"]);
		expect(followed(found.out)[0]?.out).toMatch(/^120: it's -120$/m);
		const quoted = await line.run([
			"read",
			"cut",
			"--pattern",
			"it's -7$",
			"--lines",
			"1",
			"--context",
			"3",
			"--max-tokens",
			"50",
		]);
		expect(followed(quoted.out)[0]?.out).toMatch(/^it's -4\n[\s\S]*it's -10$/m);
		const raw = await line.run(["read", "cut", "--view", "raw", "--max-tokens", "50"]);
		expect(raw.out).toMatch(/it's -5000\r\n$/);
		expect(followed(raw.err)[0]?.out).toMatch(/^it's -1\r\n/);
		expect(await line.run(["read", "cut", "--view", "raw"])).toMatchObject({ err: "" });
	});

	test("nothing is coloured and nothing asked where there is no terminal", async () => {
		for (const args of [[], ["ls"], ["doctor"], ["demo", "--help"], ["tools"]])
			expect((await line.run(args)).out).not.toContain("\x1b");
	});
});

describe("output and events", () => {
	test("C4: logs --tail begins with the last lines, as with docker, also far from the end", async () => {
		await line.run(["start", "--name", "long", "--", "sh", "-c", "seq 1 30000; printf last"]);
		const tail = async (lines: number) => (await line.run(["logs", "long", "--tail", String(lines)])).out;
		expect(await tail(0)).toBe("");
		expect(await tail(1)).toBe("last");
		expect(await tail(3)).toBe("29999\r\n30000\r\nlast");
		expect((await tail(20_001)).slice(0, 14)).toBe("10001\r\n10002\r\n");
		expect((await tail(50_000)).slice(0, 6)).toBe("1\r\n2\r\n");
		expect((await line.run(["logs", "long", "--tail", "1", "--from", "0"])).code).toBe(2);
	});

	test("logs are the bytes, from the beginning or from an offset, and -f follows to the end", async () => {
		await line.run([
			"start",
			"--name",
			"log",
			"--until",
			"one",
			"--",
			"bash",
			"-c",
			"echo one; sleep 0.3; printf '\\033[31mtwo'",
		]);
		const { out, code } = await line.run(["logs", "-f", "log"]);
		expect(out).toBe("one\r\n\x1b[31mtwo");
		expect(code).toBe(0);
		expect((await line.run(["logs", "log", "--from", "5"])).out).toBe("\x1b[31mtwo");
	});

	test("a reader that has seen enough may leave", () => {
		const { status, stdout } = spawnSync(
			"bash",
			[
				"-c",
				`set -o pipefail; "$0" "$1" start --name flood 'seq 1 20000' >/dev/null; "$0" "$1" logs flood | head -1`,
				process.execPath,
				MAIN,
			],
			{ env: line.env, encoding: "utf8" },
		);
		expect(stdout).toBe("1\r\n");
		expect([0, 141]).toContain(status);
	});

	test("a log of 26 MB arrives whole, however slowly it is read, and the daemon is none the worse for it", async () => {
		await line.run(["start", "--name", "long", "--until", "never", "--only", "-t", "60s", "seq 1 3000000"]);
		const before = await line.json(["daemon", "status"]);
		const script = `for n in 1 2; do "$0" "$1" logs long | (sleep 0.5; md5sum); done; seq 1 3000000 | sed 's/$/\\r/' | md5sum`;
		const { stdout } = spawnSync("bash", ["-c", script, process.execPath, MAIN], { env: line.env, encoding: "utf8" });
		const sums = stdout.trim().split("\n");
		expect(new Set(sums).size, stdout).toBe(1);
		expect((await line.json(["daemon", "status"])).pid).toBe(before.pid);
	});

	test("events are one JSON object a line", async () => {
		const watcher = line.spawn(["events", "--json", "--after", "0"]);
		const seen: { event: string; name: string }[] = [];
		watcher.stdout.setEncoding("utf8").on("data", (text: string) => {
			for (const one of text.split("\n").filter(Boolean)) seen.push(JSON.parse(one));
		});
		await line.run(["start", "--name", "eventful", "true"]);
		await expect
			.poll(() => seen.filter(({ name }) => name === "eventful").map(({ event }) => event), { timeout: 10_000 })
			.toEqual(expect.arrayContaining(["started", "ended"]));
		watcher.kill("SIGINT");
	});

	test("a recording is exported for asciinema, scriptreplay, readers and the eye", async () => {
		await line.run([
			"start",
			"--name",
			"rec",
			"--",
			"bash",
			"-c",
			"echo -e '\\033[32mgreen\\033[0m'; sleep 0.05; echo done",
		]);
		const [head, ...events] = (await line.run(["export", "rec"])).out.trim().split("\n");
		expect(JSON.parse(head!)).toMatchObject({ version: 3, term: { type: "xterm-256color" } });
		expect(events.map((event) => JSON.parse(event)[2]).join("")).toContain("\x1b[32mgreen");
		expect(JSON.parse((await line.run(["export", "rec", "-f", "cast2"])).out.split("\n")[0]!)).toMatchObject({
			version: 2,
		});
		expect((await line.run(["export", "rec", "-f", "text"])).out).toBe("green\ndone\n");
		expect((await line.run(["export", "rec", "-f", "svg"])).out).toMatch(/^<svg[\s\S]*green/);
		const file = join(line.home, "typescript");
		expect((await line.run(["export", "rec", "-f", "script", "-o", file])).code).toBe(0);
		expect(readFileSync(`${file}.timing`, "utf8")).toMatch(/^O /m);
		expect((await line.run(["replay", "rec", "--speed", "100"])).out).toContain("\x1b[32mgreen");
	});
});

describe("the daemon and the installation", () => {
	test("S20: the daemon reports its status, leaves its sessions running, and finds them again", async () => {
		await line.run(["start", "--name", "lasting", "cat"]);
		const before = await line.json(["daemon", "status"]);
		expect(before).toMatchObject({ running: true, pid: expect.any(Number), version: expect.any(String) });
		expect((await line.run(["daemon", "stop"])).out).toContain("lasting");
		expect(await line.run(["daemon", "status"])).toMatchObject({ code: 7 });
		expect((await line.run(["send", "lasting", "still", "--until", "still"])).code).toBe(0);
		const restarted = await line.run(["daemon", "restart", "--json"]);
		expect(restarted).toMatchObject({ code: 0, err: "" });
		const after = JSON.parse(restarted.out);
		expect(after).toMatchObject({ running: true, pid: expect.any(Number) });
		expect(after.pid).not.toBe(before.pid);
	});

	test("a token is shown once, listed without itself, and revoked", async () => {
		const { out } = await line.run(["token", "create", "ci", "--read-only"]);
		expect(out).toMatch(/^dt_[\w-]{43}\n$/);
		const { out: listed } = await line.run(["token", "list"]);
		expect(listed).toContain("ci");
		expect(listed).not.toContain(out.trim());
		expect((await line.run(["token", "revoke", "ci"])).code).toBe(0);
		expect((await line.run(["token", "revoke", "ci"])).code).toBe(2);
	});

	test("C4: `mcp --help` prints a command that works where dialtone is not on the PATH", async () => {
		const { out } = await line.run(["mcp", "--help"]);
		const [, command] = /claude mcp add --scope user dialtone -- (.+) mcp\n/.exec(out)!;
		const { status, stdout } = spawnSync("sh", ["-c", `${command} version`], { env: line.env, encoding: "utf8" });
		expect(status).toBe(0);
		expect(stdout).toMatch(/^\d+\.\d+/);
	});

	test("the doctor finds this installation well", needing("bwrap"), async () => {
		const { ok, checks } = (await line.json(["doctor"])) as { ok: boolean; checks: { name: string; ok: unknown }[] };
		expect(checks.filter((check) => check.ok === false)).toEqual([]);
		expect(ok).toBe(true);
		expect(checks.find(({ name }) => name === "sandbox")).toMatchObject({
			ok: true,
			found: expect.stringMatching(/bwrap can confine programs$/),
		});
	});

	test.for(["bash", "zsh", "fish"])("completion for %s is a script that this shell takes", async (shell, context) => {
		skipWithout(context, ...named([shell]));
		const file = join(line.home, `completion.${shell}`);
		writeFileSync(file, (await line.run(["completion", shell])).out);
		const check = spawnSync(shell, ["-n", file], { encoding: "utf8" });
		expect(check.stderr).toBe("");
	});

	test("completing a session's name starts no daemon", async () => {
		const alone = new CommandLine();
		expect(await alone.run(["__complete", "--", "read", ""])).toEqual({ code: 0, out: "words\n", err: "" });
		expect((await alone.run(["daemon", "status"])).code).toBe(7);
		await alone[Symbol.asyncDispose]();
	});

	test("X1 a command of the daemon loads none of the libraries, so it starts about as fast as node does", async () => {
		await line.run(["ls"]); // so that the daemon runs
		const loaded = mkdtempSync(join(tmpdir(), "dt-loaded-"));
		try {
			const { status } = spawnSync(process.execPath, [MAIN, "daemon", "status"], {
				env: { ...line.env, NODE_V8_COVERAGE: loaded },
			});
			expect(status).toBe(0);
			const { result } = JSON.parse(readFileSync(join(loaded, readdirSync(loaded)[0]!), "utf8"));
			const files = (result as { url: string }[]).map(({ url }) => url);
			expect(files.filter((url) => url.includes("/dist/"))).not.toEqual([]);
			expect(files.filter((url) => url.includes("node_modules"))).toEqual([]);
		} finally {
			rmSync(loaded, { recursive: true });
		}
	});
});
