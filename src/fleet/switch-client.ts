// The Client that a daemon gives to all who ask: its own sessions, and those of the fleet while it is a member. Which of
// the two it is changes while calls and streams run; each goes on with the one it began with, but for what is told of all
// sessions (events, the list of people), which goes on with what is joined and without what is left.

import { setMaxListeners } from "node:events";
import { noticesIn } from "../protocol/answer.ts";
import type { Approval, Decision } from "../protocol/approval.ts";
import { oneLine, safe } from "../protocol/clean.ts";
import type { PersonAct } from "../protocol/driver.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import { type FleetSeen, type ListChange, NO_HOST } from "../protocol/session-list.ts";
import { type Condition, onAbort, type Subscribe, settled, wait } from "../pty/wait.ts";
import { findTool } from "../tools/catalogue.ts";
import type {
	ActOptions,
	Answer,
	CallOptions,
	Client,
	DrawnOptions,
	DriversOptions,
	EventsOptions,
	OutputOptions,
	PeopleOptions,
	SessionClient,
	SnapshotOptions,
	ToolSet,
	ViewOptions,
} from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { type AimedCall, aimOf, hostOfNewName, mayAimElsewhere, mayBeElsewhere } from "./aim.ts";
import { isDialectList } from "./dialect-lists.ts";
import { reachesOthers } from "./far-reach.ts";
import { cardInFleet } from "./fleet-cards.ts";
import { splitReference } from "./session-names.ts";

/** A member · joined, and not connected since the daemon has started · in no fleet. */
export type FleetState = Member | NotConnected | "in no fleet";

interface Member {
	readonly client: Client;
	/** Its name; also of one that serves nobody. */
	readonly host: string;
	/** Whether it may ask other hosts. */
	readonly asks: boolean;
}

interface NotConnected {
	/** The name that it will have; null where that is not known. */
	readonly host: string | null;
	/** Whether it will ask other hosts, as far as that is known. */
	readonly asks: boolean;
	/** Null until the first try to connect has failed. */
	readonly problem: string | null;
	readonly since: number;
}

export interface SwitchClientParts {
	readonly local: Client;
	/** Of all hosts, whichever fleet is joined. */
	readonly events: Pick<Client, "events">;
	readonly state: () => FleetState;
	readonly onChange: Subscribe;
}

/**
 * A daemon that has just started, after the one before was killed, say, needs some tenths of a second to be a member again.
 * What is asked of others waits for that, and no longer than for a server that does not answer.
 */
const RESUMED_MS = 5000;
/** The list of this host is there at once. */
const LISTED_MS = 1000;

export class SwitchClient implements Client {
	readonly #local: Client;
	readonly #events: Pick<Client, "events">;
	readonly #state: () => FleetState;
	readonly #onChange: Subscribe;
	readonly #stopped = new AbortController();
	readonly #sessions = this.#sessionsOf((client) => client);

	constructor({ local, events, state, onChange }: SwitchClientParts) {
		this.#local = local;
		this.#events = events;
		this.#state = state;
		this.#onChange = onChange;
		// Every call on another host listens, and leaves when it is over: any number is right.
		setMaxListeners(0, this.#stopped.signal);
	}

	get #client(): Client {
		const state = this.#state();
		return typeof state === "object" && "client" in state ? state.client : this.#local;
	}

	/** Settles when the daemon that has just started is a member again, or it is known that this takes longer. */
	async #resumed(mostMs: number, signal?: AbortSignal): Promise<void> {
		const isOver = () => {
			const state = this.#state();
			return !(isAway(state) && state.problem === null);
		};
		const resumed: Condition<void> = {
			start: ({ own, settle, after }) => {
				if (isOver()) return settle();
				own(this.#onChange(() => isOver() && settle()));
				after(mostMs, settle);
			},
		};
		await wait([resumed], { signal });
	}

