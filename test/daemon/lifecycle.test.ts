// Daemons that are stopped, replaced, upgraded, fenced or stuck: one remains, the right one, and callers go on.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { newestLock } from "../../src/daemon/daemon-lock.ts";
import { becomeDaemon } from "../../src/daemon/run.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { readSecret } from "../../src/pty/owner-secret.ts";
import { VERSION } from "../../src/version.ts";
import { gone } from "../alive.ts";
import { anyCaller } from "../any-caller.ts";
import { until } from "../condition.ts";
import { FakeClient } from "../fake-client.ts";
import { Home, MAIN } from "./home.ts";

const patient = { timeoutMs: 60_000 };
const root = join(import.meta.dirname, "../..");

const status = async (home: Home) => JSON.parse((await home.cli("daemon", "status", "--json")).stdout);

/** The built library, which finds its daemon's program beside itself, over this home's daemon. */
const library = async (home: Home) => {
	const { Dialtone } = (await import(join(root, "dist/index.js"))) as typeof import("../../src/index.ts");
	return Dialtone.connect({ home: home.path });
};

/** `dialtone serve --foreground`, once it has printed its address. */
async function serving(home: Home, ...args: string[]) {
	const child = spawn(process.execPath, [MAIN, "serve", "--foreground", ...args], {
		env: home.env,
		stdio: ["ignore", "pipe", "pipe"],
	});
	let said = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		said += text;
	});
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		said += text;
	});
	const url = await until("it says where it listens", () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? null);
	const stop = async () => {
		child.kill("SIGINT");
		if (child.exitCode === null && child.signalCode === null) await once(child, "close");
		return { said, code: child.exitCode };
	};
	return { url, stop, child };
}

/** Whether a Dialtone answers there. */
const answers = (url: string) =>
	fetch(`${url}/v1/sessions`).then(
		({ status: code }) => code === 401,
		() => false,
	);

describe("S10 stopping always ends", () => {
	test("although ending the sessions fails and detaching hangs; what failed is logged", async () => {
		const run = mkdtempSync(join(tmpdir(), "dt-run-"));
		const problems: string[] = [];
		const daemon = await becomeDaemon({
			run,
			state: run,
			version: "1.0.0",
			idleMs: 0,
			log: { info: () => {}, error: (_facts, message) => problems.push(message) },
			open: async () => ({
				client: new FakeClient(),
				callers: anyCaller,
				limits: { connections: 100, callsPerConnection: 10 },
				runningSessions: () => 1,
				onSessions: () => () => {},
				endAll: () => Promise.reject(new Error("no")),
				close: () => new Promise(() => {}),
			}),
		});
		await daemon!.stop({ sessions: true });
		await daemon!.stop({ sessions: true });
		expect(problems).toEqual(["ending the sessions", "detaching from the sessions"]);
		expect(newestLock(run)).toBe(null);
		rmSync(run, { recursive: true });
	});

	test("also for a daemon that is stopped by a signal: it is killed, and its sessions keep running", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await client.call("start", { name: "cat", argv: ["cat"], ...patient });
		const { pid } = await client.status();
		process.kill(pid, "SIGSTOP");
		const { code, stdout } = await home.cli("daemon", "restart", "--json");
		expect(code).toBe(0);
		expect(JSON.parse(stdout)).toMatchObject({ running: true, sessions: 1 });
		await gone(pid);
	});
});

