// Where network cases are played: a daemon with honest conversations beside the hostile connections, and what
// must hold after each batch of them.

import { spawn } from "node:child_process";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { until } from "../condition.ts";
import { MAIN } from "../daemon/home.ts";
import { Conversation } from "../robustness/conversation.ts";
import { Stage, type Usage, within } from "../robustness/stage.ts";
import { type Address, type Connection, play } from "./connection.ts";
import { FIRST, type StdioCase } from "./mcp.ts";
import { VICTIM } from "./tool-calls.ts";

const AT_ONCE = 12;
const ANSWER_MS = 30_000;
/** Connections that are being closed, and a little of node's own. */
const SPARE_DESCRIPTORS = 12;

/** Words of an answer that only a defect gives; a cancelled call may be told that it was aborted. (JSON-RPC's -32603 is not one: the MCP SDK gives it for wrong parameters.) */
const DEFECT =
	/"fault":"internal","message":"(?!Dialtone failed: This operation was aborted)|Dialtone failed: (?!This operation was aborted)|^HTTP\/1\.1 500/m;

export class Arena implements AsyncDisposable {
	readonly stage: Stage;
	readonly #client: SocketClient;
	readonly #honest: readonly Conversation[];
	readonly #words: Record<string, string>;
	#calm: Usage | null = null;
	#logged = 0;

	private constructor(stage: Stage, client: SocketClient, honest: readonly Conversation[]) {
		this.stage = stage;
		this.#client = client;
		this.#honest = honest;
		const { token, readOnly, url } = stage;
		this.#words = { TOKEN: token, READONLY: readOnly, HOST: new URL(url).host };
	}

	static async open(): Promise<Arena> {
		const stage = await Stage.open();
		const client = await stage.connect();
		const honest = [await Conversation.start(client, "python"), await Conversation.start(client, "bash")];
		return new Arena(stage, client, honest);
	}

	/** Fails when an answer shows a defect. */
	async play(cases: readonly (Connection | StdioCase)[], to: "socket" | "http"): Promise<void> {
		await this.#prepare();
		const { hostname, port } = new URL(this.stage.url);
		const address: Address = to === "socket" ? { path: this.stage.socketPath } : { host: hostname, port: Number(port) };
		const queue = [...cases];
		const problems: string[] = [];
		const worker = async () => {
			for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
				const received = "lines" in next ? await this.#onStdin(next) : await play(next, address, this.#words);
				const defect = DEFECT.exec(received);
				if (defect !== null) problems.push(received.slice(Math.max(0, defect.index - 200), defect.index + 400));
			}
		};
		await Promise.all(Array.from({ length: AT_ONCE }, worker));
		if (problems.length > 0) throw new Error(`an answer shows a defect: ${problems[0]}`);
	}

	/** A session to be attacked, and an MCP connection that cases may share. */
	async #prepare(): Promise<void> {
		// A call of the last batch may still be closing the one before.
		await until("there is a session to be attacked", () =>
			this.#call("start", { name: VICTIM, argv: ["cat"], ifExists: "replace" }).catch((error: unknown) => {
				if (error instanceof Fault && error.code === "session_not_found") return null;
				throw error;
			}),
		);
		const answer = await fetch(`${this.stage.url}/mcp`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${this.stage.token}`,
				"content-type": "application/json",
				accept: "application/json, text/event-stream",
			},
			body: JSON.stringify(FIRST.legacy),
		});
		await answer.body?.cancel();
		this.#words.MCP = answer.headers.get("mcp-session-id") ?? "none";
	}

	#call(tool: string, input: object) {
		return within(ANSWER_MS, `\`${tool}\``, this.#client.call<string>(tool, input));
	}

	/** What must hold after whatever was played. */
	async check(): Promise<void> {
		const { stage } = this;
		if (stage.death !== null) throw new Error(`the daemon ended: ${stage.death}`);
		const status = await within(ANSWER_MS, "`status`", this.#client.status());
		if (status.pid !== stage.pid) throw new Error(`another daemon answers: ${status.pid}, not ${stage.pid}`);
		for (const conversation of this.#honest) await conversation.turn();
		await this.#removeOthers();
		const errors = stage.exceptions();
		const fresh = errors.slice(this.#logged);
		this.#logged = errors.length;
		if (fresh.length > 0) throw new Error(`exceptions in the log: ${fresh.slice(0, 3).join("\n")}`);
		await stage.idle();
		this.#calm ??= await stage.usage();
		const calm = this.#calm;
		await until(
			`the descriptors are back at ${calm.descriptors}`,
			async () => (await stage.usage()).descriptors <= calm.descriptors + SPARE_DESCRIPTORS,
		);
	}

	/** Every session but the honest ones; those must all be there. */
	async #removeOthers(): Promise<void> {
		const { facts } = await within(ANSWER_MS, "`list`", this.#client.call("list", {}));
		const honest = new Set(this.#honest.map(({ name }) => name));
		for (const name of honest)
			if (!facts.sessions.some((session) => session.name === name && session.status === "running"))
				throw new Error(`the session ${name} is not in \`list\` any more: ${JSON.stringify(facts.sessions)}`);
		for (const { session, name } of facts.sessions)
			if (!honest.has(name)) await this.#call("close", { session, forget: true, force: true });
	}

	/** One server on stdin that hears all the lines and must then still answer. */
	async #onStdin({ era, lines }: StdioCase): Promise<string> {
		const server = spawn(process.execPath, [MAIN, "mcp"], { env: this.stage.env, stdio: ["pipe", "pipe", "ignore"] });
		let received = "";
		server.stdout.setEncoding("utf8").on("data", (text: string) => {
			received += text;
		});
		server.stdin.on("error", () => {}); // it died: the wait below says so
		try {
			const last = { ...FIRST.modern, id: "last", method: era === "legacy" ? "ping" : "tools/list" };
			const sent = [JSON.stringify(FIRST[era]), ...lines, JSON.stringify(last)];
			server.stdin.write(Buffer.from(`${sent.join("\n")}\n`, "latin1"));
			await until("the server on stdin answers after what it was told", () => {
				if (server.exitCode !== null) throw new Error(`the server on stdin exited with ${server.exitCode}`);
				return /"id":"last"/.test(received);
			});
		} finally {
			server.stdin.end();
			await until("the server on stdin leaves", () => server.exitCode !== null).catch(() => server.kill("SIGKILL"));
		}
		return received;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#client[Symbol.asyncDispose]();
		await this.stage[Symbol.asyncDispose]();
	}
}
