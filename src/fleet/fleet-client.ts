// A Client of the whole fleet around that of this host: calls for `host/name` go to that host, everything else is local.
//
// Answers of other hosts have their sessions' names as they are used here already (host-client.ts, tools/host-names.ts
// say why); only what has the shape of data (events, lists, approvals) is named here. What cannot be asked because the
// broker or a host is away is refused at once, and nothing local ever waits for either.

import type { Approval, Decision } from "../protocol/approval.ts";
import type { PersonAct } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault, type FaultCode, isFault } from "../protocol/fault.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { within } from "../pty/wait.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { observerOf } from "../session/observer.ts";
import { ABILITIES } from "../tools/abilities.ts";
import { findTool, type Placement, refusal } from "../tools/catalogue.ts";
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
	SessionClient,
	SnapshotOptions,
	ToolCard,
	ToolSet,
	ViewOptions,
} from "../tools/client.ts";
import { type Caller, ownerOf } from "../tools/tool.ts";
import { type Aim, aimOf, hostOfNewName, type KnownHosts } from "./aim.ts";
import { approvalOn } from "./approval-on-host.ts";
import { isDialectList } from "./dialect-lists.ts";
import { farReachOf, knownTo, mustBeWithin, reachesOthers, toldTo } from "./far-reach.ts";
import { cardInFleet } from "./fleet-cards.ts";
import { FleetLists } from "./fleet-lists.ts";
import { FleetPeople } from "./fleet-people.ts";
import { FleetSessions } from "./fleet-sessions.ts";
import type { FleetIdentity } from "./identity.ts";
import { type LimitedTo, OtherHosts } from "./other-hosts.ts";
import { Placer } from "./placed-start.ts";
import type { Wanted } from "./placement.ts";
import type { FleetRegistry } from "./registry.ts";
import { splitReference } from "./session-names.ts";
import { isHostName } from "./subjects.ts";

export interface FleetClientParts {
	readonly local: Client;
	readonly registry: Pick<
		FleetRegistry,
		| "awaySince"
		| "unheardSince"
		| "doubtful"
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
	/** Of this daemon. */
	readonly version: string;
	/** The caller of calls that name none. */
	readonly owner: string;
	/** Those of all hosts. */
	readonly events: Pick<Client, "events">;
}

/** How long a list of all waits for the hosts' own. */
const ASKED_MS = 3000;
export class FleetClient implements Client {
	readonly #parts: FleetClientParts;
	readonly #known: KnownHosts;
	readonly #hosts: OtherHosts;
	readonly #placer: Placer;
	readonly #people: FleetPeople;
	readonly #lists: FleetLists;
	readonly #sessions: FleetSessions;

	constructor(parts: FleetClientParts) {
		this.#parts = parts;
		const { registry, host, local, clientOf, version } = parts;
		this.#hosts = new OtherHosts({ registry, clientOf, version });
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
		this.#lists = new FleetLists({ local, registry, host, version, ownerThere: (caller) => this.#ownerThere(caller) });
		this.#sessions = this.#sessionsOf({ local, as: null });
		this.#people = new FleetPeople({ local, registry, host, version, clientOf: (name) => parts.clientOf(name) });
	}

