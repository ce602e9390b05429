// A Client in this process: checks the input, runs the tool, makes the text.

import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { AUDIT_DIRECTORY } from "../journal/audit-chain.ts";
import { AuditLog } from "../journal/audit-log.ts";
import { noticesIn } from "../protocol/answer.ts";
import type { Approval, Decision } from "../protocol/approval.ts";
import { type Clean, type CleanLine, clean, joined, oneLine, stacked } from "../protocol/clean.ts";
import { inFlags } from "../protocol/command-words.ts";
import { type DriverFacts, type DriverView, isWholeAct, type PersonAct, type PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault, type FaultCode } from "../protocol/fault.ts";
import type { Bytes, OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import type { Places } from "../pty/places.ts";
import { homeFault } from "../pty/private-directory.ts";
import { type Condition, onAbort, type Subscribe, settled, until, wait } from "../pty/wait.ts";
import type { ApprovalChange } from "../session/approvals.ts";
import { limits } from "../session/options.ts";
import { hasOwnWords, readable } from "../session/own-words.ts";
import { actAsPerson } from "../session/person.ts";
import { reachOf } from "../session/reach.ts";
import { type Scope, sessionsWithin } from "../session/scope.ts";
import type { Sessions } from "../session/sessions.ts";
import { acceptInput } from "./accept-input.ts";
import { AuditTrail, type Target } from "./audit-trail.ts";
import { findTool, refusal, toolCards, toolNames } from "./catalogue.ts";
import type {
	ActOptions,
	Answer,
	CallOptions,
	Client,
	DaemonStatus,
	DrawnOptions,
	DriversOptions,
	EventsOptions,
	OutputOptions,
	PeopleOptions,
	ScreenSnapshot,
	SnapshotOptions,
	ToolSet,
	ViewChunk,
	ViewOptions,
} from "./client.ts";
import { Gate } from "./gate.ts";
import { factsOnHost } from "./host-names.ts";
import { Noticed } from "./noticed.ts";
import type { Past } from "./past.ts";
import { PeopleWatch } from "./people-watch.ts";
import type { Caller, Tool, ToolContext } from "./tool.ts";
import { snapshotOf, view } from "./view.ts";
import { actOnWhole } from "./whole-session.ts";

/** Of a stream of output: read at once, and passed on at once. */
const OUTPUT_READ_BYTES = 256 * 1024;
const OUTPUT_PIECE_BYTES = 64 * 1024;
/** Thrown whatever the tool: a client that reaches the next daemon repeats the call. */
const UNSHAPED: ReadonlySet<FaultCode> = new Set(["no_daemon", "daemon_replaced", "taken_over"]);

export interface LocalClientParts {
	readonly sessions: Sessions;
	/** Where they keep their files: what a call fails with when these cannot be written is a fault of the home. */
	readonly places: Pick<Places, "state" | "run">;
	/** The caller of calls that name none. */
	readonly caller: Caller;
	readonly status: () => DaemonStatus;
}

export class LocalClient implements Client {
	readonly #parts: LocalClientParts;
	readonly #stopped = new AbortController();
	readonly #scoped = new WeakMap<Scope, Sessions>();
	readonly #auditLog: AuditLog;
	readonly #audit: AuditTrail;
	readonly #noticed: Noticed;
	readonly #gate: Gate;
	readonly #people: PeopleWatch;
	/** Loaded when something is drawn. */
	#past: Promise<Past> | null = null;
	readonly #unsubscribe: () => void;

	constructor(parts: LocalClientParts) {
		this.#parts = parts;
		const { sessions, places } = parts;
		this.#auditLog = new AuditLog(join(places.state, AUDIT_DIRECTORY));
		this.#audit = new AuditTrail(this.#auditLog);
		this.#people = new PeopleWatch(sessions);
		this.#noticed = new Noticed(places.state, this.#audit);
		this.#noticed.look();
		this.#gate = new Gate({ sessions, approvals: sessions.approvals, audit: this.#audit });
		this.#unsubscribe = sessions.approvals.onChange((change) => {
			this.#audit.approval(change);
			const { session } = change.approval;
			if (change.is === "decided" && session !== null) sessions.decided(session, change.decision);
			sessions.events.emit(eventOf(change));
		});
		// Every call and stream in progress listens, and leaves when it is over: any number is right.
		setMaxListeners(0, this.#stopped.signal);
	}

	readonly call: Client["call"] = async (name: string, input: unknown, options: CallOptions = {}): Promise<Answer> => {
		try {
			return await this.#call(name, input, options);
		} catch (error) {
			if (!(error instanceof Fault) || UNSHAPED.has(error.code)) throw error;
			const caller = options.caller ?? this.#parts.caller;
			const sessions = reachOf(this.#sessionsOf(caller), caller, "reads");
			const told = refusal({ name, input, sets: options.sets }, error, { sessions, caller });
			if (told instanceof Fault) throw told;
			return told;
		}
	};

	async #call(name: string, input: unknown, options: CallOptions): Promise<Answer> {
		const startedAt = performance.now();
		const caller = options.caller ?? this.#parts.caller;
		const sessions = this.#sessionsOf(caller);
		if (caller.owner.length > limits.ownerChars)
			throw new Fault("bad_input", { problems: [`the caller's name has more than ${limits.ownerChars} characters`] });
		const tool = findTool(name, input, options.sets);
		if (tool === undefined) throw new Fault("unknown_tool", { tool: name, tools: toolNames() });
		const { input: accepted, notices: changed } = acceptInput(tool, input, caller, sessions.options);
		const signal = options.signal ?? new AbortController().signal;
		const reached = reachOf(sessions, caller, tool.effect);
		const { answerWithinMs } = options;
		// On another machine our loopback address means that machine's own page.
		const page = caller.onHost === undefined ? this.#parts.status().http : null;
		const context = { sessions: reached, caller, signal, startedAt, answerWithinMs, page };
		this.#noticed.look();
		this.#audit.used(caller);
		const passing = this.#gate.pass(tool, accepted, context);
		const passed = await this.#untilStopped(passing, { doing: name, repeatable: true });
		const run = tool.run(accepted, passed?.waited ? after(context) : context).catch((error: unknown) => {
			if (passed !== null && error instanceof Fault) this.#audit.refused(passed.call, name, caller, error.code);
			throw homeFault(error, this.#parts.places) ?? error;
		});
		const facts = await this.#untilStopped(run, { doing: name, repeatable: tool.effect === "reads" });
		if (passed !== null) this.#audit.done(passed.call, caller, facts);
		const named = factsOnHost(facts, caller);
		const notices = [...changed, ...(passed?.notices ?? [])];
		return caller.commandLine
			? withNotices(tool, withFlags(tool, named), inFlagsOf(tool, notices))
			: withNotices(tool, named, notices);
	}

	/** One for each scope: calls at the same moment mean the same shell. */
	#sessionsOf({ scope }: Caller): Sessions {
		if (scope === undefined) return this.#parts.sessions;
		const within = this.#scoped.get(scope) ?? sessionsWithin(this.#parts.sessions, scope);
		this.#scoped.set(scope, within);
		return within;
	}

	/** A call that is cut off by the end of this client ends in words that its caller can use. */
	#untilStopped<T>(run: Promise<T>, facts: { doing: string; repeatable: boolean }): Promise<T> {
		const stopped: Condition<T> = {
			start: ({ own, fail }) => own(this.#onStopped(() => fail(new Fault("daemon_replaced", facts)))),
		};
		return wait([settled(run), stopped]);
	}

	readonly #onStopped: Subscribe = (listener) => onAbort(this.#stopped.signal)(listener);

	/** Whether a stream goes on. One that is cut off by the end of this client does not look like one that is complete. */
	#continues(doing: "events" | "output" | "drivers" | "people", signal: AbortSignal): boolean {
		if (signal.aborted) return false;
		if (this.#stopped.signal.aborted) throw new Fault("daemon_replaced", { doing, repeatable: true });
		return true;
	}

	async tools(sets: readonly ToolSet[] = ["native"]) {
		return toolCards(sets);
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		const { events } = this.#parts.sessions;
		const onEvent: Subscribe = (listener) => events.onEvent(listener);
		// A number from another daemon's time may be larger than any of ours.
		const { signal: stopped } = this.#stopped;
		const isNews = (at: number) => signal.aborted || stopped.aborted || events.seq > at;
		for (let at = Math.min(afterSeq ?? events.seq, events.seq); this.#continues("events", signal); ) {
			const next = events.after(at);
			if (next === null) await until(() => isNews(at), onAbort(signal), this.#onStopped, onEvent);
			else {
				at = next.seq;
				yield next;
			}
		}
	}

	/** A cursor into the journal: a reader that is slow or stops delays no other. */
	async *output(reference: string, { from, signal, turn }: OutputOptions): AsyncGenerator<OutputChunk> {
		const session = await this.#parts.sessions.find(reference);
		const changes: readonly Subscribe[] = [
			onAbort(signal),
			this.#onStopped,
			(listener) => session.onOutput(listener),
			(listener) => session.onEnded(listener),
		];
		const done = session.use();
		try {
			const { signal: stopped } = this.#stopped;
			const isNews = (at: number) => signal.aborted || stopped.aborted || session.ended || session.journal.end > at;
			for (let at = from; this.#continues("output", signal); ) {
				if (at >= session.journal.end) {
					if (session.ended) return;
					await until(() => isNews(at), ...changes);
					continue;
				}
				const over = await turn?.();
				if (!this.#continues("output", signal)) return;
				const excerpt = await session.journal.read(at, Math.min(session.journal.end, at + OUTPUT_READ_BYTES));
				const [gap] = excerpt.gaps;
				if (gap?.from === at) {
					const to = Math.max(gap.to, await session.journal.nextKept(at)); // it may go on for much longer
					yield { gap: { from: at, to } };
					at = to;
					continue;
				}
				const pieces: OutputChunk[] = [...excerpt.chunks.flatMap(inPieces), ...excerpt.gaps.map((gap) => ({ gap }))];
				const start = (piece: OutputChunk) => ("gap" in piece ? piece.gap.from : piece.offset);
				if (pieces.length === 0) over?.();
				yield* pieces.sort((a, b) => start(a) - start(b));
				at = excerpt.to;
			}
		} finally {
			done();
		}
	}

	async snapshot(reference: string, options?: SnapshotOptions): Promise<ScreenSnapshot> {
		return snapshotOf(await this.#parts.sessions.find(reference), options);
	}

	async *view(reference: string, options: ViewOptions): AsyncGenerator<ViewChunk> {
		const session = await this.#parts.sessions.find(reference);
		const continues = () => this.#continues("output", options.signal);
		yield* view(session, { ...options, onStopped: this.#onStopped, continues });
	}

	async *drawn(reference: string, options: DrawnOptions): AsyncGenerator<Uint8Array> {
		this.#past ??= import("./past.ts").then(({ Past }) => new Past(this.#parts.sessions));
		for await (const piece of (await this.#past).drawn(reference, options)) {
			if (!this.#continues("output", options.signal)) return;
			yield piece;
		}
	}

	async act(reference: string, act: PersonAct, { caller = this.#parts.caller }: ActOptions = {}): Promise<PersonDone> {
		const { sessions } = this.#parts;
		if (isWholeAct(act)) {
			const onDone = (target: Target) => this.#audit.person(target, act, { kind: "agent" });
			return actOnWhole(sessions, reference, { act, caller, onDone });
		}
		const session = await sessions.find(reference);
		const { driver } = session.driving; // before they hand it back
		const done = await actAsPerson(sessions, session, act);
		this.#audit.person({ id: session.id, name: session.name, owner: null, isSecret: false }, act, driver);
		return done;
	}

	async *people({ signal, ...options }: PeopleOptions): AsyncGenerator<ListChange> {
		const over = new AbortController();
		const undo = [onAbort(signal), this.#onStopped].map((subscribe) => subscribe(() => over.abort()));
		try {
			yield* this.#people.changes({ ...options, signal: over.signal });
		} finally {
			for (const each of undo) each();
		}
		this.#continues("people", signal);
	}

	async approvals(): Promise<readonly Approval[]> {
		return this.#parts.sessions.approvals.list();
	}

	async decide(id: string, decision: Decision): Promise<Approval> {
		return this.#parts.sessions.approvals.decide(id, decision);
	}

	async *drivers(reference: string, { lease, signal }: DriversOptions): AsyncGenerator<DriverView> {
		const session = await this.#parts.sessions.find(reference);
		const { driving } = session;
		const disconnect = driving.connect(lease);
		const changes: readonly Subscribe[] = [
			onAbort(signal),
			this.#onStopped,
			(listener) => driving.onChange(listener),
			(listener) => session.onEnded(listener),
		];
		try {
			for (let told: DriverFacts | null = null; this.#continues("drivers", signal); ) {
				const { driver } = driving;
				if (told === null || !isSameDriver(told, driver)) {
					told = driver;
					yield { driver, mine: driving.isMine(lease) };
				} else if (session.ended) return;
				else
					await until(
						() =>
							signal.aborted || this.#stopped.signal.aborted || session.ended || !isSameDriver(told, driving.driver),
						...changes,
					);
			}
		} finally {
			disconnect();
		}
	}

	async status(): Promise<DaemonStatus> {
		this.#noticed.look();
		const { problem } = this.#auditLog;
		return { ...this.#parts.status(), ...(problem !== null && { auditProblem: problem }) };
	}

	/** Ends the calls that have not been answered. */
	interrupt(): void {
		this.#stopped.abort();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.interrupt();
		const { sessions } = this.#parts;
		this.#unsubscribe();
		(await this.#past)?.[Symbol.dispose]();
		sessions.approvals[Symbol.dispose]();
		await sessions[Symbol.asyncDispose]();
		await this.#auditLog[Symbol.asyncDispose]();
	}
}

/** The time that a person took to decide is not the tool's. */
const after = ({ startedAt, answerWithinMs, ...context }: ToolContext): ToolContext => {
	const now = performance.now();
	const left = answerWithinMs === undefined ? undefined : Math.max(0, answerWithinMs - (now - startedAt));
	return { ...context, startedAt: now, answerWithinMs: left };
};

function eventOf(change: ApprovalChange) {
	const { id, owner, tool, session, name, effect, what } = change.approval;
	const said =
		change.is === "decided"
			? `${change.decision.approve ? "approved" : "denied"} by ${change.decision.who}`
			: change.is;
	return {
		event: "approval",
		session: session ?? "",
		name: name ?? "",
		status: effect === "starts" ? "starting" : "running",
		because: oneLine(`${id} ${said}: ${owner} ${tool} ${what}`, 1000),
		offset: 0,
	} as const;
}

const isSameDriver = (a: DriverFacts | null, b: DriverFacts) =>
	a?.kind === b.kind && (a.kind === "agent" || b.kind === "agent" || a.epoch === b.epoch);

/** Notices name fields, which are flags on a command line. */
const inFlagsOf = ({ input }: Tool, notices: readonly CleanLine[]): readonly CleanLine[] =>
	notices.map((notice) => oneLine(inFlags(notice, Object.keys(input.shape)), Number.MAX_SAFE_INTEGER));

const withFlags = (tool: Tool, facts: object): object =>
	"notices" in facts ? { ...facts, notices: inFlagsOf(tool, noticesIn(facts)) } : facts;

/** What was changed in the input, in the facts and in the text, whichever tool it is. */
function withNotices(tool: Tool, facts: object, notices: readonly CleanLine[]): Answer {
	if (notices.length === 0) return answerOf(facts, tool.render(facts));
	// A list has no room for them.
	const all = Array.isArray(facts) ? facts : { ...facts, notices: [...noticesIn(facts), ...notices] };
	const text = tool.render(all);
	const untold = notices.filter((notice) => !text.includes(notice));
	return answerOf(all, untold.length === 0 ? text : stacked([text, joined(untold, " · ")]));
}

/** As the outside reads it: what marks our own words stays here. */
const answerOf = (facts: object, text: Clean): Answer => ({
	facts: readableIn(facts) as object,
	text: hasOwnWords(text) ? clean(readable(text)).text : text,
});

function readableIn(value: unknown): unknown {
	if (typeof value === "string") return readable(value);
	if (Array.isArray(value)) return value.map(readableIn);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, readableIn(one)]));
}

function inPieces({ offset, bytes }: Bytes): readonly Bytes[] {
	return Array.from({ length: Math.ceil(bytes.length / OUTPUT_PIECE_BYTES) }, (_, piece) => {
		const at = piece * OUTPUT_PIECE_BYTES;
		return { offset: offset + at, bytes: bytes.subarray(at, at + OUTPUT_PIECE_BYTES) };
	});
}
