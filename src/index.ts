// The library: `import { Dialtone } from "dialtone"`.
//
// Typed methods over the same Client that every other interface uses.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble } from "./assemble.ts";
import { callerHere } from "./caller.ts";
import { ProcessCallers } from "./daemon/callers.ts";
import { LastingClient } from "./daemon/lasting-client.ts";
import { findDaemon, reachDaemon } from "./daemon/reach.ts";
import { becomeDaemon } from "./daemon/run.ts";
import type { ListFacts, ReadFacts, RunFacts, SessionFacts } from "./protocol/answer.ts";
import type { EventsDropped, SessionEvent } from "./protocol/events.ts";
import { reportListenerErrorsByDefault } from "./protocol/listeners.ts";
import type { OutputChunk } from "./protocol/output.ts";
import { places, preparePlaces } from "./pty/places.ts";
import type { Options } from "./session/options.ts";
import { Policy } from "./session/policy.ts";
import type { InputOf } from "./tools/catalogue.ts";
import type { Answer, Client } from "./tools/client.ts";
import { VERSION } from "./version.ts";

export type { Attention, ListFacts, ReadFacts, RunFacts, SessionFacts } from "./protocol/answer.ts";
export type { EventsDropped, SessionEvent } from "./protocol/events.ts";
export { Fault, type FaultCode, faults } from "./protocol/fault.ts";

/** A tool's input without the session, which the handle knows. */
type Aimed<N extends "send" | "wait" | "read" | "signal" | "resize" | "close"> = Omit<InputOf<N>, "session">;

export interface DialtoneOptions {
	/** Where sessions are kept. In this process: a temporary directory, removed on dispose, once nothing runs in it. Through the daemon: the user's own. */
	readonly home?: string;
	/** The caller: "new" output is tracked for each owner. */
	readonly owner?: string;
	readonly options?: Partial<Options>;
}

/** Terminals for a program: in this process with `open`, or shared and persistent with `connect`. */
export class Dialtone implements AsyncDisposable {
	readonly client: Client;
	readonly #dispose: () => Promise<void>;

	private constructor(client: Client, dispose: () => Promise<void>) {
		this.client = client;
		this.#dispose = dispose;
	}

	/**
	 * Terminals of this process. Disposing ends them, and so does the end of this process, unless you gave a `home` in which
	 * they can be found again.
	 */
	static async open(options: DialtoneOptions = {}): Promise<Dialtone> {
		reportListenerErrorsByDefault(warn);
		const home = options.home ?? (await mkdtemp(join(tmpdir(), "dialtone-")));
		const where = places({ ...process.env, DIALTONE_HOME: home });
		preparePlaces(where);
		// Takes the daemon's lock of this home: one owner at a time, and the one before is fenced.
		const daemon = await becomeDaemon({
			run: where.run,
			state: where.state,
			version: VERSION,
			mayBeElsewhere: () => new Policy(where.state).current().elsewhere === "allow",
			idleMs: 0,
			log: {
				info: () => {},
				error: ({ err, ...facts }: { err?: unknown }, doing) => warn(err ?? JSON.stringify(facts), doing),
			},
			open: async ({ epoch }, onFenced) => {
				const { sessions, client } = await assemble({
					places: where,
					epoch,
					caller: callerOf(options),
					socket: null,
					onFenced,
					onProblem: warn,
					endsWithOwner: options.home === undefined,
					...(options.options === undefined ? {} : { options: options.options }),
				});
				return {
					client,
					callers: new ProcessCallers(sessions),
					limits: sessions.options,
					runningSessions: () => sessions.runningCount(),
					onSessions: (listener) => sessions.onCount(listener),
					// A daemon that a program has started is not ours to end with us.
					endAll: () => sessions.endAll({ exceptAway: true }),
					close: () => client[Symbol.asyncDispose](),
				};
			},
		});
		if (daemon === null) throw new Error(`Another Dialtone process uses ${home}: call Dialtone.connect({ home }).`);
		return new Dialtone(daemon.client, async () => {
			const left = await daemon.stop({ sessions: options.home === undefined });
			if (options.home !== undefined) return;
			// What still runs writes its log there.
			if (left.length > 0) warn(`${left.join(", ")} could not be ended; the files stay in ${home}`, "disposing");
			else await rm(home, { recursive: true, force: true, maxRetries: 10 });
		});
	}

