// A Client that outlives daemons: when the daemon is stopped, replaced or killed, it connects to the next
// one and repeats what is safe to repeat. What may have taken effect is not repeated: its caller is told.

import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Approval, Decision } from "../protocol/approval.ts";
import { type DriverView, isWholeAct, type PersonAct, type PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault, type FaultCode, isFault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { type Condition, wait, within } from "../pty/wait.ts";
import {
	type ActOptions,
	type Answer,
	AUTOMATIC_ID,
	type CallOptions,
	type Client,
	type DaemonStatus,
	type DrawnOptions,
	type DriversOptions,
	type EventsOptions,
	type OutputOptions,
	type PeopleOptions,
	type ScreenSnapshot,
	type SnapshotOptions,
	type ToolCard,
	type ToolSet,
	type ViewChunk,
	type ViewOptions,
} from "../tools/client.ts";
import type { SocketClient } from "./socket-client.ts";

/** A daemon that is being replaced is back within a second; on a busy machine, within a few. */
const MAX_TRIES = 5;
const RETRY_MS = { first: 50, most: 2000 };
/** How long a stream of events looks for the next daemon, which it must not start itself. */
const NEXT_DAEMON_MS = 10_000;

export interface LastingClientParts {
	/** Connects to the daemon, starting one where none runs. */
	readonly connect: () => Promise<SocketClient>;
	/** Connects only where one runs. */
	readonly find: () => Promise<SocketClient | null>;
	/** Where it cannot be started from here: how long a request waits for it after it was last heard of. */
	readonly patienceMs?: number;
	/** It is known to be away, and not waited for. */
	readonly isAway?: () => boolean;
}

interface Asked {
	readonly doing: string;
	/** By us, who send the same. */
	readonly repeatable: boolean;
	/** By anybody: it changes nothing. */
	readonly harmless: boolean;
	readonly signal?: AbortSignal | undefined;
}

export class LastingClient implements Client {
	readonly #parts: LastingClientParts;
	#current: Promise<SocketClient> | null = null;
	/** A call has connected, or this client is disposed. */
	readonly #changed = new Listeners<void>("daemon connection");
	#disposed = false;

	constructor(parts: LastingClientParts) {
		this.#parts = parts;
	}

	/** Connects now, so that what is wrong with the daemon is known before the first call. */
	async connect(): Promise<void> {
		await this.#connected();
	}

	/** This client where a daemon runs, else null: to look without starting one. */
	async ifRunning(): Promise<this | null> {
		const known = await this.#current?.catch(() => null); // its callers know
		if (known && !known.lost) return this;
		const found = await this.#parts.find();
		if (found === null) return null;
		await this.#use(found);
		return this;
	}

	readonly call: Client["call"] = (tool: string, input: unknown, options: CallOptions = {}): Promise<Answer> => {
		const same = isOnceById(tool, input) ? withId(input) : input;
		const since = performance.now();
		return this.#ask({
			doing: tool,
			repeatable: isRepeatable(tool, same),
			harmless: REPEATABLE.has(tool),
			signal: options.signal,
			ask: (client) => {
				const elapsedMs = performance.now() - since;
				const { answerWithinMs } = options;
				return client.call(tool, withinTimeout(same, elapsedMs), {
					...options,
					...(answerWithinMs !== undefined && { answerWithinMs: Math.max(0, answerWithinMs - elapsedMs) }),
				});
			},
		});
	};

	tools(sets?: readonly ToolSet[]): Promise<readonly ToolCard[]> {
		return this.#ask({ doing: "tools", repeatable: true, harmless: true, ask: (client) => client.tools(sets) });
	}

	/** Events of the next daemon follow those of the one before; its numbers begin anew. */
	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		let client = await this.#connected();
		let seq = afterSeq;
		while (!signal.aborted) {
			try {
				yield* client.events({ afterSeq: seq, signal });
				return;
			} catch (error) {
				if (!isReplaced(error)) throw error;
			}
			client = await this.#nextClient(client, signal);
			seq = 0;
		}
	}

	async *output(session: string, { from, signal }: OutputOptions): AsyncGenerator<OutputChunk> {
		let at = from;
		let deadline = this.#deadline();
		for (let tries = 1; !signal.aborted; tries++) {
			const client = tries === 1 ? await this.#connectedBy(deadline) : await this.#connectedAgain(deadline, signal);
			const since = performance.now();
			try {
				for await (const chunk of client.output(session, { from: at, signal })) {
					yield chunk;
					at = "gap" in chunk ? chunk.gap.to : chunk.offset + chunk.bytes.length;
					tries = 1;
				}
				return;
			} catch (error) {
				if (!isReplaced(error) || tries >= MAX_TRIES) throw error;
				deadline = this.#deadline(client, since);
				await this.#lost(client, tries, signal);
			}
		}
	}

	/** With the next daemon it begins anew, with the screen. */
	view(session: string, { signal }: ViewOptions): AsyncGenerator<ViewChunk> {
		return this.#lasting(signal, (client) => client.view(session, { signal }));
	}

	snapshot(session: string, options?: SnapshotOptions): Promise<ScreenSnapshot> {
		return this.#ask({
			doing: "snapshot",
			repeatable: true,
			harmless: true,
			ask: (client) => client.snapshot(session, options),
		});
	}

	/** Ends with the daemon: pieces of two drawings would not fit together. */
	async *drawn(session: string, options: DrawnOptions): AsyncGenerator<Uint8Array> {
		yield* (await this.#connectedBy(this.#deadline())).drawn(session, options);
	}

	act(session: string, act: PersonAct, options?: ActOptions): Promise<PersonDone> {
		// What is typed has an id, so that it is typed once; to take over or hand back twice is as good as once. What a name or
		// an id means is another session, or none, after the whole of one was changed.
		const same = "text" in act || "base64" in act ? { id: randomBytes(16).toString("hex"), ...act } : act;
		const harmless = act.act === "resize" || act.act === "share" || (act.act === "take" && act.lease !== undefined);
		const repeatable = harmless || !isWholeAct(act);
		return this.#ask({ doing: act.act, repeatable, harmless, ask: (client) => client.act(session, same, options) });
	}

	/** Goes on with the next daemon, which knows the lease. */
	drivers(session: string, { lease, signal }: DriversOptions): AsyncGenerator<DriverView> {
		return this.#lasting(signal, (client) => client.drivers(session, { lease, signal }));
	}

	/** With the next daemon it begins anew, with the whole list. */
	people(options: PeopleOptions): AsyncGenerator<ListChange> {
		return this.#lasting(options.signal, (client) => client.people(options));
	}

	approvals(): Promise<readonly Approval[]> {
		return this.#ask({ doing: "approvals", repeatable: true, harmless: true, ask: (client) => client.approvals() });
	}

	decide(id: string, decision: Decision): Promise<Approval> {
		return this.#ask({
			doing: "decide",
			repeatable: false,
			harmless: false,
			ask: (client) => client.decide(id, decision),
		});
	}

	status(): Promise<DaemonStatus> {
		return this.#ask({ doing: "status", repeatable: true, harmless: true, ask: (client) => client.status() });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		this.#changed.emit();
		const client = await this.#current?.catch(() => null); // never connected
		await client?.[Symbol.asyncDispose]();
	}

	/** A stream that begins anew with the next daemon. */
	async *#lasting<T>(signal: AbortSignal, open: (client: SocketClient) => AsyncIterable<T>): AsyncGenerator<T> {
		let deadline = this.#deadline();
		for (let tries = 1; !signal.aborted; tries++) {
			const client = tries === 1 ? await this.#connectedBy(deadline) : await this.#connectedAgain(deadline, signal);
			const since = performance.now();
			try {
				for await (const one of open(client)) {
					yield one;
					tries = 1;
				}
				return;
			} catch (error) {
				if (!isReplaced(error) || tries >= MAX_TRIES) throw error;
				deadline = this.#deadline(client, since);
				await this.#lost(client, tries, signal);
			}
		}
	}

	async #ask<T>(request: Asked & { readonly ask: (client: SocketClient) => Promise<T> }): Promise<T> {
		const { doing, signal, ask } = request;
		let last: Replaced | null = null;
		let deadline = this.#deadline();
		for (let tries = 1; ; tries++) {
			const client =
				last === null ? await this.#connectedBy(deadline) : await this.#connectedAfter(last, deadline, request);
			const since = performance.now();
			try {
				return await ask(client);
			} catch (error) {
				if (last !== null && !request.harmless && !wasNotDone(last)) throwIfOfNow(error, doing, last);
				if (!isReplaced(error)) throw error;
				const isRepeated = request.repeatable || wasNotDone(error);
				// Whoever asks again does so with another id.
				if (!isRepeated || tries >= MAX_TRIES || this.#disposed)
					throw replacedFault(doing, request.harmless || wasNotDone(error), error);
				last = error;
				deadline = this.#deadline(client, since);
				await this.#lost(client, tries, signal);
			}
		}
	}

	async #connected(): Promise<SocketClient> {
		if (this.#disposed) throw new Fault("no_daemon", { problem: "this client was disposed" });
		for (;;) {
			const current = this.#current;
			const known = await current?.catch(() => null); // its callers know; this one tries again
			if (known && !known.lost) return known;
			if (this.#current === current) return this.#connect();
			// Another caller has begun to connect meanwhile.
		}
	}

	/**
	 * When to give up: so long after now, or after it was last heard of over the connection that a request has used since
	 * then, whose loss may be noticed much later. Null: after one try.
	 */
	#deadline(client?: SocketClient, since = 0): number | null {
		const { patienceMs } = this.#parts;
		if (patienceMs === undefined) return null;
		return patienceMs + Math.max(since, client?.heardAt ?? performance.now());
	}

	/** The connection that there is, or one that is made by then. */
	async #connectedBy(deadline: number | null): Promise<SocketClient> {
		const connected = this.#connected();
		if (deadline === null) return connected;
		const ms = Math.max(0, deadline - performance.now());
		return within(ms, "connecting", connected).catch((error: unknown) => {
			throw error instanceof Fault
				? error
				: new Fault("no_daemon", { problem: "it does not answer" }, { cause: error });
		});
	}

	/** After a loss: the next connection, for which it waits where none can be made. */
	async #connectedAgain(deadline: number | null, signal: AbortSignal | undefined): Promise<SocketClient> {
		for (let ms = RETRY_MS.first; ; ms = Math.min(2 * ms, RETRY_MS.most)) {
			try {
				return await this.#connectedBy(deadline);
			} catch (error) {
				const left = deadline === null ? 0 : deadline - performance.now();
				// One of another version is there, and stays as it is.
				const isOver = left <= 0 || this.#disposed || this.#parts.isAway?.();
				if (isOver || isFault(error, "host_version")) throw error;
				await delay(Math.min(ms, left), undefined, signal === undefined ? {} : { signal });
			}
		}
	}

	/** The same for a request that may have been done before the loss: then that is what its caller has to know. */
	async #connectedAfter(
		last: Replaced,
		deadline: number | null,
		{ doing, harmless, signal }: Asked,
	): Promise<SocketClient> {
		try {
			return await this.#connectedAgain(deadline, signal);
		} catch (error) {
			if (harmless || wasNotDone(last)) throw error;
			throw replacedFault(doing, false, last);
		}
	}

	#connect(): Promise<SocketClient> {
		const connecting = this.#parts.connect();
		this.#current = connecting;
		connecting.then(
			() => this.#changed.emit(),
			() => {}, // reported to the caller
		);
		return connecting;
	}

	/** Leaves a daemon that is stopping or no longer owns the sessions. */
	async #lost(client: SocketClient, tries: number, signal?: AbortSignal): Promise<void> {
		await client[Symbol.asyncDispose]();
		const ms = Math.min(RETRY_MS.first * 2 ** (tries - 1), RETRY_MS.most);
		await delay(ms, undefined, signal === undefined ? {} : { signal });
	}

	/** The client of the next daemon, without starting one: found soon, or when a call has connected. */
	async #nextClient(before: SocketClient, signal: AbortSignal): Promise<SocketClient> {
		await before[Symbol.asyncDispose]();
		const until = performance.now() + NEXT_DAEMON_MS;
		for (let ms = RETRY_MS.first; ; ms = Math.min(2 * ms, RETRY_MS.most)) {
			const current = await this.#current?.catch(() => null); // its callers know
			if (current && !current.lost) return current;
			if (this.#disposed) throw new Fault("no_daemon", { problem: "this client was disposed" });
			const found = performance.now() < until ? await this.#parts.find().catch(() => null) : null;
			if (found !== null) await this.#use(found);
			else await this.#woken(performance.now() < until ? ms : null, signal);
		}
	}

	/** A connection that was found; a call may have made another meanwhile, and one is enough. */
	async #use(found: SocketClient): Promise<void> {
		const other = await this.#current?.catch(() => null); // its callers know
		if (this.#disposed || (other && !other.lost)) await found[Symbol.asyncDispose]();
		else this.#current = Promise.resolve(found);
	}

	/** Settles when a call has connected, after `ms`, or rejects when the signal aborts. */
	#woken(ms: number | null, signal: AbortSignal): Promise<void> {
		const woken: Condition<void> = {
			start: ({ own, settle, after }) => {
				own(this.#changed.add(settle));
				if (ms !== null) after(ms, settle);
			},
		};
		return wait([woken], { signal });
	}
}

