// Every way in, opened on a home of its own and reduced to one function: call a tool.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Dialtone } from "../../src/index.ts";
import { Fault, type FaultJson } from "../../src/protocol/fault.ts";
import { type Client as DialtoneClient, TOOL_SETS } from "../../src/tools/client.ts";
import { type Given, Refused, RefusedInShape } from "./turn.ts";

export interface Surface {
	/** Refusals are thrown as `Refused`, or `RefusedInShape` where a tool set has a shape for them. */
	call(tool: string, input: unknown, signal?: AbortSignal): Promise<Given>;
	close(): Promise<void>;
}

const MAIN = join(import.meta.dirname, "../../dist/main.js");

const MCP = [MAIN, "mcp", "--tools", TOOL_SETS.join(",")];

type Env = Record<string, string>;

export interface TestHome {
	readonly env: Env;
	readonly path: string;
	/** Where its loopback is not the test's: has a port of it answer here, too, until what it returns is called. */
	readonly openPort?: (port: number) => Promise<() => Promise<void>>;
}

/** With this policy.json, if one is given. */
export function home(policy?: object): TestHome {
	const path = mkdtempSync(join(tmpdir(), "dt-"));
	if (policy !== undefined) writeFileSync(join(path, "policy.json"), JSON.stringify(policy), { mode: 0o600 });
	const env = Object.fromEntries(Object.entries(process.env).filter((pair): pair is [string, string] => !!pair[1]));
	return { path, env: { ...env, DIALTONE_HOME: path } };
}

/** Runs our own command line to its end. */
export async function dialtone(
	args: readonly string[],
	env: Env,
	signal?: AbortSignal,
): Promise<{ code: number | null; out: string }> {
	const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
	const stop = () => child.kill("SIGINT");
	signal?.addEventListener("abort", stop);
	let out = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		out += text;
	});
	const [code] = (await once(child, "close")) as [number | null];
	signal?.removeEventListener("abort", stop);
	signal?.throwIfAborted();
	return { code, out };
}

export async function endEverything({ env, path }: TestHome): Promise<void> {
	await dialtone(["daemon", "stop", "--sessions"], env);
	rmSync(path, { recursive: true, force: true });
}

/** Facts of a result, unless they are those of a refusal: `{error: {code}}` in the set of R2, `{error, code}` in that of R4. */
function given(facts: object): Given {
	const { error, code } = facts as { error?: { code?: string }; code?: string };
	if (error === undefined) return { facts };
	throw new RefusedInShape(error.code ?? code ?? "none", facts);
}

const overClient = (client: DialtoneClient, close: () => Promise<void>): Surface => ({
	call: async (tool, input, signal) => {
		const answer = await client.call(tool, input, signal ? { signal } : {}).catch((error: unknown) => {
			throw error instanceof Fault ? new Refused(error.toJSON()) : error;
		});
		if (answer.refused !== undefined) throw new RefusedInShape(answer.refused, answer.facts);
		return { facts: answer.facts };
	},
	close,
});

async function inProcess(policy?: object): Promise<Surface> {
	if (policy === undefined) {
		const dialtone = await Dialtone.open();
		return overClient(dialtone.client, () => dialtone[Symbol.asyncDispose]());
	}
	const at = home(policy);
	const dialtone = await Dialtone.open({ home: at.path });
	return overClient(dialtone.client, async () => {
		await dialtone[Symbol.asyncDispose]();
		await endEverything(at);
	});
}

async function daemonSocket(at: TestHome): Promise<Surface> {
	const { reachDaemon } = await import("../../src/daemon/reach.ts");
	const { places } = await import("../../src/pty/places.ts");
	const { VERSION } = await import("../../src/version.ts");
	const client = await reachDaemon({
		run: places(at.env).run,
		version: VERSION,
		caller: { owner: "test", cwd: process.cwd(), env: at.env },
		command: [process.execPath, join(MAIN, "../daemon.cjs")],
		env: at.env,
	});
	return overClient(client, async () => {
		await client[Symbol.asyncDispose]();
		await endEverything(at);
	});
}

