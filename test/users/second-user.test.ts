// What another user of the machine can learn or change: nothing. Both users are real ones, made here; what is tried
// comes from what the first one has: its files, processes, sockets, ports and the declared routes.

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	chmodSync,
	chownSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openApi } from "../../src/http/openapi.ts";
import type { Places } from "../../src/pty/places.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { MAIN } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { User } from "./user.ts";

const SECRET = "sk-first-users-own-key";
const TYPED = "typed-into-the-session";
const options = needing("root", "python3");

let first: User;
let second: User;
/** Where the first user's Dialtone keeps things. */
let where: Pick<Places, "state" | "run">;
let env: Record<string, string>;

beforeEach(async ({ skip }) => {
	first = new User(tmpdir(), "first");
	second = new User(tmpdir(), "second");
	if (!first.canRead(MAIN)) skip("other users may not read this checkout");
	env = { MY_API_KEY: SECRET };
	await find();
});
afterEach(() => {
	first?.[Symbol.dispose]();
	second?.[Symbol.dispose]();
	rmSync(`/tmp/dialtone-${first?.uid}`, { recursive: true, force: true });
});

/** Asks the product, as the first user, where its files are. */
async function find(): Promise<void> {
	const script = `import { places } from ${JSON.stringify(join(dirname(MAIN), "pty/places.js"))};
		const { state, run } = places(process.env); console.log(JSON.stringify({ state, run }));`;
	where = JSON.parse((await first.run([process.execPath, "--input-type=module", "-e", script], { env })).out);
}

/** A home whose path is too long for a socket: the run directory is then in /tmp, where everyone may make things. */
async function useLongHome(): Promise<void> {
	env.DIALTONE_HOME = join(first.home, "a-long-name".repeat(8));
	await find();
	expect(where.run).toMatch(/^\/tmp\/dialtone-/);
}

const cli = (...args: string[]) => first.run([process.execPath, MAIN, ...args], { env });