describe("S19 S20 HTTP", () => {
	test("serve joins a running daemon: no call fails, and Ctrl+C closes what it opened and nothing else", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid } = await client.status();
		await client.call("start", { name: "cat", argv: ["cat"], ...patient });
		const waiting = client.call("wait", { session: "cat", until: { text: "now", only: true }, ...patient });
		const serve = await serving(home, "--port", "0");
		expect(await answers(serve.url)).toBe(true);
		expect(await status(home)).toMatchObject({ pid, http: serve.url });
		await client.call("send", { session: "cat", text: "now", submit: true, ...patient });
		expect((await waiting).facts).toMatchObject({ returned: "matched" });
		// A second one joins the first; one that insists on another port is told where it is.
		const second = await serving(home);
		expect(second.url).toBe(serve.url);
		await second.stop();
		expect(await answers(serve.url)).toBe(true);
		const other = await home.cli("serve", "--json", "--port", "1");
		expect(JSON.parse(other.stdout)).toMatchObject({ fault: "http_open", message: expect.stringContaining(serve.url) });
		expect(await serve.stop()).toMatchObject({ code: 0, said: expect.stringContaining("keep running: cat") });
		await until("HTTP is closed", async () => !(await answers(serve.url)));
		expect(await status(home)).toMatchObject({ pid, http: null });
	});

	test("stays on its port when the daemon is restarted or killed", async () => {
		await using home = new Home();
		const serve = await serving(home, "--port", "0");
		const { pid: first } = await status(home);
		const restarted = await home.cli("daemon", "restart", "--json");
		expect(restarted.code).toBe(0);
		const second = JSON.parse(restarted.stdout);
		expect(second).toMatchObject({ running: true, http: serve.url });
		expect(second.pid).toBeGreaterThan(0);
		expect(second.pid).not.toBe(first);
		expect(await answers(serve.url)).toBe(true);
		process.kill(second.pid, "SIGKILL");
		await until("serve has joined the next daemon", () => answers(serve.url));
		await home.cli("daemon", "stop");
		await until("serve has ended", () => serve.child.exitCode === 0);
	});

	test("opened in the background it stays until the daemon stops, over a restart too", async () => {
		await using home = new Home();
		const { stdout } = await home.cli("serve", "--port", "0");
		const url = /http:\S+/.exec(stdout)![0];
		expect(await answers(url)).toBe(true);
		expect((await home.cli("daemon", "restart")).stdout).toContain(url);
		expect(await answers(url)).toBe(true);
	});

	test("opened in the background it is there again when the daemon was killed and the next is started", async () => {
		await using home = new Home();
		const url = /http:\S+/.exec((await home.cli("serve", "--port", "0")).stdout)![0];
		const { pid } = await status(home);
		process.kill(pid, "SIGKILL");
		await gone(pid);
		await home.cli("ls");
		expect(await answers(url)).toBe(true);
		expect(await status(home)).toMatchObject({ http: url });
		// Stopped in order, it stays closed.
		await home.cli("daemon", "stop");
		await home.cli("ls");
		expect(await status(home)).toMatchObject({ http: null });
	});
});