async function commandLine(at: TestHome): Promise<Surface> {
	return {
		call: async (tool, input, signal) => {
			const { code, out } = await dialtone(["call", tool, JSON.stringify(input)], at.env, signal);
			const facts = JSON.parse(out) as object & Partial<FaultJson>;
			if (facts.fault === undefined) return given(facts);
			if (code === 0) throw new Error("a fault left with exit code 0");
			throw new Refused(facts as FaultJson);
		},
		close: () => endEverything(at),
	};
}

/** `npm start` on a free port, and what it printed. */
export async function served(at: TestHome): Promise<{ url: string; token: string; close(): Promise<void> }> {
	const child = spawn(process.execPath, [MAIN, "serve", "--foreground", "--port", "0"], {
		env: at.env,
		stdio: ["ignore", "pipe", "inherit"],
	});
	let said = "";
	for await (const text of child.stdout.setEncoding("utf8")) {
		said += text;
		if (said.includes("Ctrl+C")) break;
	}
	const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0];
	const token = /dt_[\w-]+/.exec(said)![0];
	const closePort = await at.openPort?.(Number(new URL(url).port));
	const close = async () => {
		await closePort?.();
		await dialtone(["daemon", "stop", "--sessions"], at.env);
		if (child.exitCode === null) await once(child, "close");
		rmSync(at.path, { recursive: true, force: true });
	};
	return { url, token, close };
}

async function http(at: TestHome): Promise<Surface> {
	const { url, token, close } = await served(at);
	return {
		call: async (tool, input, signal) => {
			const answer = await fetch(`${url}/v1/tools/${tool}`, {
				method: "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
				body: JSON.stringify(input),
				...(signal && { signal }),
			});
			const facts = (await answer.json()) as object & Partial<FaultJson>;
			if (answer.ok) return given(facts);
			throw new Refused(facts as FaultJson);
		},
		close,
	};
}

const client = (era: Era) =>
	new Client(
		{ name: "contract", version: "1" },
		{ versionNegotiation: { mode: era === "2025" ? "legacy" : { pin: "2026-07-28" } } },
	);

type Era = "2025" | "2026";

function overMcp(mcp: Client, close: () => Promise<void>): Surface {
	return {
		call: async (name, input, signal) => {
			const params = { name, arguments: input as Record<string, unknown> };
			const result = await mcp.callTool(params, signal ? { signal } : {}).catch((error: unknown) => {
				signal?.throwIfAborted();
				throw protocolRefusal(error as ErrorMessage);
			});
			return mcpGiven(result as ToolResult);
		},
		close: async () => {
			await mcp.close();
			await close();
		},
	};
}

interface ToolResult {
	readonly content: readonly { readonly type: string; readonly text?: string }[];
	readonly isError?: boolean;
	readonly structuredContent?: unknown;
	readonly _meta?: Readonly<Record<string, unknown>>;
}

interface ErrorMessage {
	readonly message: string;
	readonly data?: unknown;
}

function mcpGiven({ content, isError, structuredContent, _meta }: ToolResult): Given {
	if (structuredContent !== undefined) throw new Error("a host would show the model this instead of the text");
	const [only] = content;
	if (content.length !== 1 || only?.type !== "text") throw new Error("an answer is one piece of text");
	if (!isError) return { text: only.text! };
	const fault = _meta?.["dialtone/fault"] as Pick<FaultJson, "fault"> & Partial<FaultJson>;
	if (fault.message === undefined) throw new RefusedInShape(fault.fault, JSON.parse(only.text!) as object);
	throw told(fault as FaultJson, only.text!);
}

/** Only an unknown tool is one. */
function protocolRefusal({ message, data }: ErrorMessage): Error {
	return told(data as FaultJson, message);
}

