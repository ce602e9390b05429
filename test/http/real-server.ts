// `dialtone serve` as a process with a home of its own, and the clients that mistreat it:
// raw sockets that reset, stay silent, or never read.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../condition.ts";

/** Another build can be put to the same tests. */
const MAIN = process.env.DIALTONE_TEST_MAIN ?? join(import.meta.dirname, "../../dist/main.js");

export class RealServer implements AsyncDisposable {
	readonly home: string;
	readonly env: NodeJS.ProcessEnv;
	readonly #process: ChildProcess;
	/** The daemon's process, whether or not that is the command itself. */
	pid = 0;
	url = "";
	/** May do everything. */
	token = "";

	private constructor({ descriptors, env }: { descriptors?: number; env?: NodeJS.ProcessEnv }) {
		this.home = mkdtempSync(join(tmpdir(), "dt-"));
		this.env = { ...process.env, ...env, DIALTONE_HOME: this.home };
		const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors};`;
		const script = `${limit} exec "$0" "$@"`;
		const command = [process.execPath, MAIN, "serve", "--foreground", "--port", "0"];
		this.#process = spawn("bash", ["-c", script, ...command], { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
	}

	static async start(options: { descriptors?: number; env?: NodeJS.ProcessEnv } = {}): Promise<RealServer> {
		const server = new RealServer(options);
		try {
			await server.#ready();
			return server;
		} catch (error) {
			await server[Symbol.asyncDispose]();
			throw error;
		}
	}

	async #ready(): Promise<void> {
		let said = "";
		for (const stream of [this.#process.stdout!, this.#process.stderr!])
			stream.setEncoding("utf8").on("data", (text: string) => {
				said += text;
			});
		const hasStarted = () => /dt_[\w-]+/.exec(said) ?? this.#process.exitCode !== null;
		await until("the server has started", hasStarted);
		this.url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? said;
		this.token = /dt_[\w-]+/.exec(said)?.[0] ?? "";
		this.pid = JSON.parse((await this.cli("daemon", "status", "--json")).out).pid;
	}

	get port(): number {
		return Number(new URL(this.url).port);
	}

	get isRunning(): boolean {
		return existsSync(`/proc/${this.pid}/fd/0`);
	}

	/** Resident memory in bytes. */
	get residentBytes(): number {
		return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))![1]) * 1024;
	}

	/** Processor time of its main thread so far: what a busy machine does not change. */
	get ranMs(): number {
		return Number.parseInt(readFileSync(`/proc/${this.pid}/task/${this.pid}/schedstat`, "utf8"), 10) / 1e6;
	}

	/** Its open TCP connections and other sockets. */
	get descriptors(): number {
		return readdirSync(`/proc/${this.pid}/fd`).length;
	}

	get log(): string {
		return readFileSync(join(this.home, "daemon.log"), "utf8");
	}

	get tokensFile(): string {
		return join(this.home, "tokens.json");
	}

	/** A connection from the beginning; errors are expected of it. */
	async connect({ allowHalfOpen = false } = {}): Promise<Socket> {
		const socket = connect({ port: this.port, host: "127.0.0.1", allowHalfOpen });
		socket.on("error", () => {}); // what a test does with it is meant to break it
		await Promise.race([once(socket, "connect"), once(socket, "close")]);
		return socket;
	}

	get(path: string, { token = this.token, ...init }: RequestInit & { token?: string } = {}): Promise<Response> {
		return fetch(`${this.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
	}

	post(path: string, body: unknown, { token = this.token, headers = {} } = {}): Promise<Response> {
		return this.get(path, {
			token,
			method: "POST",
			headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
			body: typeof body === "string" ? body : JSON.stringify(body),
		});
	}

	/** Whether it answers an honest client with a token in time. */
	async serves(withinMs = 20_000): Promise<boolean> {
		const answer = await this.get("/v1/sessions", { signal: AbortSignal.timeout(withinMs) });
		return answer.ok && this.isRunning;
	}

	/** The command line on the same home. */
	async cli(...args: string[]): Promise<{ code: number | null; out: string }> {
		const child = spawn(process.execPath, [MAIN, ...args], { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
		let out = "";
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text: string) => {
				out += text;
			});
		const [code] = (await once(child, "close")) as [number | null];
		return { code, out };
	}

	async createToken(name: string, ...flags: string[]): Promise<{ id: string; token: string }> {
		return JSON.parse((await this.cli("token", "create", name, ...flags, "--json")).out);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.pid === 0 || this.isRunning) await this.cli("daemon", "stop", "--sessions");
		if (this.#process.exitCode === null && this.#process.signalCode === null) {
			this.#process.kill("SIGKILL");
			await once(this.#process, "exit");
		}
		rmSync(this.home, { recursive: true, force: true });
	}
}

export const upgradeRequest = (port: number, path: string, ...headers: string[]) =>
	[
		`GET ${path} HTTP/1.1`,
		`Host: 127.0.0.1:${port}`,
		"Connection: Upgrade",
		"Upgrade: websocket",
		"Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
		...headers,
		"\r\n",
	].join("\r\n");