	/** Whose the sessions of other hosts are: of the owner that this machine's credentials are for, or the caller's own. */
	#ownerThere(caller: Caller | undefined): string {
		const { as, owner } = this.#parts;
		return as.owner ?? (caller === undefined ? owner : ownerOf(caller));
	}

	readonly call: Client["call"] = async (tool: string, input: unknown, options: CallOptions = {}): Promise<Answer> => {
		try {
			const known = knownTo(farReachOf(options.caller), this.#known);
			const asked = { tool, input, sets: options.sets };
			const aim = aimOf(asked, known);
			// Here it would be a name that cannot be: its host may be one that was not heard of since this daemon began.
			const unknown = aim.host === null && reachesOthers(options.caller) ? hostOfNewName(asked) : null;
			if (unknown !== null) throw new Fault("unknown_host", { host: unknown, hosts: [...known.names()] });
			if (aim.placement !== null) return await this.#place(tool, aim, aim.placement, options);
			if (tool === "list" && aim.host === null) return await this.#lists.list(aim.input, options);
			if (isDialectList(tool) && aim.host === null) return await this.#lists.inDialect(tool, aim.input, options);
			return await this.#callOn(aim.host, tool, aim.input, options);
		} catch (thrown) {
			const error = reachesOthers(options.caller)
				? toldTo(farReachOf(options.caller), await this.#orLost(thrown))
				: thrown;
			if (!(error instanceof Fault)) throw error;
			// Those of a tool have its words already.
			const told = isOfFleet(error) ? refusal({ name: tool, input, sets: options.sets }, error) : error;
			if (told instanceof Fault) throw told;
			return told;
		}
	};

	/** Null: on this machine. */
	async #callOn(host: string | null, tool: string, input: unknown, options: CallOptions): Promise<Answer> {
		if (host === null || host === this.#parts.host) return this.#parts.local.call(tool as never, input, options);
		const reach = farReachOf(options.caller);
		const fields = Object.keys(findTool(tool, input, options.sets)?.input.shape ?? {});
		mustBeWithin(reach, { host, tool, input, fields });
		const client = this.#clientFor(host, options.caller);
		const caller = leaving(options.caller ?? { owner: this.#parts.owner, cwd: "/", env: {} });
		const asked = client.call(tool as never, input, { ...options, caller });
		return asked.catch((error: unknown) => {
			throw toldTo(reach, this.#hosts.refusedCall(error, host));
		});
	}

	/** A client of another host that can be asked now. */
	#clientFor(host: string, caller?: Caller): Client {
		mustBeOutside(caller);
		const reach = farReachOf(caller);
		const as = "owner" in reach && reach.owner !== null ? { owner: reach.owner } : null;
		return this.#hosts.client(host, as, knownTo(reach, this.#known).names());
	}

	async #place(tool: string, { input }: Aim, placement: Placement, options: CallOptions): Promise<Answer> {
		this.#hosts.mustBeConnected();
		mustBeOutside(options.caller);
		const { role } = this.#parts.as;
		if (!("owner" in farReachOf(options.caller)))
			throw new Fault("not_allowed", { what: "Choosing a host with a token for some sessions only" });
		if (!ABILITIES[role].includes("starts"))
			throw new Fault("not_allowed", { what: `Starting something over the fleet as \`${role}\`` });
		const wanted = await this.#wanted(placement, options);
		if (wanted === null) return this.#callOn(null, tool, input, options);
		return this.#placer.start({
			wanted,
			owner: this.#ownerThere(options.caller),
			name: nameOf(tool, input),
			id: idOf(tool, input),
			start: (host) => this.#callOn(host, tool, input, options),
		});
	}

	/** Null: on this machine, which is no host. */
	async #wanted(placement: Placement, options: CallOptions): Promise<Wanted | null> {
		if (placement === "least-loaded" || "labels" in placement) return placement;
		if ("sameAs" in placement) {
			const host = await this.#hostOf(placement.sameAs, options);
			return host === null ? null : { host };
		}
		const named = placement.host.trim().toLowerCase();
		if (!this.#known.isKnown(named)) throw new Fault("unknown_host", { host: named, hosts: [...this.#known.names()] });
		return { host: named };
	}

	/** The host of a session that this caller may read; null: this machine, which is no host. */
	async #hostOf(session: string, { caller, signal }: CallOptions): Promise<string | null> {
		const found = splitReference(session, (name) => this.#known.isKnown(name));
		const input = { session: found?.session ?? session, view: "screen" };
		const by = observerOf(caller ?? { owner: this.#parts.owner, cwd: "/", env: {} });
		await this.#callOn(found?.host ?? null, "read", input, { caller: by, ...(signal !== undefined && { signal }) });
		return found?.host ?? this.#parts.host;
	}

	async tools(sets?: readonly ToolSet[]): Promise<readonly ToolCard[]> {
		return (await this.#parts.local.tools(sets)).map(cardInFleet);
	}

	events(options: EventsOptions): AsyncIterable<SessionEvent | EventsDropped> {
		return this.#parts.events.events(options);
	}

	output(session: string, options: OutputOptions) {
		return this.#sessions.output(session, options);
	}

	view(session: string, options: ViewOptions) {
		return this.#sessions.view(session, options);
	}

	drawn(session: string, options: DrawnOptions) {
		return this.#sessions.drawn(session, options);
	}

	drivers(session: string, options: DriversOptions) {
		return this.#sessions.drivers(session, options);
	}

	snapshot(session: string, options?: SnapshotOptions) {
		return this.#sessions.snapshot(session, options);
	}

	act(session: string, act: PersonAct, options?: ActOptions) {
		return this.#sessions.act(session, act, options);
	}

	ofOwner(owner: string): SessionClient {
		return this.#sessionsOf({ local: null, as: { owner } });
	}

	#sessionsOf({ local, as }: { readonly local: Client | null; readonly as: LimitedTo | null }): FleetSessions {
		return new FleetSessions({
			local,
			host: this.#parts.host,
			isKnown: (name) => this.#known.isKnown(name),
			clientOf: (name) => this.#hosts.client(name, as, as === null ? this.#known.names() : []),
			refused: (error, name) => this.#hosts.refused(error, name),
			orLost: (error) => this.#orLost(error),
		});
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
			return found.map((approval) => approvalOn(view.host, approval, view.clockMs));
		});
		const [here, ...there] = await Promise.allSettled([local.approvals(), ...asked]);
		if (here.status === "rejected") throw here.reason;
		const all = [...here.value, ...there.flatMap((one) => (one.status === "fulfilled" ? one.value : []))];
		return all.sort((a, b) => a.at - b.at);
	}

	decide(id: string, decision: Decision): Promise<Approval> {
		return this.#sessions.ask(id, async ({ client, reference, host }) => {
			const decided = await client.decide(reference, decision);
			return host === null ? decided : approvalOn(host, decided);
		});
	}

	status(): Promise<DaemonStatus> {
		return this.#parts.local.status();
	}

	/** A host that was not heard of since we joined is lost where its sessions are on record, and maybe there where nobody tells. */
	async #orLost(error: unknown): Promise<unknown> {
		const host = this.#unknownHost(error);
		if (host === null) return error;
		try {
			const isLost = await this.#parts.registry.hasSessionsOf(host);
			if (isLost) return new Fault("host_unreachable", { host, since: null }, { cause: error });
			return new Fault("unknown_host", { host, hosts: [...this.#known.names()] }, { cause: error });
		} catch (problem) {
			return isFault(problem, "fleet_unreachable") ? problem : error;
		}
	}

	/** The host for which nothing was found. */
	#unknownHost(error: unknown): string | null {
		if (isFault(error, "unknown_host")) {
			const host = error.facts.host.trim().toLowerCase();
			return isHostName(host) ? host : null;
		}
		if (!isFault(error, "session_not_found")) return null;
		const { id, others = [], removed } = error.facts;
		if (others.length > 0 || removed !== undefined) return null;
		return splitReference(id, (name) => !this.#known.isKnown(name))?.host ?? null;
	}

	/** Ends what it does itself; the clients that it was given are their makers'. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.#people[Symbol.asyncDispose]();
	}
}

const OF_FLEET: ReadonlySet<FaultCode> = new Set([
	...([
		"fleet_unreachable",
		"host_unreachable",
		"host_version",
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

function mustBeOutside(caller: Caller | undefined): void {
	if (caller?.inside === undefined) return;
	throw new Fault("inside_session", { what: "Using another host", session: caller.inside.id });
}

/** What a start is called by its caller. */
function nameOf(tool: string, input: unknown): { kind: "session" | "shell"; name: string } | null {
	const { name, shell } = Object(input) as { readonly name?: unknown; readonly shell?: unknown };
	if (tool === "run") return { kind: "shell", name: typeof shell === "string" ? shell : "main" };
	return typeof name === "string" ? { kind: "session", name } : null;
}

function idOf(tool: string, input: unknown): string | null {
	const { id } = Object(input) as { readonly id?: unknown };
	return tool === "start" && typeof id === "string" ? id : null;
}