describe("a daemon that is replaced", () => {
	test("S19: pending calls end in words that a model can use", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await client.call("start", { name: "cat", argv: ["cat"], ...patient });
		const waiting = client.call("wait", { session: "cat", until: { text: "never", only: true }, ...patient });
		const running = client.call("run", { command: "sleep 60", ...patient });
		const both = Promise.allSettled([waiting, running]);
		await until("it runs", async () => (await client.status()).sessions === 2);
		await home.cli("daemon", "restart");
		const [wait, run] = (await both) as PromiseRejectedResult[];
		expect(wait!.reason).toMatchObject({ code: "daemon_replaced", next: expect.stringContaining("retry") });
		expect(run!.reason).toMatchObject({ code: "daemon_replaced", next: expect.stringContaining("call `wait`") });
	});

	test("S19: the library's waits, streams and writes go on, each write typed once", async () => {
		await using home = new Home();
		await using dialtone = await library(home);
		const cat = await dialtone.start({ name: "cat", command: "stty -echo; cat", ...patient });
		let seen = "";
		const over = new AbortController();
		const reading = (async () => {
			for await (const chunk of cat.output({ from: cat.facts.offset, signal: over.signal })) {
				if ("bytes" in chunk) seen += Buffer.from(chunk.bytes).toString();
			}
		})();
		const waiting = cat.wait({ until: { text: "line 40", only: true }, ...patient });
		const killing = (async () => {
			for (let kill = 0; kill < 3; kill++) {
				await until("some lines are there", () => seen.includes(`line ${10 * kill + 5}`));
				process.kill((await dialtone.client.status()).pid, "SIGKILL");
			}
		})();
		for (let line = 1; line <= 40; line++) await cat.send({ text: `line ${line}`, submit: true, ...patient });
		await killing;
		expect((await waiting).returned).toBe("matched");
		await until("all is read", () => seen.includes("line 40"));
		expect(seen.split("\r\n").filter(Boolean)).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index + 1}`));
		over.abort();
		await reading;
	});

	test("S19: a wait over MCP goes on", async () => {
		await using home = new Home();
		const mcp = new McpClient({ name: "test", version: "1" });
		const env = home.env as Record<string, string>;
		await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env }));
		await mcp.callTool({ name: "start", arguments: { name: "cat", argv: ["cat"] } });
		const input = { session: "cat", until: { text: "done", only: true }, timeoutMs: 60_000 };
		const waiting = mcp.callTool({ name: "wait", arguments: input });
		await home.cli("daemon", "restart");
		await home.cli("send", "cat", "done");
		expect(await waiting).toMatchObject({ content: [{ text: expect.stringContaining("matched") }] });
		await mcp.close();
	});

	test("S24: is gone within a second, whether a holder or a newer lock says so", async () => {
		for (const how of ["holder", "lock"]) {
			await using home = new Home();
			await using client = await home.connect();
			const { facts } = await client.call("start", { name: "cat", argv: ["cat"], ...patient });
			const { pid, socket } = await client.status();
			const run = join(home.path, "run");
			const { epoch } = newestLock(run)!;
			const waiting = client.call("wait", { session: "cat", until: { text: "never", only: true }, ...patient });
			const ended = expect(waiting).rejects.toMatchObject({
				code: expect.stringMatching(/daemon_replaced|taken_over/),
			});
			const directory = join(home.path, "sessions", facts.session);
			const next = new HolderPty({
				directory,
				socketPath: join(run, `${facts.session}.sock`),
				epoch: BigInt(epoch + 1),
				secret: await readSecret(directory),
				from: "end",
			});
			if (how === "holder") await next.connect();
			else {
				const lock = { epoch: epoch + 1, pid: process.pid, born: null, socket, version: VERSION };
				writeFileSync(join(run, `daemon.${epoch + 1}`), JSON.stringify(lock), { mode: 0o600 });
			}
			await gone(pid);
			await ended;
			await next[Symbol.asyncDispose]();
			rmSync(join(run, `daemon.${epoch + 1}`), { force: true });
			// The holder was promised a newer daemon than the next one would be.
			writeFileSync(join(run, "epoch"), String(epoch + 1));
		}
	});

	test("S24: by a newer version, on its first call; an older one replaces nothing, and HTTP stays", async () => {
		const newer = mkdtempSync(join(tmpdir(), "dt-newer-"));
		cpSync(join(root, "dist"), join(newer, "dist"), { recursive: true });
		for (const name of ["node_modules", "build", "shell"]) symlinkSync(join(root, name), join(newer, name));
		const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
		mkdirSync(newer, { recursive: true });
		writeFileSync(join(newer, "package.json"), JSON.stringify({ ...manifest, version: "99.1.0" }));
		{
			await using home = new Home();
			const url = /http:\S+/.exec((await home.cli("serve", "--port", "0")).stdout)![0];
			const before = await status(home);
			await home.cli("start", "--name", "cat", "cat");
			const child = spawn(process.execPath, [join(newer, "dist/main.js"), "send", "cat", "hello"], {
				env: home.env,
				stdio: "ignore",
			});
			expect((await once(child, "close"))[0]).toBe(0);
			const after = await status(home);
			expect(after).toMatchObject({ version: "99.1.0", sessions: 1, http: url });
			await gone(before.pid);
			const refused = await home.cli("ls", "--json");
			expect(JSON.parse(refused.stdout)).toMatchObject({ fault: "version_mismatch" });
			expect((await status(home)).pid).toBe(after.pid);
			await home.cli("daemon", "stop", "--sessions");
		}
		rmSync(newer, { recursive: true });
	});
});
