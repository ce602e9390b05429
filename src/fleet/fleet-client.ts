// A Client of the whole fleet around that of this host: calls for `host/name` go to that host, everything else is local.
//
// Answers of other hosts have their sessions' names as they are used here already (host-client.ts, tools/host-names.ts
// say why); only what has the shape of data (events, lists, approvals) is named here. What cannot be asked because the
// broker or a host is away is refused at once, and nothing local ever waits for either.

import type { Approval, Decision } from "../protocol/approval.ts";
import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault, type FaultCode, isFault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { within } from "../pty/wait.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { ABILITIES } from "../tools/abilities.ts";
import { type Placement, refusal } from "../tools/catalogue.ts";
import type {
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
	ToolCard,
	ToolSet,
	ViewChunk,
	ViewOptions,
} from "../tools/client.ts";
import { faultOnHost } from "../tools/host-names.ts";
import { type Caller, ownerOf } from "../tools/tool.ts";
import { type Aim, aimOf, type KnownHosts } from "./aim.ts";
import { approvalOn } from "./approval-on-host.ts";
import { isDialectList } from "./dialect-lists.ts";
import type { EventStream } from "./event-stream.ts";
import { cardInFleet } from "./fleet-cards.ts";
import { FleetLists } from "./fleet-lists.ts";
import { FleetPeople } from "./fleet-people.ts";
import type { FleetIdentity } from "./identity.ts";
import { MergedEvents } from "./merged-events.ts";
import { Placer } from "./placed-start.ts";
import type { Wanted } from "./placement.ts";
import type { FleetRegistry } from "./registry.ts";
import { splitReference } from "./session-names.ts";

/** Whose sessions alone a client of another host may reach; without it, as this daemon itself. */
export interface LimitedTo {
	readonly owner: string;
}

export interface FleetClientParts {
	readonly local: Client;
	readonly registry: Pick<
		FleetRegistry,
		| "awaySince"
		| "unheardSince"
		| "hosts"
		| "host"
		| "withSessions"
		| "sessions"
		| "find"
		| "hasSessionsOf"
		| "running"
		| "pins"
		| "onChange"
	>;
	/** The name of this host; null where it serves nobody, and so is none. */
	readonly host: string | null;
	/** As whom other hosts are asked. */
	readonly as: FleetIdentity;
	/** A LastingClient over a link. It stays the caller's own to dispose of. */
	readonly clientOf: (host: string, as?: LimitedTo) => Client;
	/** The caller of calls that name none. */
	readonly owner: string;
	/** Events of other hosts; without it, only local ones are told. */
	readonly events?: Pick<EventStream, "events">;
}

/** How long a list of all waits for the hosts' own. */
const ASKED_MS = 3000;
/** What a client of this daemon would take for the end of this daemon. */
const LINK_LOST: ReadonlySet<FaultCode> = new Set(["daemon_replaced", "no_daemon", "taken_over"]);

export class FleetClient implements Client {
	readonly #parts: FleetClientParts;
	readonly #known: KnownHosts;
	readonly #placer: Placer;
	readonly #events: MergedEvents;
	readonly #people: FleetPeople;
	readonly #lists: FleetLists;

