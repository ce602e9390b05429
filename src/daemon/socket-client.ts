// A Client behind the daemon's socket. Loads little, so that the command line
// starts as fast as node itself: no schema, no server, no emulator.

import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import type { SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { foreignPeer } from "../pty/native.ts";
import type { FactsOf, InputOf, ToolName } from "../tools/catalogue.ts";
import {
	type Answer,
	type CallOptions,
	type Client,
	type DaemonStatus,
	type ForeignName,
	type ScreenSnapshot,
	STARTING_TOOLS,
	type ToolCard,
	type ToolSet,
} from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { type Done, type More, type Question, type Request, type Response, readLines, writeLine } from "./wire.ts";

interface Pending {
	more(value: More): void;
	done(value: Done): void;
	fail(error: unknown): void;
}

export class SocketClient implements Client {
	readonly #socket: Socket;
	readonly #caller: Caller;
	readonly #pending = new Map<number, Pending>();
	#lastId = 0;
	#lost: Fault | null = null;

	private constructor(socket: Socket, caller: Caller) {
		this.#socket = socket;
		this.#caller = caller;
		readLines<Response>(socket, (response) => this.#receive(response));
		socket.on("error", () => {}); // `close` follows and fails all requests
		socket.on("close", () => {
			this.#lost = new Fault("no_daemon", { problem: "it closed the connection before it answered" });
			for (const pending of this.#pending.values()) pending.fail(this.#lost);
			this.#pending.clear();
		});
	}

	/** Connects; rejects with the system's error when no daemon listens, and sends nothing to another user's process. */
	static async connect(path: string, caller: Caller): Promise<SocketClient> {
		const socket = createConnection(path);
		await once(socket, "connect");
		const uid = foreignPeer(socket);
		if (uid !== null) {
			socket.destroy();
			throw new Fault("foreign_daemon", { socket: path, uid });
		}
		return new SocketClient(socket, caller);
	}

	/** The daemon is gone; a new connection reaches the next one. */
	get lost(): boolean {
		return this.#lost !== null;
	}

	/** The daemon's version and pid: compared with our own version before any other request. */
	async hello(version: string): Promise<{ version: string; pid: number }> {
		return (await this.#ask({ do: "hello", version })).hello!;
	}

	call<N extends ToolName>(tool: N, input: InputOf<N>, options?: CallOptions): Promise<Answer<FactsOf<N>>>;
	call<N extends string>(tool: ForeignName<N>, input: unknown, options?: CallOptions): Promise<Answer>;
	async call(tool: string, input: unknown, { signal, caller }: CallOptions = {}): Promise<Answer> {
		const question = { do: "call", tool, input, caller: sentWith(tool, caller ?? this.#caller) } as const;
		return (await this.#ask(question, signal)).answer!;
	}

	async tools(sets: readonly ToolSet[] = ["native"]): Promise<readonly ToolCard[]> {
		return (await this.#ask({ do: "tools", sets })).tools!;
	}

	async *events({ afterSeq, signal }: { afterSeq?: number; signal: AbortSignal }): AsyncGenerator<SessionEvent> {
		const question: Question = afterSeq === undefined ? { do: "events" } : { do: "events", afterSeq };
		for await (const more of this.#stream(question, signal)) if ("event" in more) yield more.event;
	}

	async *output(session: string, { from, signal }: { from: number; signal: AbortSignal }): AsyncGenerator<OutputChunk> {
		for await (const more of this.#stream({ do: "output", session, from }, signal)) {
			if ("gap" in more) yield more;
			else if ("offset" in more) yield { offset: more.offset, bytes: Buffer.from(more.base64, "base64") };
		}
	}

	async snapshot(session: string): Promise<ScreenSnapshot> {
		return (await this.#ask({ do: "snapshot", session })).snapshot!;
	}

	async type(session: string, bytes: Uint8Array): Promise<void> {
		await this.#ask({ do: "type", session, base64: Buffer.from(bytes).toString("base64") });
	}

	async status(): Promise<DaemonStatus> {
		return (await this.#ask({ do: "status" })).status!;
	}

	/** Stops the daemon; settles when it has closed the connection, with the sessions that could not be ended. */
	async stop(options: { sessions: boolean }): Promise<readonly string[]> {
		const closed = once(this.#socket, "close");
		const { left = [] } = await this.#ask({ do: "stop", sessions: options.sessions });
		await closed;
		return left;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#socket.destroyed) return;
		const closed = once(this.#socket, "close");
		this.#socket.destroy();
		await closed;
	}

	#ask(question: Question, signal?: AbortSignal): Promise<Done> {
		return new Promise((resolve, reject) => {
			const id = this.#send(question, { more: () => {}, done: resolve, fail: reject });
			if (id === null || signal === undefined) return;
			const cancel = () => {
				if (!this.#pending.delete(id)) return;
				writeLine(this.#socket, { id, do: "cancel" });
				reject(signal.reason);
			};
			if (signal.aborted) cancel();
			else signal.addEventListener("abort", cancel, { once: true });
		});
	}

	async *#stream(question: Question, signal: AbortSignal): AsyncGenerator<More> {
		const queue: More[] = [];
		let wake = () => {};
		let over = false;
		let failure: unknown = null;
		const id = this.#send(question, {
			more: (value) => {
				queue.push(value);
				// Backpressure: the socket fills and the daemon waits, instead of this queue growing.
				if (queue.length > 64) this.#socket.pause();
				wake();
			},
			done: () => {
				over = true;
				wake();
			},
			fail: (error) => {
				failure = error;
				wake();
			},
		});
		const stop = () => wake();
		signal.addEventListener("abort", stop);
		try {
			while (!signal.aborted) {
				const next = queue.shift();
				if (next !== undefined) {
					if (queue.length < 32) this.#socket.resume();
					yield next;
					continue;
				}
				if (failure !== null) throw failure;
				if (over) return;
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
		} finally {
			signal.removeEventListener("abort", stop);
			this.#socket.resume();
			if (id !== null && this.#pending.delete(id)) writeLine(this.#socket, { id, do: "cancel" });
		}
	}

	#send(question: Question, pending: Pending): number | null {
		if (this.#lost !== null) {
			pending.fail(this.#lost);
			return null;
		}
		const id = ++this.#lastId;
		this.#pending.set(id, pending);
		writeLine(this.#socket, { ...question, id } as Request);
		return id;
	}

	#receive(response: Response): void {
		const pending = this.#pending.get(response.id);
		if (pending === undefined) return; // cancelled meanwhile
		if ("more" in response) {
			pending.more(response.more);
			return;
		}
		this.#pending.delete(response.id);
		if ("fault" in response) pending.fail(Fault.from(response.fault));
		else pending.done(response.done);
	}
}

/** What the daemon needs to know of the caller: the rest of its world only where a program may inherit it. */
function sentWith(tool: string, caller: Caller): Caller {
	return STARTING_TOOLS.has(tool) ? caller : { owner: caller.owner, parent: caller.parent, cwd: "/", env: {} };
}
