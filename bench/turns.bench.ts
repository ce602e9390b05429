// Turns per second by way in: the daemon's socket, HTTP and MCP on stdio, with 1, 10 and 50
// agents that each talk to a Python of their own.
//
// Read the ratios to the socket: rounds are interleaved, so that whatever else the machine
// does hits all alike.

import { spawn } from "node:child_process";
import { Agent, request } from "node:http";
import { createInterface } from "node:readline";
import { connected, MAIN, temporaryHome } from "./peers/dialtone.ts";

const AGENTS = [1, 10, 50] as const;
const PATIENCE_MS = 60_000;

type Call = (tool: string, input: object) => Promise<unknown>;

interface WayIn extends AsyncDisposable {
	readonly name: string;
	readonly call: Call;
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	await using at = await temporaryHome({ http: true });
	await using socket = await overSocket(at.home);
	await using http = overHttp(at.http!);
	await using mcp = await overMcpByHand(at.env);
	const waysIn = [socket, http, mcp];
	const seconds = quick ? 2 : 5;
	for (const agents of AGENTS) {
		const names = Array.from({ length: agents }, (_, n) => `python-${agents}-${n}`);
		await Promise.all(
			names.map((name) => socket.call("start", { name, argv: ["python3", "-q"], timeoutMs: PATIENCE_MS })),
		);
		const rates = new Map<string, number[]>();
		for (let round = 0; round < (quick ? 2 : 5); round++)
			for (const { name, call } of waysIn)
				rates.set(name, [...(rates.get(name) ?? []), await turnsPerSecond(call, names, seconds)]);
		const base = median(rates.get(socket.name)!);
		for (const [name, measured] of rates) {
			const rate = median(measured);
			console.log(
				`${String(agents).padStart(2)} agents  ${name.padEnd(20)} ${rate.toFixed(0).padStart(5)} turns/s  ${(rate / base).toFixed(2)}`,
			);
		}
		await Promise.all(names.map((session) => socket.call("close", { session, force: true, forget: true })));
	}
}

async function turnsPerSecond(call: Call, sessions: readonly string[], seconds: number): Promise<number> {
	const began = performance.now();
	const until = began + seconds * 1000;
	let turns = 0;
	await Promise.all(
		sessions.map(async (session) => {
			while (performance.now() < until) {
				await call("send", { session, text: "1", submit: true, timeoutMs: PATIENCE_MS });
				turns++;
			}
		}),
	);
	return (turns * 1000) / (performance.now() - began);
}

async function overSocket(home: string): Promise<WayIn> {
	const dialtone = await connected(home);
	return {
		name: "the daemon's socket",
		call: (tool, input) => dialtone.client.call(tool, input),
		[Symbol.asyncDispose]: () => dialtone[Symbol.asyncDispose](),
	};
}

function overHttp({ url, token }: { url: string; token: string }): WayIn {
	// node:http itself: what fetch costs on this side is not what is measured.
	const agent = new Agent({ keepAlive: true });
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
	return {
		name: "HTTP",
		call: (tool, input) =>
			new Promise((resolve, reject) => {
				const asked = request(`${url}/v1/tools/${tool}`, { method: "POST", agent, headers }, (answer) => {
					let body = "";
					answer.setEncoding("utf8").on("data", (text: string) => {
						body += text;
					});
					answer.on("end", () => (answer.statusCode === 200 ? resolve(JSON.parse(body)) : reject(new Error(body))));
				});
				asked.on("error", reject);
				asked.end(JSON.stringify(input));
			}),
		[Symbol.asyncDispose]: async () => agent.destroy(),
	};
}

/** Without the SDK's client, which would take more time than the server. */
async function overMcpByHand(env: Record<string, string>): Promise<WayIn> {
	const child = spawn(process.execPath, [MAIN, "mcp"], {
		env,
		stdio: ["pipe", "pipe", "inherit"],
	});
	const waiting = new Map<number, (message: { result?: unknown; error?: object }) => void>();
	createInterface({ input: child.stdout }).on("line", (line) => {
		const message = JSON.parse(line) as { id?: number; result?: unknown; error?: object };
		if (message.id !== undefined) waiting.get(message.id)?.(message);
		waiting.delete(message.id ?? -1);
	});
	let last = 0;
	const ask = (method: string, params: object) =>
		new Promise<unknown>((resolve, reject) => {
			const id = ++last;
			waiting.set(id, ({ result, error }) => (error ? reject(new Error(JSON.stringify(error))) : resolve(result)));
			child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
		});
	await ask("initialize", {
		protocolVersion: "2025-06-18",
		capabilities: {},
		clientInfo: { name: "bench", version: "1" },
	});
	child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
	return {
		name: "MCP on stdio",
		call: (name, input) => ask("tools/call", { name, arguments: input }),
		[Symbol.asyncDispose]: async () => {
			const closed = new Promise((resolve) => child.once("close", resolve));
			child.stdin.end();
			await closed;
		},
	};
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;