	/** Who has nothing on other hosts does not wait for them. */
	async #resumedFor(tool: string, input: unknown, { caller, sets, signal }: CallOptions = {}): Promise<void> {
		if (!reachesOthers(caller)) return;
		if (mayAimElsewhere({ tool, input, sets })) await this.#resumed(RESUMED_MS, signal);
		else if (tool === "list" || isDialectList(tool)) await this.#resumed(LISTED_MS, signal);
	}

	readonly call: Client["call"] = async (tool: string, input: unknown, options?: CallOptions): Promise<Answer> => {
		await this.#resumedFor(tool, input, options);
		const state = toldTo(this.#state(), options?.caller);
		if (asksOthers(state))
			return this.#untilStopped(state.client.call(tool as never, input, options), {
				doing: tool,
				repeatable: findTool(tool, input, options?.sets)?.effect === "reads",
			});
		const own = withoutHost({ tool, input, sets: options?.sets }, ownHost(state));
		const fields = Object(own) as Record<string, unknown>;
		// The next page of a list that began in a fleet has nothing of this host.
		const far = ["host", "placement", ...(tool === "list" ? ["after"] : [])];
		const given = far.find((field) => fields[field] !== undefined);
		if (given !== undefined) throw noFleet(state, given);
		if (state !== "in no fleet" && hostOfNewName({ tool, input: own, sets: options?.sets }) !== null)
			throw noFleet(state, "host");
		const answer = await this.#local.call(tool as never, own, options).catch((error: unknown) => {
			throw orNoFleet(state, fields.session, error);
		});
		return tool === "list" && isAway(state) ? withoutOthers(answer, state) : answer;
	};

	/** Ends what has not been answered: the next daemon is asked, and whoever asks goes on with that. */
	interrupt(): void {
		this.#stopped.abort();
	}

	#untilStopped<T>(asked: Promise<T>, facts: { doing: string; repeatable: boolean }): Promise<T> {
		const stopped: Condition<T> = {
			start: ({ own, fail }) => own(onAbort(this.#stopped.signal)(() => fail(new Fault("daemon_replaced", facts)))),
		};
		return wait([settled(asked), stopped]);
	}

	async #ask<T>(doing: string, session: string, ask: (client: Client, session: string) => Promise<T>): Promise<T> {
		if (mayBeElsewhere(session)) await this.#resumed(RESUMED_MS);
		const state = this.#state();
		try {
			return await this.#untilStopped(ask(this.#client, hereAt(state, session)), {
				doing,
				repeatable: doing === "snapshot",
			});
		} catch (error) {
			throw orNoFleet(state, session, error);
		}
	}

	async *#stream<T>(session: string, open: (client: Client, session: string) => AsyncIterable<T>): AsyncGenerator<T> {
		if (mayBeElsewhere(session)) await this.#resumed(RESUMED_MS);
		const state = this.#state();
		try {
			yield* open(this.#client, hereAt(state, session));
		} catch (error) {
			// Its link was cut by us.
			const isOurs = this.#stopped.signal.aborted && isFault(error, "host_unreachable");
			if (isOurs) throw new Fault("daemon_replaced", { doing: "output", repeatable: true }, { cause: error });
			throw orNoFleet(state, session, error);
		}
	}

	/** As a member lists them, also while it is not connected: a host lists its tools once. */
	async tools(sets?: readonly ToolSet[]) {
		const state = this.#state();
		const cards = await this.#client.tools(sets);
		return typeof state === "object" && "asks" in state && state.asks ? cards.map(cardInFleet) : cards;
	}

	events(options: EventsOptions) {
		return this.#events.events(options);
	}

	output(session: string, options: OutputOptions) {
		return this.#sessions.output(session, options);
	}

	snapshot(session: string, options?: SnapshotOptions) {
		return this.#sessions.snapshot(session, options);
	}

	view(session: string, options: ViewOptions) {
		return this.#sessions.view(session, options);
	}

	drawn(session: string, options: DrawnOptions) {
		return this.#sessions.drawn(session, options);
	}

	act(session: string, act: PersonAct, options?: ActOptions) {
		return this.#sessions.act(session, act, options);
	}

	drivers(session: string, options: DriversOptions) {
		return this.#sessions.drivers(session, options);
	}

	/** Without a fleet there is none. */
	ofOwner(owner: string): SessionClient {
		return this.#sessionsOf((client, session) => {
			const there = client.ofOwner?.(owner);
			if (there === undefined) throw new Fault("session_not_found", { id: session, open: [], ids: [] });
			return there;
		});
	}

	#sessionsOf(of: (client: Client, session: string) => SessionClient): SessionClient {
		return {
			output: (given, options) =>
				this.#stream(given, (client, session) => of(client, session).output(session, options)),
			view: (given, options) => this.#stream(given, (client, session) => of(client, session).view(session, options)),
			drawn: (given, options) => this.#stream(given, (client, session) => of(client, session).drawn(session, options)),
			drivers: (given, options) =>
				this.#stream(given, (client, session) => of(client, session).drivers(session, options)),
			snapshot: (given, options) =>
				this.#ask("snapshot", given, async (client, session) => of(client, session).snapshot(session, options)),
			act: (given, act, options) =>
				this.#ask(act.act, given, async (client, session) => of(client, session).act(session, act, options)),
		};
	}

	/** It goes on with the fleet that is joined, and without the one that is left: whoever watches stays. */
	async *people({ signal, ...options }: PeopleOptions): AsyncGenerator<ListChange> {
		for (let isOver = false; !isOver && !signal.aborted; ) {
			const state = this.#state();
			const client = this.#client;
			const over = new AbortController();
			const undo = [
				onAbort(signal)(() => over.abort()),
				this.#onChange(() => (this.#client !== client || isAway(this.#state()) !== isAway(state)) && over.abort()),
			];
			try {
				for await (const change of client.people({ ...options, signal: over.signal }))
					yield isAway(state) && change.full && options.scope == null ? { ...change, fleet: unseen(state) } : change;
				isOver = !over.signal.aborted;
			} finally {
				for (const each of undo) each();
			}
		}
	}

	approvals(): Promise<readonly Approval[]> {
		return this.#client.approvals();
	}

	decide(id: string, decision: Decision): Promise<Approval> {
		return this.#ask("decide", id, (client) => client.decide(id, decision));
	}

	status() {
		return this.#local.status();
	}

	/** Both clients are others' to dispose of. */
	async [Symbol.asyncDispose](): Promise<void> {}
}