/** Tools that may be called twice with the effect of one call. */
const REPEATABLE: ReadonlySet<string> = new Set(["read", "wait", "list", "resize"]);

function isRepeatable(tool: string, input: unknown): boolean {
	if (REPEATABLE.has(tool)) return true;
	const { ifOffset, ifUnchanged, id, forget } = (input ?? {}) as Record<string, unknown>;
	// With these the echo of what was typed would be taken for something new.
	if (tool === "send") return id !== undefined && ifOffset === undefined && !ifUnchanged;
	if (tool === "start") return id !== undefined;
	return tool === "close" && forget !== true;
}

/** What is done once with an id: typed, or a session that is started where there is none of that name. */
function isOnceById(tool: string, input: unknown): boolean {
	const { name, ifExists } = (input ?? {}) as Record<string, unknown>;
	return tool === "send" || (tool === "start" && name !== undefined && ifExists === "use");
}

function withId(input: unknown): unknown {
	if (typeof input !== "object" || input === null || (input as { id?: unknown }).id !== undefined) return input;
	return { ...input, id: `${AUTOMATIC_ID}${randomBytes(16).toString("hex")}` };
}

/** A repeated wait ends when the first one would have. */
function withinTimeout(input: unknown, elapsedMs: number): unknown {
	const timeoutMs = (input as { timeoutMs?: unknown } | null | undefined)?.timeoutMs;
	if (typeof timeoutMs !== "number" || elapsedMs < RETRY_MS.first) return input;
	return { ...(input as object), timeoutMs: Math.max(0, Math.round(timeoutMs - elapsedMs)) };
}

