// The library: `import { Dialtone } from "dialtone"`.
//
// Typed words over the same Client that every other way in uses.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble } from "./assemble.ts";
import { callerHere } from "./caller.ts";
import { reachDaemon } from "./daemon/reach.ts";
import { becomeDaemon } from "./daemon/run.ts";
import type { SessionFacts } from "./protocol/answer.ts";
import type { SessionEvent } from "./protocol/events.ts";
import type { OutputChunk } from "./protocol/output.ts";
import { places } from "./pty/places.ts";
import type { Options } from "./session/options.ts";
import type { Client } from "./tools/client.ts";
import type { close } from "./tools/close.ts";
import type { list } from "./tools/list.ts";
import type { read } from "./tools/read.ts";
import type { resize } from "./tools/resize.ts";
import type { send } from "./tools/send.ts";
import type { signal } from "./tools/signal.ts";
import type { start } from "./tools/start.ts";
import type { InputOf } from "./tools/tool.ts";
import type { wait } from "./tools/wait.ts";
import { VERSION } from "./version.ts";

export type { Attention, SessionFacts } from "./protocol/answer.ts";
export type { SessionEvent } from "./protocol/events.ts";
export { Fault, type FaultCode, faults } from "./protocol/fault.ts";

/** A tool's input without the session, which the handle knows. */
type Aimed<I> = Omit<I, "session">;

export interface DialtoneOptions {
	/** Where sessions live. In this process: a temporary directory that goes when you dispose. Through the daemon: the user's own. */
	readonly home?: string;
	/** Who asks: what is new is told to each owner apart. */
	readonly owner?: string;
	readonly options?: Partial<Options>;
}

/** Terminals for a program: in this process with `open`, or shared and lasting with `connect`. */
export class Dialtone implements AsyncDisposable {
	readonly client: Client;
	readonly #dispose: () => Promise<void>;

	private constructor(client: Client, dispose: () => Promise<void>) {
		this.client = client;
		this.#dispose = dispose;
	}

	/** Terminals of this process. Disposing ends them, unless you gave a `home` in which they can be found again. */
	static async open(options: DialtoneOptions = {}): Promise<Dialtone> {
		const home = options.home ?? (await mkdtemp(join(tmpdir(), "dialtone-")));
		const where = places({ ...process.env, DIALTONE_HOME: home });
		// The daemon's ground with nobody invited: one owner of a home at a time, and a fence for the one before.
		const daemon = await becomeDaemon({
			run: where.run,
			version: VERSION,
			idleMs: 0,
			log: { info: () => {}, error: ({ err }: { err?: unknown }) => process.emitWarning(`dialtone: ${err}`) },
			open: async ({ epoch }, onFenced) => {
				const { sessions, client } = await assemble({
					places: where,
					epoch,
					caller: callerOf(options),
					socket: null,
					onFenced,
					onProblem: (problem, doing) => process.emitWarning(`dialtone: ${doing}: ${problem}`),
					...(options.options === undefined ? {} : { options: options.options }),
				});
				return {
					client,
					runningSessions: () => sessions.runningCount(),
					onSessions: (listener) => sessions.onCount(listener),
					endAll: () => sessions.endAll(),
					close: () => client[Symbol.asyncDispose](),
				};
			},
		});
		if (daemon === null) throw new Error(`Another Dialtone has ${home}: use Dialtone.connect({ home }).`);
		return new Dialtone(daemon.client, async () => {
			await daemon.leave({ sessions: options.home === undefined });
			if (options.home === undefined) await rm(home, { recursive: true, force: true, maxRetries: 10 });
		});
	}

	/** Terminals of the user's daemon, which is started if need be. They go on when you dispose. */
	static async connect(options: DialtoneOptions = {}): Promise<Dialtone> {
		const env = options.home === undefined ? process.env : { ...process.env, DIALTONE_HOME: options.home };
		const client = await reachDaemon({
			run: places(env).run,
			version: VERSION,
			caller: callerOf(options),
			command: [process.execPath, join(import.meta.dirname, "main.js"), "daemon", "run"],
			env,
		});
		return new Dialtone(client, () => client[Symbol.asyncDispose]());
	}

	/** Starts a program; settles when it first waits for input or ends. */
	async start(input: InputOf<typeof start>, options?: { signal?: AbortSignal }): Promise<Terminal> {
		const { facts } = await this.client.call("start", input, options);
		return new Terminal(this.client, facts as SessionFacts);
	}

	/** A session by its name or id. */
	async find(session: string): Promise<Terminal> {
		const { facts } = await this.client.call("read", { session });
		return new Terminal(this.client, facts as SessionFacts);
	}

	async list(input: InputOf<typeof list> = {}): Promise<Awaited<ReturnType<(typeof list)["run"]>>> {
		const { facts } = await this.client.call("list", input);
		return facts as Awaited<ReturnType<(typeof list)["run"]>>;
	}

	/** What happens to sessions, from now on. */
	events(signal: AbortSignal): AsyncIterable<SessionEvent> {
		return this.client.events({ signal });
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.#dispose();
	}
}

/** One session, as seen from a program. Each call answers with the facts of that moment. */
export class Terminal implements AsyncDisposable {
	readonly id: string;
	readonly name: string;
	/** The facts of the newest answer. */
	facts: SessionFacts;
	readonly #client: Client;

	constructor(client: Client, facts: SessionFacts) {
		this.#client = client;
		this.facts = facts;
		this.id = facts.session;
		this.name = facts.name;
	}

	send(input: Aimed<InputOf<typeof send>>, options?: { signal?: AbortSignal }): Promise<SessionFacts> {
		return this.#call("send", input, options);
	}
	wait(input: Aimed<InputOf<typeof wait>> = {}, options?: { signal?: AbortSignal }): Promise<SessionFacts> {
		return this.#call("wait", input, options);
	}
	read(
		input: Aimed<InputOf<typeof read>> = {},
	): Promise<SessionFacts & { base64?: string; from?: number; to?: number }> {
		return this.#call("read", input);
	}
	signal(input: Aimed<InputOf<typeof signal>> = {}): Promise<SessionFacts> {
		return this.#call("signal", input);
	}
	resize(input: Aimed<InputOf<typeof resize>>): Promise<SessionFacts> {
		return this.#call("resize", input);
	}
	close(input: Aimed<InputOf<typeof close>> = {}): Promise<SessionFacts> {
		return this.#call("close", input);
	}
	/** Raw bytes by offset, live until the session ends. */
	output(options: { from?: number; signal: AbortSignal }): AsyncIterable<OutputChunk> {
		return this.#client.output(this.id, { from: options.from ?? 0, signal: options.signal });
	}

	/** Ends the session, if it has not ended. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}

	async #call(tool: string, input: object, options?: { signal?: AbortSignal }): Promise<SessionFacts> {
		const answer = await this.#client.call(tool, { ...input, session: this.id }, options);
		this.facts = answer.facts as SessionFacts;
		return this.facts;
	}
}

const callerOf = ({ owner }: DialtoneOptions) => callerHere(owner ?? `library:${process.pid}`);