describe("G1 G6 G8 a second user", () => {
	let server: ChildProcess;
	let token: string;
	let port: number;

	async function serve(): Promise<void> {
		let said = "";
		server = first.spawn([process.execPath, MAIN, "serve", "--foreground", "--port", "0"], env);
		server.stdout!.setEncoding("utf8").on("data", (text: string) => {
			said += text;
		});
		await until("it listens", () => said.includes("Ctrl+C"));
		token = /dt_[\w-]+/.exec(said)![0];
		port = Number(/127\.0\.0\.1:(\d+)/.exec(said)![1]);
		await cli("start", "--name", "theirs", "python3", "-q");
		await cli("send", "theirs", `x = "${TYPED}"`);
	}

	test.each(["at home", "in /tmp"])(
		"learns and changes nothing, whatever it tries (sockets %s)",
		options,
		async (at) => {
			if (at === "in /tmp") await useLongHome();
			await serve();
			const before = fingerprint();
			const files = [where.state, where.run].flatMap((root) => [root, ...tree(root)]);
			expect(files.length).toBeGreaterThan(8);
			const sockets = files.filter((path) => lstatSync(path).isSocket());
			expect(sockets.length).toBeGreaterThan(1);
			const processes = first.processes().map((pid) => ({ pid, secrets: [SECRET, TYPED, token] }));
			expect(processes.length).toBeGreaterThan(2);
			const plan = { files, sockets: [...sockets, ...abstractSockets()], processes, requests: requests() };
			const ran = await second.run([process.execPath, join(import.meta.dirname, "intruder.mjs")], {
				input: JSON.stringify(plan),
			});
			const { worked, answers } = JSON.parse(ran.out || `{"worked":[${JSON.stringify(ran.err)}],"answers":[]}`) as {
				worked: string[];
				answers: { request: string; status: number; received: string }[];
			};
			expect(worked).toEqual([]);
			expect(answers.length).toBe(plan.requests.length);
			expect(answers.filter(({ status }) => ![400, 401, 403, 404, 405, 429].includes(status))).toEqual([]);
			for (const { received } of answers)
				for (const word of ["theirs", TYPED, SECRET, token, first.home]) expect(received).not.toContain(word);
			expect(fingerprint()).toEqual(before);
			const { out } = await cli("send", "theirs", "x");
			expect(out).toContain(TYPED);
			expect((await cli("audit", "--verify")).code).toBe(0);
			expect(server.exitCode).toBeNull();
			for (const address of listeningPorts()) expect([`127.0.0.1:${port}`, `[::1]:${port}`]).toContain(address);
			await cli("daemon", "stop", "--sessions");
			await until("nothing of it runs any more", () => first.processes().length === 0);
		},
	);

	/** Every declared route and the MCP endpoint, as request and as upgrade, with no token and with wrong ones. */
	function requests(): readonly { port: number; request: string }[] {
		const { paths } = openApi(toolCards(TOOL_SETS), "0", "") as { paths: Record<string, Record<string, object>> };
		const routes = Object.entries(paths).filter(([path]) => path !== "/healthz");
		const tokens = ["", "Authorization: Bearer dt_wrong\r\n", "Authorization: Bearer \r\n", "Cookie: token=x\r\n"];
		const upgrade =
			"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
		const body = "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n";
		return [...routes, ["/mcp", { post: {}, get: {}, delete: {} }] as const].flatMap(([path, methods]) =>
			Object.keys(methods).flatMap((method) =>
				tokens.flatMap((line) => {
					const start = `${method.toUpperCase()} ${path.replace("{id}", "theirs")} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${line}`;
					const upgraded = method === "get" ? [{ port, request: `${start}${upgrade}\r\n` }] : [];
					return [{ port, request: `${start}${body}\r\n{}` }, ...upgraded];
				}),
			),
		);
	}

	/** Names, modes, owners and contents; what holders and the daemon append to is left out: the audit log is verified. */
	function fingerprint(): Readonly<Record<string, string>> {
		const appended = /daemon\.log$|\/timing$|\/turns$|\/out\.\d+$/;
		const files = [where.state, where.run].flatMap(tree).filter((path) => !/\/audit(?:\/|-head)/.test(path));
		return Object.fromEntries(
			files.map((path) => {
				const { mode, uid } = lstatSync(path);
				const content = lstatSync(path).isFile() && !appended.test(path) ? readFileSync(path) : "";
				return [path, `${mode.toString(8)} ${uid} ${createHash("sha256").update(content).digest("hex")}`];
			}),
		);
	}

	const inodes = () =>
		new Set(
			first.processes().flatMap((pid) =>
				readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
					try {
						return /^socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
					} catch {
						return []; // closed meanwhile
					}
				}),
			),
		);

	/** Where the first user's processes listen, over TCP. */
	function listeningPorts(): readonly string[] {
		const ours = inodes();
		return ["tcp", "tcp6"].flatMap((kind) =>
			readFileSync(`/proc/net/${kind}`, "utf8")
				.split("\n")
				.map((line) => line.trim().split(/\s+/))
				.filter((fields) => fields[3] === "0A" && ours.has(fields[9] ?? ""))
				.map(([, local = ""]) => {
					const [address = "", hex = ""] = local.split(":");
					const bytes = Buffer.from(address, "hex").reverse();
					const loopback6 = address === "00000000000000000000000001000000" ? "[::1]" : address;
					return `${kind === "tcp" ? bytes.join(".") : loopback6}:${Number.parseInt(hex, 16)}`;
				}),
		);
	}

	/** Sockets of the first user's processes in the namespace that has no permissions. */
	function abstractSockets(): readonly string[] {
		const ours = inodes();
		return readFileSync("/proc/net/unix", "utf8")
			.split("\n")
			.map((line) => line.trim().split(/\s+/))
			.filter((fields) => fields[7]?.startsWith("@") && ours.has(fields[6] ?? ""))
			.map((fields) => `\0${fields[7]!.slice(1)}`);
	}
});

function tree(root: string): string[] {
	return readdirSync(root, { recursive: true, encoding: "utf8" })
		.map((name) => join(root, name))
		.sort();
}

