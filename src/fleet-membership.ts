// The daemon's membership in a fleet: joined by a person, kept in a file, resumed by the next daemon. Nothing local ever
// waits for it. The libraries of the broker are loaded when a fleet is joined, not before.

import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { FleetControl } from "./daemon/fleet-control.ts";
import type { Daemon } from "./daemon/run.ts";
import type { FleetConnection } from "./fleet/connection.ts";
import { HeardTo } from "./fleet/heard-to.ts";
import { hostStatus } from "./fleet/host-status.ts";
import type { FleetMember } from "./fleet/member.ts";
import { MergedEvents } from "./fleet/merged-events.ts";
import type { Prepared } from "./fleet/prepared.ts";
import { type FleetState, problemOf, SwitchClient } from "./fleet/switch-client.ts";
import { FleetFile } from "./fleet-file.ts";
import { Fault, isFault } from "./protocol/fault.ts";
import { type FleetStatus, type FleetWish, REFUSED, TAKEN, UNHEARD } from "./protocol/fleet.ts";
import { Listeners } from "./protocol/listeners.ts";
import { bootId } from "./pty/boot-id.ts";
import { settled, wait, within } from "./pty/wait.ts";
import { inParallel } from "./session/in-parallel.ts";
import { hasEnded } from "./session/lifecycle.ts";
import type { Sessions } from "./session/sessions.ts";
import type { Client } from "./tools/client.ts";
import { VERSION } from "./version.ts";

/** What a person waits for at most who joins. */
const JOIN_MS = 20_000;
/** For the fleet that is joined to tell of events, before the one that was joined does no more. */
const LISTEN_MS = 2000;
/** What was not taken back by then is left to the broker, whose leases end by themselves. */
const LEAVE_MS = 3000;
/** Between two tries to join again. */
const RETRY_MS = { first: 250, most: 5000 };
const UNUSABLE = "its credentials cannot be used: `dialtone fleet status` says why";
const PARALLEL_LOOKS = 8;
const LOOK_MS = 1000;
/** A call that is under way waits for a machine that has taken back its lease: a daemon that is restarted is back by then. */
const RESTARTED_MS = 3000;

export interface FleetMembershipParts {
	readonly state: string;
	readonly local: Client;
	readonly sessions: Sessions;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/** A fleet in which this machine is, or is to be. */
interface Joined {
	readonly wish: FleetWish;
	readonly since: number;
	/** Why it is not a member yet; null until the first try has failed. */
	problem: string | null;
	/** Null where the credentials cannot be read. */
	prepared: Prepared | null;
	connection: FleetConnection | null;
	member: FleetMember | null;
	readonly left: AbortController;
	/** Given up for good, and not only until the next daemon. */
	isGivenUp: boolean;
}

export class FleetMembership implements FleetControl {
	/** For all who ask this daemon. */
	readonly client: SwitchClient;
	readonly #parts: FleetMembershipParts;
	readonly #file: FleetFile;
	readonly #changed = new Listeners<void>("fleet membership");
	readonly #events: MergedEvents;
	readonly #heard: HeardTo;
	#daemon: Pick<Daemon, "serve" | "lock"> | null = null;
	#joined: Joined | null = null;
	/** Joins and leaves, one after the other. The one asked for last counts: those before it are given up. */
	#turns: Promise<unknown> = Promise.resolve();
	#lastAsked = 0;
	#pending: Joined | null = null;
	/** The daemon before was a member, and this one has not come as far: to callers, it is not connected. */
	#resuming: Exclude<FleetState, string | { client: Client }> | null;

	constructor(parts: FleetMembershipParts) {
		this.#parts = parts;
		this.#file = new FleetFile(parts.state);
		this.#heard = new HeardTo(join(parts.state, "fleet-events.json"));
		this.#resuming = this.#file.exists ? { host: null, asks: true, problem: null, since: Date.now() } : null;
		this.#events = new MergedEvents(parts.local, parts.sessions.options.eventsKept);
		this.client = new SwitchClient({
			local: parts.local,
			events: this.#events,
			state: () => this.#state(),
			onChange: (listener) => this.#changed.add(listener),
		});
	}

	/** Called when it joins or leaves. */
	onChange(listener: () => void): () => void {
		return this.#changed.add(listener);
	}