	constructor(parts: FleetClientParts) {
		this.#parts = parts;
		const { registry, host, local, as } = parts;
		this.#known = {
			isKnown: (name) => name === host || registry.host(name) !== undefined,
			names: () => new Set([...(host === null ? [] : [host]), ...registry.hosts().map((view) => view.host)]),
		};
		this.#placer = new Placer({
			pins: registry.pins,
			hosts: () => registry.hosts(),
			hasEnded: async (name, session) => {
				const entry = await registry.find(name, session);
				return entry !== null && hasEnded(entry.status);
			},
			running: async (owner, name) => {
				const [found, ...others] = await registry.running(owner, name);
				return found === undefined || others.length > 0 ? null : found;
			},
		});
		this.#events = new MergedEvents(local, parts.events ?? null, {
			...(host !== null && { except: host }),
			...(as.owner !== null && { owner: as.owner }),
		});
		this.#lists = new FleetLists({ local, registry, host, ownerThere: (caller) => this.#ownerThere(caller) });
		this.#people = new FleetPeople({ local, registry, host, clientOf: (name) => parts.clientOf(name) });
	}

	/** Whose the sessions of other hosts are: of the owner that this machine's credentials are for, or the caller's own. */
	#ownerThere(caller: Caller | undefined): string {
		const { as, owner } = this.#parts;
		return as.owner ?? (caller === undefined ? owner : ownerOf(caller));
	}

	readonly call: Client["call"] = async (tool: string, input: unknown, options: CallOptions = {}): Promise<Answer> => {
		try {
			const aim = aimOf({ tool, input, sets: options.sets }, this.#known);
			if (aim.placement !== null) return await this.#place(tool, aim, aim.placement, options);
			if (tool === "list" && aim.host === null) return await this.#lists.list(aim.input, options);
			if (isDialectList(tool) && aim.host === null) return await this.#lists.inDialect(tool, aim.input, options);
			return await this.#callOn(aim.host, tool, aim.input, options);
		} catch (error) {
			if (!(error instanceof Fault)) throw error;
			await this.#refuseLost((Object(input) as { readonly session?: unknown }).session, error);
			// Those of a tool have its words already.
			const told = isOfFleet(error) ? refusal({ name: tool, input, sets: options.sets }, error) : error;
			if (told instanceof Fault) throw told;
			return told;
		}
	};

	/** Null: on this machine. */
	async #callOn(host: string | null, tool: string, input: unknown, options: CallOptions): Promise<Answer> {
		if (host === null || host === this.#parts.host) return this.#parts.local.call(tool as never, input, options);
		const client = this.#clientFor(host, options.caller);
		const caller = leaving(options.caller ?? { owner: this.#parts.owner, cwd: "/", env: {} });
		const asked = client.call(tool as never, input, { ...options, caller });
		return asked.catch((error: unknown) => {
			throw this.#asHostFault(error, host);
		});
	}

	/** A client of another host that can be asked now. */
	#clientFor(host: string, caller?: Caller): Client {
		const { registry, clientOf } = this.#parts;
		if (caller?.inside !== undefined)
			throw new Fault("inside_session", { what: "Using another host", session: caller.inside.id });
		const limited = limitedTo(caller);
		const { awaySince } = registry;
		if (awaySince !== null) throw new Fault("fleet_unreachable", { problem: "not connected", since: awaySince });
		const view = registry.host(host);
		if (view === undefined) throw new Fault("unknown_host", { host, hosts: [...this.#known.names()] });
		if (!view.reachable) throw new Fault("host_unreachable", { host, since: view.since });
		return limited === null ? clientOf(host) : clientOf(host, limited);
	}

	/** That the link to a host was lost, in words that no client takes for the end of its own daemon. */
	#asHostFault(error: unknown, host: string): unknown {
		if (!(error instanceof Fault) || !LINK_LOST.has(error.code)) return error;
		const view = this.#parts.registry.host(host);
		const since = view === undefined || view.reachable ? null : view.since;
		const maybeDone =
			(isFault(error, "daemon_replaced") && !error.facts.repeatable) ||
			(isFault(error, "taken_over") && error.facts.maybeTyped === true);
		return new Fault("host_unreachable", { host, since, ...(maybeDone && { maybeDone }) }, { cause: error });
	}

	async #place(tool: string, { input }: Aim, placement: Placement, options: CallOptions): Promise<Answer> {
		const { awaySince } = this.#parts.registry;
		if (awaySince !== null) throw new Fault("fleet_unreachable", { problem: "not connected", since: awaySince });
		if (options.caller?.inside !== undefined)
			throw new Fault("inside_session", { what: "Using another host", session: options.caller.inside.id });
		const { role } = this.#parts.as;
		if (!ABILITIES[role].includes("starts"))
			throw new Fault("not_allowed", { what: `Starting something over the fleet as \`${role}\`` });
		const wanted = this.#wanted(placement);
		if (wanted === null) return this.#callOn(null, tool, input, options);
		return this.#placer.start({
			wanted,
			owner: this.#ownerThere(options.caller),
			name: nameOf(tool, input),
			start: (host) => this.#callOn(host, tool, input, options),
		});
	}

	/** Null: on this machine, which is no host. */
	#wanted(placement: Placement): Wanted | null {
		if (placement === "least-loaded" || "labels" in placement) return placement;
		if ("sameAs" in placement) {
			const host = splitReference(placement.sameAs, (name) => this.#known.isKnown(name))?.host ?? this.#parts.host;
			return host === null ? null : { host };
		}
		const named = placement.host.trim().toLowerCase();
		if (!this.#known.isKnown(named)) throw new Fault("unknown_host", { host: named, hosts: [...this.#known.names()] });
		return { host: named };
	}

	async tools(sets?: readonly ToolSet[]): Promise<readonly ToolCard[]> {
		return (await this.#parts.local.tools(sets)).map(cardInFleet);
	}

	events(options: EventsOptions): AsyncIterable<SessionEvent | EventsDropped> {
		return this.#events.events(options);
	}

	async *output(session: string, options: OutputOptions): AsyncGenerator<OutputChunk> {
		yield* this.#stream(session, (client, reference) => client.output(reference, options));
	}

	async *view(session: string, options: ViewOptions): AsyncGenerator<ViewChunk> {
		yield* this.#stream(session, (client, reference) => client.view(reference, options));
	}

	async *drawn(session: string, options: DrawnOptions): AsyncGenerator<Uint8Array> {
		yield* this.#stream(session, (client, reference) => client.drawn(reference, options));
	}

	async *drivers(session: string, options: DriversOptions): AsyncGenerator<DriverView> {
		yield* this.#stream(session, (client, reference) => client.drivers(reference, options));
	}

	snapshot(session: string, options?: SnapshotOptions): Promise<ScreenSnapshot> {
		return this.#ask(session, (client, reference) => client.snapshot(reference, options));
	}

	act(session: string, act: PersonAct): Promise<PersonDone> {
		return this.#ask(session, (client, reference) => client.act(reference, act));
	}

	people(options: PeopleOptions): AsyncIterable<ListChange> {
		return this.#people.changes(options);
	}

	/** Those of this host, and of the others that answer. */
	async approvals(): Promise<readonly Approval[]> {
		const { local, registry, host, as, clientOf } = this.#parts;
		const asks = registry.awaySince === null && ABILITIES[as.role].includes("approves");
		const others = asks ? registry.hosts().filter((view) => view.reachable && view.host !== host) : [];
		const asked = others.map(async (view) => {
			const found = await within(ASKED_MS, "what waits for approval", clientOf(view.host).approvals());
			return found.map((approval) => approvalOn(view.host, approval));
		});
		const [here, ...there] = await Promise.allSettled([local.approvals(), ...asked]);
		if (here.status === "rejected") throw here.reason;
		const all = [...here.value, ...there.flatMap((one) => (one.status === "fulfilled" ? one.value : []))];
		return all.sort((a, b) => a.at - b.at);
	}

	decide(id: string, decision: Decision): Promise<Approval> {
		return this.#ask(id, async (client, own, host) => {
			const decided = await client.decide(own, decision);
			return host === null ? decided : approvalOn(host, decided);
		});
	}

	status(): Promise<DaemonStatus> {
		return this.#parts.local.status();
	}

	/** Which client is asked, and what the session is called there. */
	#meant(reference: string): { readonly client: Client; readonly reference: string; readonly host: string | null } {
		const { local, host } = this.#parts;
		const found = splitReference(reference, (name) => this.#known.isKnown(name));
		if (found === null) return { client: local, reference, host: null };
		if (found.host === host) return { client: local, reference: found.session, host: null };
		return { client: this.#clientFor(found.host), reference: found.session, host: found.host };
	}

	async #ask<T>(
		reference: string,
		ask: (client: Client, reference: string, host: string | null) => Promise<T>,
	): Promise<T> {
		const meant = this.#meant(reference);
		try {
			return await ask(meant.client, meant.reference, meant.host);
		} catch (error) {
			if (meant.host === null) await this.#refuseLost(reference, error);
			throw meant.host === null ? error : this.#refusedBy(error, meant.host);
		}
	}

	/** A session of a host that was not heard of since this daemon joined is not said to be missing. */
	async #refuseLost(session: unknown, error: unknown): Promise<void> {
		if (typeof session !== "string" || !isFault(error, "session_not_found")) return;
		const meant = splitReference(session, (name) => !this.#known.isKnown(name));
		if (meant === null) return;
		const { host } = meant;
		// Where the broker does not answer, the first refusal is the one to tell.
		if (await this.#parts.registry.hasSessionsOf(host).catch(() => false))
			throw new Fault("host_unreachable", { host, since: null }, { cause: error });
	}

	async *#stream<T>(
		reference: string,
		open: (client: Client, reference: string) => AsyncIterable<T>,
	): AsyncGenerator<T> {
		const meant = this.#meant(reference);
		try {
			yield* open(meant.client, meant.reference);
		} catch (error) {
			if (meant.host === null) await this.#refuseLost(reference, error);
			throw meant.host === null ? error : this.#refusedBy(error, meant.host);
		}
	}

	/** What a host refuses beside calls, whose refusals have our names when they arrive. */
	#refusedBy(error: unknown, host: string): unknown {
		const fault = this.#asHostFault(error, host);
		return fault instanceof Fault ? faultOnHost(fault, { onHost: host }) : fault;
	}

	/** Ends what it does itself; the clients that it was given are their makers'. */
	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all([this.#events[Symbol.asyncDispose](), this.#people[Symbol.asyncDispose]()]);
	}
}

