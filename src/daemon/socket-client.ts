// A Client behind the daemon's socket. Loads little, so that the command line
// starts as fast as node itself: no schema, no server, no emulator.

import { once } from "node:events";
import { createConnection, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Approval, Decision } from "../protocol/approval.ts";
import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { FleetStatus, FleetWish } from "../protocol/fleet.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { deferred } from "../pty/deferred.ts";
import { INHERIT, type Inherit } from "../pty/environment.ts";
import { foreignPeer, listeningPid } from "../pty/native.ts";
import { type Condition, onAbort, until, wait, within } from "../pty/wait.ts";
import { asInherited } from "../session/inheriting.ts";
import { limits, options } from "../session/options.ts";
import {
	type ActOptions,
	type Answer,
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
	STARTING_TOOLS,
	type ToolCard,
	type ToolSet,
	type ViewChunk,
	type ViewOptions,
} from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { fromHost } from "./from-host.ts";
import { readResponses, writeMessage } from "./messages.ts";
import { type Done, isResponse, type More, type Question, type Request, type Response, type TlsPlace } from "./wire.ts";

// Acknowledged in portions: often enough that the daemon never waits for a reader that keeps up.
const ACKNOWLEDGED_BYTES = limits.streamBytes / 4;
/** Of one list, gathered from its pieces: no daemon lists more sessions. */
const LIST_ROWS = options.maxSessions.max + options.rememberEnded.max;
/** … and a row has about a kilobyte. */
const LIST_BYTES = 64 << 20;

interface Pending {
	readonly doing: string;
	/** False: more was sent than there was room for. */
	more(value: More, bytes: number): boolean;
	done(value: Done): void;
	fail(error: unknown): void;
}

export interface HttpWish {
	readonly port: number;
	/** Refuse where it is open on another port. */
	readonly exact: boolean;
	/** For other machines; without it, on loopback. */
	readonly tls?: TlsPlace;
}

/** An answer that takes longer than this, or than the timeout of its call, makes us ask whether the daemon still runs. */
const ANSWER_MS = 30_000;
const MARGIN_MS = 2000;
/** A daemon that does not answer `hello` for this long is stopped or stuck. */
const HELLO_MS = 10_000;

/** A stream that looks after the other end's life while an answer is awaited, and when it heard of it last. */
export type Connection = Duplex & { awaited?: boolean; readonly heardAt?: number };

/** The daemon of another machine. */
export interface OtherMachine {
	readonly host: string;
	/** Of each stream, what it may send beyond what was acknowledged. */
	readonly streamBytes: number;
}

export class SocketClient implements Client {
	readonly #socket: Connection;
	readonly #caller: Caller;
	readonly #streamBytes: number;
	/** The machine at the other end; null where it is this one. */
	readonly #host: string | null;
	readonly #pending = new Map<number, Pending>();
	/** How many of these await an answer. Those for events do not: there may be none for days. */
	#awaited = 0;
	#lastId = 0;
	#lost = false;
	/** Given up by us: it was connected and did not answer. */
	#silent = false;
	/** The question whether it still runs, while there is no answer to it. */
	#checking: Promise<unknown> | null = null;
	readonly #closed = deferred<void>();