	/** Once the daemon listens: joins again where the one before was a member, however long that takes. */
	async resume(daemon: Pick<Daemon, "serve" | "lock">): Promise<void> {
		this.#daemon = daemon;
		const wish = await this.#file.read();
		await this.#heard.load();
		// There is nothing to resume, or a person was faster.
		if (wish === null || this.#resuming === null) {
			this.#resuming = null;
			this.#changed.emit();
			return;
		}
		this.#resuming = null;
		const joined = joining(wish);
		this.#joined = joined;
		this.#changed.emit();
		await this.#again(joined);
	}

	/** Tries until it is a member or leaves: files and servers are put right while it runs. */
	async #again(joined: Joined): Promise<void> {
		const { signal } = joined.left;
		for (let ms = RETRY_MS.first; !signal.aborted; ms = Math.min(2 * ms, RETRY_MS.most)) {
			try {
				await this.#become(joined);
				this.#changed.emit();
				return;
			} catch (error) {
				await release(joined);
				const problem = problemIn(error);
				if (problem !== joined.problem && !signal.aborted) this.#parts.onProblem(error, "joining the fleet");
				const wasFirst = joined.problem === null;
				joined.problem = problem;
				if (wasFirst) this.#changed.emit(); // calls wait for no more than that
			}
			await delay(ms, undefined, { signal }).catch(() => {}); // it has left
		}
	}