	/** Terminals of the user's daemon, which is started if necessary. They keep running when you dispose. */
	static async connect(options: DialtoneOptions = {}): Promise<Dialtone> {
		reportListenerErrorsByDefault(warn);
		const env = options.home === undefined ? process.env : { ...process.env, DIALTONE_HOME: options.home };
		const { run, state } = places(env);
		const reach = {
			run,
			version: VERSION,
			caller: callerOf(options),
			command: [process.execPath, join(import.meta.dirname, "daemon.cjs")],
			env: { ...env, DIALTONE_HOME: state },
		};
		const client = new LastingClient({ connect: () => reachDaemon(reach), find: () => findDaemon(reach) });
		await client.connect();
		return new Dialtone(client, () => client[Symbol.asyncDispose]());
	}

	/** Starts a program; settles when it first waits for input or ends. */
	async start(input: InputOf<"start">, options?: { signal?: AbortSignal }): Promise<Terminal> {
		const { facts } = await this.client.call("start", input, options);
		return new Terminal(this.client, facts);
	}

	/** A session by its name or id. */
	async find(session: string): Promise<Terminal> {
		const { facts } = await this.client.call("read", { session });
		return new Terminal(this.client, facts);
	}

	async list(input: InputOf<"list"> = {}): Promise<ListFacts> {
		return (await this.client.call("list", input)).facts;
	}

	/** Runs a command in a shell that keeps its state between calls. */
	async run(input: InputOf<"run">, options?: { signal?: AbortSignal }): Promise<RunFacts> {
		return (await this.client.call("run", input, options)).facts;
	}

	/** What happens to sessions, from now on. */
	events(signal: AbortSignal): AsyncIterable<SessionEvent | EventsDropped> {
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

	send(input: Aimed<"send">, options?: { signal?: AbortSignal }): Promise<SessionFacts> {
		return this.#newest(this.#client.call("send", { ...input, session: this.id }, options));
	}
	wait(input: Aimed<"wait"> = {}, options?: { signal?: AbortSignal }): Promise<SessionFacts> {
		return this.#newest(this.#client.call("wait", { ...input, session: this.id }, options));
	}
	read(input: Aimed<"read"> = {}): Promise<ReadFacts> {
		return this.#newest(this.#client.call("read", { ...input, session: this.id }));
	}
	signal(input: Aimed<"signal"> = {}): Promise<SessionFacts> {
		return this.#newest(this.#client.call("signal", { ...input, session: this.id }));
	}
	resize(input: Aimed<"resize">): Promise<SessionFacts> {
		return this.#newest(this.#client.call("resize", { ...input, session: this.id }));
	}
	close(input: Aimed<"close"> = {}): Promise<SessionFacts> {
		return this.#newest(this.#client.call("close", { ...input, session: this.id }));
	}
	/** Raw bytes by offset, live until the session ends. */
	output(options: { from?: number; signal: AbortSignal }): AsyncIterable<OutputChunk> {
		return this.#client.output(this.id, { from: options.from ?? 0, signal: options.signal });
	}

	/** Ends the session, if it has not ended. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}

	async #newest<F extends SessionFacts>(call: Promise<Answer<F>>): Promise<F> {
		const { facts } = await call;
		this.facts = facts;
		return facts;
	}
}

/** An error that has no caller is told to the program that uses this library, and does not end it. */
const warn = (problem: unknown, doing: string) => process.emitWarning(`dialtone: ${doing}: ${problem}`);

const callerOf = ({ owner }: DialtoneOptions) => callerHere(owner ?? `library:${process.pid}`);