const OF_FLEET: ReadonlySet<FaultCode> = new Set([
	...([
		"fleet_unreachable",
		"host_unreachable",
		"unknown_host",
		"no_host_fits",
		"inside_session",
		"bad_input",
	] as const),
	"not_allowed",
]);
const isOfFleet = ({ code }: Fault): boolean => OF_FLEET.has(code);

/** What leaves this host of a caller: who it is, and nothing of its environment. */
function leaving({ owner, sessionsOf, commandLine, parent }: Caller): Caller {
	return { owner, sessionsOf, commandLine, parent, cwd: "/", env: {} };
}

/** A caller whose token is limited reaches no more on another host: there only an owner can be enforced. */
function limitedTo(caller: Caller | undefined): LimitedTo | null {
	const scope = caller?.scope;
	if (scope === undefined) return null;
	if ("owner" in scope && !scope.owner.includes("*")) return { owner: scope.owner };
	throw new Fault("not_allowed", { what: "Using another host with a token for some sessions only" });
}

/** What a start is called by its caller. */
function nameOf(tool: string, input: unknown): { kind: "session" | "shell"; name: string } | null {
	const { name, shell } = Object(input) as { readonly name?: unknown; readonly shell?: unknown };
	if (tool === "run") return { kind: "shell", name: typeof shell === "string" ? shell : "main" };
	return typeof name === "string" ? { kind: "session", name } : null;
}