type Replaced = Fault<"daemon_replaced"> | Fault<"taken_over"> | Fault<"no_daemon">;

/** The daemon is gone, is stopping, or no longer owns the session. */
function isReplaced(error: unknown): error is Replaced {
	return isFault(error, "daemon_replaced") || isFault(error, "taken_over") || isFault(error, "no_daemon");
}

function replacedFault(doing: string, repeatable: boolean, cause: Replaced): Fault<"daemon_replaced"> {
	const { silent, host } = isFault(cause, "daemon_replaced") ? cause.facts : {};
	const facts = { ...(silent === true && { silent }), ...(host !== undefined && { host }) };
	return new Fault("daemon_replaced", { doing, repeatable, ...facts }, { cause });
}

/** Another host was not reached, or who may type or what is asked for is not what it was: true of now alone. */
const OF_NOW: ReadonlySet<FaultCode> = new Set([
	"host_unreachable",
	"fleet_unreachable",
	"host_version",
	"unknown_host",
	"not_driving",
	"driven_by_human",
	"typed_by_human",
	"not_asked",
]);

/**
 * A repetition that is refused says nothing of what was sent first. The next daemon does not know which ids were typed: its
 * holder does, which is not asked where somebody else drives by then.
 */
function throwIfOfNow(error: unknown, doing: string, last: Replaced): void {
	if (!(error instanceof Fault)) return;
	if (OF_NOW.has(error.code)) throw replacedFault(doing, false, last);
	// It may have ended by what was typed.
	if (isFault(error, "session_ended"))
		throw new Fault("session_ended", { ...error.facts, maybeTyped: true }, { cause: error, words: error.words });
}

/** The daemon said so itself. */
function wasNotDone(fault: Replaced): boolean {
	return isFault(fault, "no_daemon") || (isFault(fault, "taken_over") && fault.facts.maybeTyped !== true);
}