	join(wish: FleetWish): Promise<FleetStatus> {
		return this.#inTurn(async (isLast) => {
			if (!isLast()) throw overtaken();
			const joined = joining(wish);
			this.#pending = joined;
			const becoming = this.#become(joined);
			try {
				await this.#asMember(joined, becoming);
				await this.#heard.forget();
				await this.#file.write(wish);
			} catch (error) {
				await this.#giveUp(joined, becoming);
				throw error instanceof Fault ? error : new Fault("fleet_unreachable", { problem: problemIn(error) });
			} finally {
				this.#pending = null;
			}
			const before = this.#joined;
			this.#resuming = null;
			this.#joined = joined;
			this.#changed.emit();
			// Where it is the same name in the same fleet, that is ours by now, and stays.
			if (before !== null) await this.#end(before, { forGood: true });
			return this.status()!;
		});
	}

	/** As it was before. What still goes on of it ends itself when it comes so far. */
	async #giveUp(joined: Joined, becoming: Promise<void>): Promise<void> {
		const { wish, prepared } = this.#joined ?? {};
		const [before, now] = [wish, joined.wish].map((one) => [one?.servers, one?.credentials]);
		// Under the name that this machine has there already, nothing is taken back.
		joined.isGivenUp =
			prepared?.options.host !== joined.prepared?.options.host || JSON.stringify(before) !== JSON.stringify(now);
		joined.left.abort();
		await within(LEAVE_MS, "joining the fleet", becoming).catch(() => {}); // told already, or ends itself later
		await this.#end(joined, { forGood: joined.isGivenUp });
	}

	leave(): Promise<void> {
		return this.#inTurn(async () => {
			await this.#file.remove();
			await this.#heard.forget();
			const joined = this.#joined;
			this.#resuming = null;
			this.#joined = null;
			this.#changed.emit();
			if (joined !== null) await this.#end(joined, { forGood: true });
		});
	}

	#inTurn<T>(act: (isLast: () => boolean) => Promise<T>): Promise<T> {
		const number = ++this.#lastAsked;
		this.#pending?.left.abort(overtaken());
		const turn = this.#turns.then(() => act(() => number === this.#lastAsked));
		this.#turns = turn.catch(() => {});
		return turn;
	}

	async forget(host: string): Promise<number> {
		const { member } = this.#joined ?? {};
		if (this.#joined === null) throw new Fault("not_in_fleet", { what: "Removing a host" });
		if (!member) throw new Fault("fleet_unreachable", { problem: problemOf(this.#joined), since: this.#joined.since });
		const { as } = member.connection.options;
		if (as.role !== "admin" || as.owner !== null)
			throw new Fault("not_allowed", { what: `Removing a host from the fleet as \`${this.status()!.role}\`` });
		const { awaySince, unheardSince } = member.registry;
		const since = awaySince ?? unheardSince;
		if (since !== null) throw new Fault("fleet_unreachable", { problem: "its servers tell nothing", since });
		return member.registry.forget(host.trim().toLowerCase());
	}

	status(): FleetStatus | null {
		if (this.#joined === null) return null;
		const { wish, prepared, member, since } = this.#joined;
		const connected = member?.registry.connected;
		const awaySince = connected?.awaySince ?? null;
		const isConnected = member !== null && awaySince === null;
		const lost = connected?.isRefused ? REFUSED : "the connection to its servers is lost";
		const unheard = member?.registry.unheardSince == null ? null : UNHEARD;
		const taken = member?.registry.lease?.isTaken ? TAKEN : null;
		return {
			host: prepared?.options.host ?? wish.host ?? null,
			servers: prepared?.options.servers ?? wish.servers,
			role: prepared === null ? null : prepared.asks ? prepared.options.as.role : "host",
			owner: prepared?.options.as.owner ?? null,
			serves: prepared?.serves ?? false,
			labels: wish.labels,
			connected: isConnected,
			problem: isConnected ? (taken ?? unheard) : member === null ? problemOf(this.#joined) : lost,
			since: awaySince ?? connected?.since ?? since,
			hosts: member === null ? [] : hostsSeenBy(member),
		};
	}

	/** Ends with the daemon; the next one joins again. */
	close(): Promise<void> {
		return this.#inTurn(async () => {
			const joined = this.#joined;
			this.#joined = null;
			if (joined !== null) await this.#end(joined);
			await this.#events[Symbol.asyncDispose]();
			await this.#heard[Symbol.asyncDispose]();
		});
	}

	#state(): FleetState {
		if (this.#joined === null) return this.#resuming ?? "in no fleet";
		const { member, problem, since, prepared, wish } = this.#joined;
		const host = prepared?.options.host ?? wish.host ?? null;
		if (member !== null)
			return { client: member.client, host: member.connection.options.host, asks: prepared?.asks ?? true };
		// Without credentials that can be read it may become anything. Where they are is not for all who call.
		const told = problem === null || prepared !== null ? problem : UNUSABLE;
		return { host, asks: prepared?.asks ?? true, problem: told, since };
	}

	/** Under a name that nobody else has, and hearing of events; until it is given up. */
	async #asMember(joined: Joined, becoming: Promise<void>): Promise<void> {
		const known = async () => {
			await becoming;
			const lease = joined.member?.registry.lease ?? null;
			await lease?.known();
			if (lease?.isTaken) throw new Fault("host_taken", { host: joined.prepared!.options.host });
		};
		const { signal } = joined.left;
		await wait([settled(within(JOIN_MS, "joining the fleet", known()))], { signal });
		// Where the servers do not answer, events are missed like all else.
		const listening = within(LISTEN_MS, "events of the fleet", joined.member!.listening).catch(() => {});
		await wait([settled(listening)], { signal });
	}

	async #become(joined: Joined): Promise<void> {
		const daemon = this.#daemon;
		if (daemon === null) throw new Fault("fleet_unreachable", { problem: "the daemon is still starting" });
		const [{ prepared }, { FleetConnection }, { FleetMember }, { clientOfHost, serveLinks }, { asHost }] =
			await Promise.all([
				import("./fleet/prepared.ts"),
				import("./fleet/connection.ts"),
				import("./fleet/member.ts"),
				import("./fleet-links.ts"),
				import("./fleet/host-client.ts"),
			]);
		const { local, sessions, onProblem } = this.#parts;
		joined.prepared = null; // the files may have changed since the last try
		joined.prepared = prepared(joined.wish);
		const { options, serves, asks, makes } = joined.prepared;
		const { signal } = joined.left;
		signal.throwIfAborted();
		const connection = await FleetConnection.connect(options);
		joined.connection = connection;
		// Nothing is told of this machine where it has left meanwhile.
		if (signal.aborted) await release(joined);
		signal.throwIfAborted();
		const { host } = options;
		joined.member = await FleetMember.open({
			connection,
			local,
			merged: this.#events,
			// Of this fleet, and not of the one before.
			heard: () => (this.#joined === joined ? this.#heard.last : null),
			onHeard: (seen) => this.#joined === joined && this.#heard.note(seen),
			sessions,
			freshen: () => freshened(sessions),
			serves,
			asks,
			makes,
			version: VERSION,
			bootId: bootId(),
			home: homeId(this.#parts.state),
			epoch: daemon.lock.epoch,
			capacity: sessions.options.maxSessions,
			serve: (over) => serveLinks({ connection: over, daemon, local: asHost(local, host), sessions }),
			connect: (over, other, as) =>
				clientOfHost({
					connection: over,
					host: other,
					as,
					caller: { owner: "daemon", cwd: "/", env: {} },
					isAway: () => {
						const view = joined.member?.registry.host(other);
						return view?.reachable === false && Date.now() - (view.since ?? 0) > RESTARTED_MS;
					},
				}),
			onProblem,
		});
		joined.member.registry.connected.onRefused(() => void this.#readAgain(joined, prepared));
		// It has left meanwhile.
		if (joined.left.signal.aborted) await this.#end(joined, { forGood: joined.isGivenUp });
	}

	/** Its user was removed: joins anew where the file has another key by now. */
	async #readAgain(joined: Joined, prepare: (wish: FleetWish) => Prepared): Promise<void> {
		const used = joined.prepared;
		if (joined.member === null || joined.left.signal.aborted || used === null) return;
		try {
			if (prepare(joined.wish).options.inboxPrefix === used.options.inboxPrefix) return;
		} catch {
			return; // the file is gone or being written: looked at again with the next refusal
		}
		joined.problem = REFUSED;
		await release(joined).catch((error: unknown) => this.#parts.onProblem(error, "leaving the fleet"));
		this.#changed.emit();
		await this.#again(joined);
	}

	async #end(joined: Joined, options: { readonly forGood?: boolean } = {}): Promise<void> {
		await within(LEAVE_MS, "leaving the fleet", end(joined, options)).catch((error: unknown) =>
			this.#parts.onProblem(error, "leaving the fleet"),
		);
	}
}

/** Verdicts that may not hold any more: others see what is told of a session, and cannot look. */
async function freshened(sessions: Sessions): Promise<void> {
	const live = sessions
		.list()
		.flatMap(({ record, session }) => (session === null || hasEnded(record.state) ? [] : session));
	const due = live.filter(
		({ ended, attention, attentionAt, lastOutputAt }) =>
			!ended && (attentionAt === 0 || lastOutputAt >= attentionAt || attention.activity === "working"),
	);
	await inParallel(PARALLEL_LOOKS, due, async (session) => {
		await within(LOOK_MS, "a refresh", session.refresh()).catch(() => {}); // the last verdict stays
	});
}

/** `forGood`: others list nothing of this machine any more. */
async function end(joined: Joined, { forGood = false }: { readonly forGood?: boolean } = {}): Promise<void> {
	joined.left.abort();
	joined.isGivenUp ||= forGood;
	if (forGood) await joined.member?.registry.leave();
	await release(joined);
}

async function release(joined: Joined): Promise<void> {
	const { member, connection } = joined;
	joined.member = null;
	joined.connection = null;
	try {
		await member?.[Symbol.asyncDispose]();
	} finally {
		await connection?.[Symbol.asyncDispose]();
	}
}

/** Of others nothing is known while the servers tell nothing. */
function hostsSeenBy({ registry, connection }: FleetMember): FleetStatus["hosts"] {
	const { lostSince } = registry;
	const own = registry.lease === null ? null : connection.options.host;
	return registry.hosts().map((view) => hostStatus(view, VERSION, view.host === own ? null : lostSince));
}

/** One of the daemons of this machine: another user's has another directory. */
function homeId(state: string): string {
	const { dev, ino } = statSync(state);
	return `${dev}-${ino}`;
}

const joining = (wish: FleetWish): Joined => ({
	wish,
	since: Date.now(),
	problem: null,
	prepared: null,
	connection: null,
	member: null,
	left: new AbortController(),
	isGivenUp: false,
});

const overtaken = () =>
	new Fault("fleet_unreachable", { problem: "another `join` or `leave` has been asked for since" });

function problemIn(error: unknown): string {
	if (isFault(error, "fleet_unreachable") || isFault(error, "fleet_files_unusable")) return error.facts.problem;
	return error instanceof Error ? error.message : String(error);
}