/** A fleet that is not reached, as this caller may be told of it: why may name files and servers. */
function toldTo(state: FleetState, caller: Caller | undefined): FleetState {
	if (!isAway(state) || (caller?.scope === undefined && caller?.inside === undefined)) return state;
	return reachesOthers(caller) ? { ...state, problem: "its servers are not reached" } : "in no fleet";
}

const isAway = (state: FleetState): state is NotConnected => typeof state === "object" && "problem" in state;

/** A fleet that was not reached since the daemon has started. */
const unseen = ({ host, since }: NotConnected): FleetSeen => ({ host: host ?? NO_HOST, awaySince: since, hosts: [] });

/** A session of another host is not said to be missing where none could be asked. */
function orNoFleet(state: FleetState, session: unknown, error: unknown): unknown {
	const isMissing = isFault(error, "session_not_found") || isFault(error, "approval_not_found");
	const isOther = typeof session === "string" && session.includes("/") && isMissing;
	if (!isOther || state === "in no fleet" || asksOthers(state)) return error;
	return noFleet(state, "session");
}

export const problemOf = ({ problem }: Pick<NotConnected, "problem">): string => problem ?? "connecting";

/** The list of this host's sessions, which says that it is no more than that. */
function withoutOthers({ facts, text }: Answer, state: NotConnected): Answer {
	const notice = safe`not connected to the fleet since ${oneLine(new Date(state.since).toISOString())} (${oneLine(problemOf(state))}): sessions of other hosts are not listed`;
	return {
		facts: { ...facts, notices: [...noticesIn(facts), notice] },
		text: `${text}\n${notice}`,
	};
}

function noFleet(state: FleetState, field: string): Fault {
	if (state === "in no fleet") return new Fault("not_in_fleet", { what: `\`${field}\`` });
	if ("client" in state) return new Fault("serves_only", { what: `\`${field}\`` });
	return new Fault("fleet_unreachable", { problem: problemOf(state), since: state.since });
}

/** A member that may ask other hosts. One that may not has its own sessions, like one that reaches none. */
const asksOthers = (state: FleetState): state is Member => typeof state === "object" && "client" in state && state.asks;

const ownHost = (state: FleetState): string | null => (typeof state === "object" ? state.host : null);

/** The input without the name of this host, which always means itself. What names another one stays. */
function withoutHost(call: AimedCall, host: string | null): unknown {
	if (host === null) return call.input;
	try {
		const { placement, input } = aimOf(call, { isKnown: (name) => name === host, names: () => [host] });
		return placement === null ? input : call.input;
	} catch {
		return call.input; // it names another
	}
}

/** The same of a session where this host's sessions alone are there. */
function hereAt(state: FleetState, session: string): string {
	const own = ownHost(state);
	return (asksOthers(state) ? null : splitReference(session, (host) => host === own)?.session) ?? session;
}