describe("G1 G8 what a second user has planted before the first start is refused, and told nothing", () => {
	/** Makes a directory as that user. */
	const directory = (owner: User, path: string, mode: number) => {
		mkdirSync(path, { recursive: true });
		chownSync(path, owner.uid, owner.uid);
		chmodSync(path, mode);
	};
	const fileOf = (owner: User, path: string, content: string) => {
		writeFileSync(path, content);
		chownSync(path, owner.uid, owner.uid);
	};

	/** The first directory in /tmp on the way to the run directory. */
	const planted = () => dirname(where.run);
	const PLANTS: Readonly<Record<string, () => void>> = {
		"a run directory": () => directory(second, planted(), 0o777),
		"a run directory that looks private": () => directory(second, planted(), 0o700),
		"a link to its own run directory": () => {
			directory(second, join(second.home, "run"), 0o777);
			symlinkSync(join(second.home, "run"), planted());
		},
		"a file instead of the run directory": () => fileOf(second, planted(), "x"),
		"a lock and a socket of its own in a run directory that everyone may write": () => {
			directory(first, planted(), 0o777);
			directory(first, where.run, 0o777);
		},
		"a lock and a socket of its own in its run directory": () => {
			directory(second, planted(), 0o755);
			directory(second, where.run, 0o755);
		},
		"a token in a state directory that everyone may write": () => {
			directory(first, where.state, 0o777);
			const hash = createHash("sha256").update("dt_planted").digest("hex");
			const record = { id: "1", name: "x", hash, readOnly: false, createdAt: 0 };
			fileOf(second, join(where.state, "tokens.json"), JSON.stringify([record]));
		},
		"a link to its own state directory": () => {
			directory(second, join(second.home, "state"), 0o777);
			directory(first, dirname(where.state), 0o777);
			symlinkSync(join(second.home, "state"), where.state);
		},
	};

	test.each(Object.keys(PLANTS))("%s", options, async (name) => {
		await useLongHome();
		PLANTS[name]!();
		const fake = name.includes("socket") ? await fakeDaemon() : null;
		const ran = await cli("start", "--name", "mine", "cat");
		expect(fake?.received() ?? "").toBe("");
		expect({ code: ran.code, err: ran.err }).not.toMatchObject({ code: 0 });
		expect(ran.code, "it must not hang").not.toBeNull();
		expect(ran.err).toMatch(/\w+ \w+/);
		expect(ran.err).not.toMatch(/Dialtone failed|at .*\.js:\d+/);
		await until("no process stays behind", () => first.processes().length === 0);
	});

	/** A process that plays the daemon: a lock with the highest number, naming its socket. */
	async function fakeDaemon(): Promise<{ received: () => string }> {
		const path = join(where.run, "d99.sock");
		const sleeper = spawn("setpriv", [
			"--reuid",
			String(second.uid),
			"--regid",
			String(second.uid),
			"--clear-groups",
			"sleep",
			"60",
		]);
		let received = "";
		const server = createServer((socket) => {
			socket.on("error", () => {});
			socket.on("data", (chunk) => {
				received += chunk.toString("latin1");
				const { id } = JSON.parse(chunk.toString("utf8").split("\n")[0]!) as { id: number };
				socket.write(`${JSON.stringify({ id, done: { hello: { version: "0.1.0", pid: sleeper.pid } } })}\n`);
			});
		});
		await new Promise<void>((resolve) => server.listen(path, resolve));
		chmodSync(path, 0o777);
		chownSync(path, second.uid, second.uid);
		const stat = readFileSync(`/proc/${sleeper.pid}/stat`, "utf8");
		const born = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
		const lock = { epoch: 99, pid: sleeper.pid, born, socket: path, version: "0.1.0" };
		fileOf(second, join(where.run, "daemon.99"), JSON.stringify(lock));
		chmodSync(join(where.run, "daemon.99"), 0o644);
		onTestFinished(async () => {
			sleeper.kill("SIGKILL");
			await Promise.all([once(sleeper, "close"), new Promise((resolve) => server.close(resolve))]);
		});
		return { received: () => received };
	}
});