/** What programs find beside the text is what the model reads in it, the code included. */
function told(fault: FaultJson, text: string): Refused {
	const words = `${fault.fault}: ${fault.message} ${fault.next}`;
	if (!text.endsWith(words)) throw new Error(`the model is told ${JSON.stringify(text)}, not ${JSON.stringify(words)}`);
	return new Refused(fault);
}

const mcpStdio =
	(era: Era) =>
	async (at: TestHome): Promise<Surface> => {
		const mcp = client(era);
		await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [...MCP], env: at.env }));
		return overMcp(mcp, () => endEverything(at));
	};

const mcpHttp =
	(era: Era) =>
	async (at: TestHome): Promise<Surface> => {
		const { url, token, close } = await served(at);
		const mcp = client(era);
		const requestInit = { headers: { authorization: `Bearer ${token}` } };
		await mcp.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
		return overMcp(mcp, close);
	};

/** The handshake of 2025-06-18 written by hand, as Codex speaks it: no SDK on this side to be kind to us. */
async function mcpByHand(at: TestHome): Promise<Surface> {
	const child: ChildProcess = spawn(process.execPath, [...MCP], {
		env: at.env,
		stdio: ["pipe", "pipe", "inherit"],
	});
	const waiting = new Map<number, (message: { result?: unknown; error?: ErrorMessage }) => void>();
	createInterface({ input: child.stdout! }).on("line", (line) => {
		const message = JSON.parse(line) as { id?: number };
		if (message.id !== undefined) waiting.get(message.id)?.(message as object);
	});
	let last = 0;
	const write = (message: object) => child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	const ask = (method: string, params: object, signal?: AbortSignal) =>
		new Promise<unknown>((resolve, reject) => {
			const id = ++last;
			waiting.set(id, ({ result, error }) => (error ? reject(protocolRefusal(error)) : resolve(result)));
			write({ id, method, params });
			signal?.addEventListener("abort", () => {
				write({ method: "notifications/cancelled", params: { requestId: id, reason: "test" } });
				reject(signal.reason);
			});
		});
	const hello = (await ask("initialize", {
		protocolVersion: "2025-06-18",
		capabilities: {},
		clientInfo: { name: "by-hand", version: "1" },
	})) as { protocolVersion: string };
	if (hello.protocolVersion !== "2025-06-18") throw new Error(`it wants to speak ${hello.protocolVersion}`);
	write({ method: "notifications/initialized" });
	return {
		call: async (name, input, signal) =>
			mcpGiven((await ask("tools/call", { name, arguments: input }, signal)) as ToolResult),
		close: async () => {
			const ended = once(child, "close");
			child.stdin!.end();
			const [code] = await ended;
			if (code !== 0) throw new Error(`the server left with ${code} when its stdin was closed`);
			await endEverything(at);
		},
	};
}

/** MCP over HTTP has the native tools only. */
export const WITHOUT_DIALECTS: ReadonlySet<string> = new Set(["MCP over HTTP, 2026-07-28", "MCP over HTTP, 2025"]);

/** Each opens on a home, which it ends with everything in it. */
export const WAYS = {
	"the daemon's socket": daemonSocket,
	"the command line": commandLine,
	HTTP: http,
	"MCP on stdio, 2026-07-28": mcpStdio("2026"),
	"MCP on stdio, the client's handshake of 2025": mcpStdio("2025"),
	"MCP on stdio, 2025-06-18 by hand": mcpByHand,
	"MCP over HTTP, 2026-07-28": mcpHttp("2026"),
	"MCP over HTTP, 2025": mcpHttp("2025"),
} as const satisfies Readonly<Record<string, (at: TestHome) => Promise<Surface>>>;

export type Way = keyof typeof WAYS;

/** Each with a policy.json in its home, if one is given. */
export const SURFACES: Readonly<Record<string, (policy?: object) => Promise<Surface>>> = {
	"in this process": inProcess,
	...Object.fromEntries(Object.entries(WAYS).map(([way, open]) => [way, (policy?: object) => open(home(policy))])),
};