	private constructor(socket: Connection, caller: Caller, other: OtherMachine | null) {
		this.#socket = socket;
		this.#caller = caller;
		this.#host = other?.host ?? null;
		this.#streamBytes = other?.streamBytes ?? limits.streamBytes;
		readResponses(
			socket,
			({ value, bytes }) => {
				if (isResponse(value)) this.#receive(value, bytes);
				else socket.destroy();
			},
			() => socket.destroy(), // not a daemon's answer
		);
		// `close` follows and fails all requests.
		socket.on("error", (error: Error & { readonly silent?: boolean }) => {
			this.#silent ||= error.silent === true;
		});
		socket.on("close", () => {
			this.#lost = true;
			for (const pending of this.#pending.values()) pending.fail(this.#replaced(pending.doing));
			this.#pending.clear();
			this.#closed.resolve();
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
		return new SocketClient(socket, caller, null);
	}

	/** Over a connection to the daemon of another machine. */
	static over(connection: Connection, caller: Caller, other: OtherMachine): SocketClient {
		return new SocketClient(connection, caller, other);
	}

	/** Settles when the connection has ended. */
	get closed(): Promise<void> {
		return this.#closed.promise;
	}
	/** The daemon is gone; a new connection reaches the next one. */
	get lost(): boolean {
		return this.#lost;
	}

	/** When anything came from another machine's daemon, of `performance.now()`; undefined where it is this one's. */
	get heardAt(): number | undefined {
		return this.#socket.heardAt;
	}

	/** The daemon's process by the number that it has here; 0 where it has none. */
	get daemonPid(): number {
		return this.#socket instanceof Socket ? listeningPid(this.#socket) : 0;
	}

	/** The daemon's version and pid: compared with our own version before any other request. */
	async hello(version: string): Promise<NonNullable<Done["hello"]>> {
		return (await within(HELLO_MS, "hello", this.#ask({ do: "hello", version }))).hello!;
	}

	readonly call: Client["call"] = async (
		tool: string,
		input: unknown,
		{ signal, caller, answerWithinMs, sets }: CallOptions = {},
	): Promise<Answer> => {
		const question: Question = {
			do: "call",
			tool,
			input,
			caller: await this.#sentWith(tool, input, caller),
			...(answerWithinMs !== undefined && { answerWithinMs }),
			...(sets !== undefined && { sets }),
		};
		return (await this.#ask(question, signal)).answer!;
	};

	/** What the daemon needs to know of the caller: the rest of its world only where a program may inherit it. */
	async #sentWith(tool: string, input: unknown, given: Caller | undefined): Promise<Caller> {
		const caller = given ?? this.#caller;
		const { owner, sessionsOf, commandLine, parent } = caller;
		// On another machine its directory and environment mean nothing.
		if (this.#host !== null || !STARTING_TOOLS.has(tool))
			return { owner, sessionsOf, commandLine, parent, cwd: "/", env: {} };
		return { ...caller, ...asInherited(caller, await this.#inheritOf(tool, input, given)) };
	}

	/** What a call chooses; of what is started again, what was chosen then. */
	async #inheritOf(tool: string, input: unknown, caller: Caller | undefined): Promise<Inherit | undefined> {
		const { again } = Object(input) as { readonly again?: unknown };
		const chosen = inheritIn(input);
		if (tool !== "start" || typeof again !== "string" || chosen !== undefined) return chosen;
		const { sessions } = (await this.call("list", { status: "ended" }, caller && { caller })).facts;
		const before =
			sessions.find(({ session }) => session === again) ?? sessions.find(({ name, mine }) => mine && name === again);
		return before?.inherit ?? undefined;
	}

	async tools(sets: readonly ToolSet[] = ["native"]): Promise<readonly ToolCard[]> {
		return (await this.#ask({ do: "tools", sets })).tools!;
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		const question: Question = afterSeq === undefined ? { do: "events" } : { do: "events", afterSeq };
		for await (const more of this.#stream(question, signal)) if ("event" in more) yield more.event;
	}

	async *output(session: string, { from, signal }: OutputOptions): AsyncGenerator<OutputChunk> {
		for await (const more of this.#stream({ do: "output", session, from }, signal)) {
			if ("gap" in more || "bytes" in more) yield more;
		}
	}

	async *view(session: string, { signal }: ViewOptions): AsyncGenerator<ViewChunk> {
		for await (const more of this.#stream({ do: "view", session }, signal)) {
			if ("bytes" in more || "gap" in more || "snapshot" in more || "resized" in more || "ended" in more) yield more;
		}
	}

	async snapshot(session: string, options: SnapshotOptions = {}): Promise<ScreenSnapshot> {
		return (await this.#ask({ do: "snapshot", session, ...options })).snapshot!;
	}

	async *drawn(session: string, { as, at, offset, signal }: DrawnOptions): AsyncGenerator<Uint8Array> {
		const when = { ...(at !== undefined && { at }), ...(offset !== undefined && { offset }) };
		const question: Question = { do: "drawn", session, as, ...when };
		for await (const more of this.#stream(question, signal)) if ("bytes" in more) yield more.bytes;
	}

	async act(session: string, act: PersonAct, { caller }: ActOptions = {}): Promise<PersonDone> {
		const as = await this.#sentWith(act.act === "restart" ? "start" : act.act, { again: session }, caller);
		return (await this.#ask({ do: "act", session, act, caller: as })).person!;
	}

	async *drivers(session: string, { lease, signal }: DriversOptions): AsyncGenerator<DriverView> {
		const question: Question = { do: "drivers", session, ...(lease !== undefined && { lease }) };
		for await (const more of this.#stream(question, signal)) if ("driver" in more) yield more.driver;
	}

	/** Of all sessions: only the daemon itself can limit it to some. */
	async *people({ decides = false, signal }: PeopleOptions): AsyncGenerator<ListChange> {
		let before: ListChange["sessions"] = [];
		let beforeBytes = 0;
		for await (const { value: more, bytes } of this.#messages({ do: "people", decides }, signal)) {
			if (!("people" in more)) continue;
			const sessions = [...before, ...more.people.sessions];
			const sum = beforeBytes + bytes;
			if (sessions.length > LIST_ROWS || sum > LIST_BYTES)
				throw this.#broken("a list of more sessions than there can be");
			[before, beforeBytes] = more.isPart ? [sessions, sum] : [[], 0];
			if (!more.isPart) yield { ...more.people, sessions };
		}
	}

	async approvals(): Promise<readonly Approval[]> {
		return (await this.#ask({ do: "approvals" })).approvals!;
	}

	async decide(approval: string, decision: Decision): Promise<Approval> {
		return (await this.#ask({ do: "decide", approval, decision })).approvals![0]!;
	}

	async status(): Promise<DaemonStatus> {
		return (await this.#ask({ do: "status" })).status!;
	}

	/** Has the daemon open HTTP for as long as it runs, or until the `serve` that held it is back; returns the address. */
	async http(where: HttpWish & { readonly keep: "pin" | "await" }): Promise<string> {
		return (await this.#ask({ do: "http", ...where, caller: this.#caller })).http!.url;
	}

	/** Has the daemon open HTTP until `signal` aborts. `onOpen` gets the address; settles with why it ended. */
	async holdHttp(
		where: HttpWish & { readonly signal: AbortSignal; readonly onOpen: (url: string) => Promise<void> },
	): Promise<"stopped" | "replaced" | "released"> {
		const { signal, onOpen, ...wish } = where;
		const question: Question = { do: "http", ...wish, keep: "hold", caller: this.#caller };
		const end: Done = {};
		for await (const more of this.#stream(question, signal, end)) if ("http" in more) await onOpen(more.http.url);
		return signal.aborted ? "released" : (end.stopping ?? "stopped");
	}

	/** The fleet that the daemon is a member of; null where it is of none. */
	async fleet(act: "status" | "leave" | FleetWish): Promise<FleetStatus | null> {
		const question: Question = typeof act === "string" ? { do: "fleet", act } : { do: "fleet", act: "join", wish: act };
		return (await this.#ask(question)).fleet!;
	}

	/** Removes what the fleet keeps of a host that is gone; how many sessions that were. */
	async forgetHost(host: string): Promise<number> {
		return (await this.#ask({ do: "fleet", act: "forget", host })).forgotten!;
	}

	/** Stops the daemon; settles when it has closed the connection, with the sessions that could not be ended. */
	async stop(options: { sessions: boolean; replace?: boolean }): Promise<Pick<Done, "left" | "http">> {
		const done = await this.#ask({ do: "stop", ...options });
		await this.closed;
		return done;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#socket.destroy();
		await this.closed;
	}

	#ask(question: Question, signal?: AbortSignal): Promise<Done> {
		const answered: Condition<Done> = {
			start: (scope) => {
				const id = this.#send(question, { more: () => true, done: scope.settle, fail: scope.fail });
				scope.own(() => this.#cancel(id));
				if (question.do === "hello") return;
				const check = () => {
					this.#check();
					scope.after(ANSWER_MS, check);
				};
				scope.after((timeoutOf(question) ?? ANSWER_MS) + MARGIN_MS, check);
			},
		};
		return wait([answered], { signal });
	}

	/** Ends the connection, and with it every request, unless the daemon answers. */
	#check(): void {
		this.#checking ??= this.hello("")
			.catch(() => {
				if (this.#lost) return;
				this.#silent = true;
				this.#socket.destroy();
			})
			.finally(() => {
				this.#checking = null;
			});
	}

	#replaced(doing: string): Fault {
		const facts = { ...(this.#silent && { silent: true }), ...(this.#host !== null && { host: this.#host }) };
		return new Fault("daemon_replaced", { doing, repeatable: false, ...facts });
	}

	/** It breaks the protocol: the connection ends, and this is why. */
	#broken(how: string): Fault {
		this.#socket.destroy();
		const problem = `it sent ${how}`;
		if (this.#host === null) return new Fault("internal", { problem: `the daemon's answer: ${problem}` });
		return new Fault("host_unreachable", { host: this.#host, problem });
	}

	/** Nothing happens when it has been answered. */
	#cancel(id: number | null): void {
		if (id !== null && this.#settle(id) !== undefined) this.#write({ id, do: "cancel" });
	}

	/** `end` gets what the daemon said last. */
	async *#stream(question: Question, signal: AbortSignal, end: Done = {}): AsyncGenerator<More> {
		for await (const { value } of this.#messages(question, signal, end)) yield value;
	}

	async *#messages(
		question: Question,
		signal: AbortSignal,
		end: Done = {},
	): AsyncGenerator<{ readonly value: More; readonly bytes: number }> {
		const queue: { readonly value: More; readonly bytes: number }[] = [];
		const received = new Listeners<void>("stream");
		const ended = { over: false, failure: null as unknown };
		let taken = 0;
		let unacknowledged = 0;
		const id = this.#send(question, {
			// As the daemon counts it (stream-window.ts): below the window, one more message may come.
			more: (value, bytes) => {
				if (unacknowledged >= this.#streamBytes) return false;
				unacknowledged += bytes;
				queue.push({ value, bytes });
				received.emit();
				return true;
			},
			done: (value) => {
				Object.assign(end, value);
				ended.over = true;
				received.emit();
			},
			fail: (failure) => {
				Object.assign(ended, { over: true, failure });
				received.emit();
			},
		});
		const hasNews = () => signal.aborted || queue.length > 0 || ended.over;
		try {
			while (!signal.aborted) {
				const next = queue.shift();
				if (next !== undefined) {
					yield next;
					taken += next.bytes;
					if (id !== null && taken >= ACKNOWLEDGED_BYTES) {
						unacknowledged -= taken;
						this.#write({ id, do: "took", bytes: taken });
						taken = 0;
					}
				} else if (!ended.over) await until(hasNews, onAbort(signal), (listener) => received.add(listener));
				else if (ended.failure !== null) throw ended.failure;
				else return;
			}
		} finally {
			this.#cancel(id);
		}
	}

	#send(question: Question, pending: Omit<Pending, "doing">): number | null {
		const doing = question.do === "call" ? question.tool : question.do;
		if (this.#lost) {
			pending.fail(this.#replaced(doing));
			return null;
		}
		const id = ++this.#lastId;
		if (!this.#write({ ...question, id } as Request)) {
			pending.fail(new Fault("too_large", { what: "The request", limit: limits.frameBytes }));
			return null;
		}
		this.#pending.set(id, { ...pending, doing });
		if (doing !== "events") this.#await(1);
		return id;
	}

	#settle(id: number): Pending | undefined {
		const pending = this.#pending.get(id);
		this.#pending.delete(id);
		if (pending !== undefined && pending.doing !== "events") this.#await(-1);
		return pending;
	}

	#await(more: number): void {
		this.#awaited += more;
		if ("awaited" in this.#socket) this.#socket.awaited = this.#awaited > 0;
	}

	/** False when the message is too large to be sent. */
	#write(request: Request): boolean {
		return writeMessage(this.#socket, request, limits.frameValues) !== null;
	}

	#receive(said: Response, bytes: number): void {
		const pending = this.#pending.get(said.id);
		if (pending === undefined) return; // cancelled meanwhile
		const response = this.#host === null ? said : fromHost(said, pending.doing);
		if ("more" in response) {
			if (pending.more(response.more, bytes)) return;
			this.#settle(response.id);
			pending.fail(this.#broken("more than there was room for"));
			return;
		}
		this.#settle(response.id);
		if ("fault" in response) pending.fail(Fault.from(response.fault));
		else pending.done(response.done);
	}
}

function timeoutOf(question: Question): number | null {
	if (question.do !== "call") return null;
	const timeoutMs = (question.input as { readonly timeoutMs?: unknown } | null | undefined)?.timeoutMs;
	if (typeof timeoutMs !== "number" || timeoutMs < 0) return null;
	return Math.min(timeoutMs, options.timeoutMs.max, question.answerWithinMs ?? Number.POSITIVE_INFINITY);
}

/** What the call chooses; the daemon refuses anything else. */
function inheritIn(input: unknown): Inherit | undefined {
	const { inherit } = Object(input) as { readonly inherit?: unknown };
	return INHERIT.find((choice) => choice === String(inherit).toLowerCase());
}
