// The daemon's membership in a fleet: joined by a person, kept in a file, resumed by the next daemon. Nothing local ever
// waits for it. The libraries of the broker are loaded when a fleet is joined, not before.

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { FleetControl } from "./daemon/fleet-control.ts";
import type { Daemon } from "./daemon/run.ts";
import type { FleetConnection, FleetOptions } from "./fleet/connection.ts";
import type { FleetMember } from "./fleet/member.ts";
import { type FleetState, SwitchClient } from "./fleet/switch-client.ts";
import type { HostView } from "./fleet/view.ts";
import { checked, MAX_BYTES, parseObject, readCache, replaceState } from "./journal/state-file.ts";
import { Fault } from "./protocol/fault.ts";
import type { FleetHostStatus, FleetStatus, FleetWish } from "./protocol/fleet.ts";
import { Listeners } from "./protocol/listeners.ts";
import { bootId } from "./pty/boot-id.ts";
import { within } from "./pty/wait.ts";
import { inParallel } from "./session/in-parallel.ts";
import { hasEnded } from "./session/lifecycle.ts";
import type { Sessions } from "./session/sessions.ts";
import type { Client } from "./tools/client.ts";
import { VERSION } from "./version.ts";

const FILE = "fleet.json";
/** What a person waits for at most who joins. */
const JOIN_MS = 20_000;
/** What was not taken back by then is left to the broker, whose leases end by themselves. */
const LEAVE_MS = 3000;
const RETRY_MS = { first: 500, most: 5000 };
const PARALLEL_LOOKS = 8;
const LOOK_MS = 1000;

const kept = z.object({
	servers: z.array(z.string()),
	credentials: z.exactOptional(z.string()),
	host: z.exactOptional(z.string()),
	labels: z.record(z.string(), z.string()),
});

export interface FleetMembershipParts {
	readonly state: string;
	readonly local: Client;
	readonly sessions: Sessions;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/** What was asked for, as far as it is known before a connection. */
interface Joined {
	readonly wish: FleetWish;
	readonly options: FleetOptions;
	readonly serves: boolean;
	readonly asks: boolean;
	readonly since: number;
	problem: string;
	connection: FleetConnection | null;
	member: FleetMember | null;
	readonly left: AbortController;
}

export class FleetMembership implements FleetControl {
	/** For all who ask this daemon. */
	readonly client: Client;
	readonly #parts: FleetMembershipParts;
	readonly #changed = new Listeners<void>("fleet membership");
	#daemon: Pick<Daemon, "serve" | "lock"> | null = null;
	#joined: Joined | null = null;
	/** The daemon before was a member, and this one has not come as far: to callers, it is not connected. */
	#resuming: { problem: string; readonly since: number } | null;

	constructor(parts: FleetMembershipParts) {
		this.#parts = parts;
		this.#resuming = existsSync(join(parts.state, FILE)) ? { problem: "connecting", since: Date.now() } : null;
		this.client = new SwitchClient(parts.local, () => this.#state());
	}

	/** Called when it joins or leaves. */
	onChange(listener: () => void): () => void {
		return this.#changed.add(listener);
	}

	/** Once the daemon listens: joins again where the one before was a member, however long that takes. */
	async resume(daemon: Pick<Daemon, "serve" | "lock">): Promise<void> {
		this.#daemon = daemon;
		const wish = await readCache({
			path: join(this.#parts.state, FILE),
			maxBytes: MAX_BYTES.fleet,
			parse: (text) => checked(kept, parseObject(text)),
		});
		if (wish === null) {
			this.#resuming = null;
			return;
		}
		const joined = await prepared(wish).catch((error: unknown) => {
			if (this.#resuming !== null) this.#resuming.problem = messageOf(error);
			throw error;
		});
		// A person was faster.
		if (this.#resuming === null) return;
		this.#resuming = null;
		this.#joined = joined;
		this.#changed.emit();
		const { signal } = joined.left;
		// Servers that have no majority yet are connected, and refuse.
		for (let ms = RETRY_MS.first; !signal.aborted; ms = Math.min(2 * ms, RETRY_MS.most)) {
			try {
				return await this.#become(joined, signal);
			} catch (error) {
				if (signal.aborted) return;
				joined.problem = messageOf(error);
				if (ms === RETRY_MS.first) this.#parts.onProblem(error, "joining the fleet");
				const { connection } = joined;
				joined.connection = null;
				await connection?.[Symbol.asyncDispose]();
			}
			await delay(ms, undefined, { signal }).catch(() => {}); // it has left meanwhile
		}
	}

	async join(wish: FleetWish): Promise<FleetStatus> {
		const joined = await prepared(wish);
		const before = this.#joined;
		try {
			await within(JOIN_MS, "joining the fleet", this.#become(joined));
		} catch (error) {
			await end(joined);
			throw error instanceof Fault ? error : new Fault("fleet_unreachable", { problem: messageOf(error) });
		}
		await replaceState(join(this.#parts.state, FILE), JSON.stringify(wish));
		this.#resuming = null;
		this.#joined = joined;
		this.#changed.emit();
		if (before !== null) await this.#end(before);
		return this.status()!;
	}

	async leave(): Promise<void> {
		await rm(join(this.#parts.state, FILE), { force: true });
		const joined = this.#joined;
		this.#resuming = null;
		this.#joined = null;
		this.#changed.emit();
		if (joined !== null) await this.#end(joined);
	}

	status(): FleetStatus | null {
		if (this.#joined === null) return null;
		const { options, member, problem, since } = this.#joined;
		const { host, servers, labels, as } = options;
		const awaySince = member?.registry.awaySince ?? null;
		const isConnected = member !== null && awaySince === null;
		return {
			host,
			servers,
			role: this.#joined.asks ? as.role : "host",
			owner: as.owner,
			labels,
			connected: isConnected,
			problem: isConnected ? null : member === null ? problem : "the connection to its servers is lost",
			since: awaySince ?? since,
			hosts: member?.registry.hosts().map(told) ?? [],
		};
	}

	/** Ends with the daemon; the next one joins again. */
	async close(): Promise<void> {
		const joined = this.#joined;
		this.#joined = null;
		if (joined !== null) await this.#end(joined);
	}

	#state(): FleetState {
		if (this.#joined === null) return this.#resuming ?? "in no fleet";
		const { member, problem, since } = this.#joined;
		return member === null ? { problem, since } : { client: member.client };
	}

	/** With a signal it tries until that aborts. */
	async #become(joined: Joined, signal?: AbortSignal): Promise<void> {
		const daemon = this.#daemon;
		if (daemon === null) throw new Fault("fleet_unreachable", { problem: "the daemon is still starting" });
		const [{ FleetConnection }, { FleetMember }, { clientOfHost, serveLinks }, { asHost }] = await Promise.all([
			import("./fleet/connection.ts"),
			import("./fleet/member.ts"),
			import("./fleet-links.ts"),
			import("./fleet/host-client.ts"),
		]);
		const { local, sessions, onProblem } = this.#parts;
		const connection = await FleetConnection.connect(joined.options, signal === undefined ? {} : { signal });
		joined.connection = connection;
		// It has left meanwhile.
		if (joined.left.signal.aborted) return end(joined);
		const { host } = joined.options;
		joined.member = await FleetMember.open({
			connection,
			local,
			sessions,
			freshen: () => freshened(sessions),
			serves: joined.serves,
			asks: joined.asks,
			version: VERSION,
			bootId: bootId(),
			epoch: daemon.lock.epoch,
			capacity: sessions.options.maxSessions,
			serve: (over) => serveLinks({ connection: over, daemon, local: asHost(local, host), sessions }),
			connect: (over, other, as) =>
				clientOfHost({ connection: over, host: other, as, caller: { owner: "daemon", cwd: "/", env: {} } }),
			onProblem,
		});
	}

	async #end(joined: Joined): Promise<void> {
		await within(LEAVE_MS, "leaving the fleet", end(joined)).catch((error: unknown) =>
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function end({ left, member, connection }: Joined): Promise<void> {
	left.abort();
	try {
		await member?.[Symbol.asyncDispose]();
	} finally {
		await connection?.[Symbol.asyncDispose]();
	}
}

/** Throws where the credentials cannot be used, or say something else. */
async function prepared(wish: FleetWish): Promise<Joined> {
	const [{ readCredentials }, { hostNameOf, isHostName }, { authenticatorOf }] = await Promise.all([
		import("./fleet/credentials.ts"),
		import("./fleet/subjects.ts"),
		import("./fleet/authenticator.ts"),
	]);
	const credentials = wish.credentials === undefined ? null : readCredentials(wish.credentials);
	const member = credentials?.member ?? null;
	const bad = (problem: string) => new Fault("bad_input", { problems: [problem] });
	const servers = wish.servers.length > 0 ? wish.servers : (member?.servers ?? []);
	if (servers.length === 0) throw bad("the credentials name no server: give one, such as nats://127.0.0.1:4222");
	const only = member === null || member.host === "*" ? null : member.host;
	const host = wish.host ?? only ?? hostNameOf(hostname());
	if (!isHostName(host)) throw bad(`"${host}" is no name of a host: letters a-z, digits and -, at most 63`);
	if (only !== null && host !== only) throw bad(`these credentials are for the host "${only}"`);
	const role = member?.role ?? "admin";
	return {
		wish,
		options: {
			servers,
			...(credentials !== null && {
				authenticator: authenticatorOf(credentials),
				inboxPrefix: credentials.inboxPrefix,
			}),
			...(member?.ca !== undefined && { tls: { ca: member.ca } }),
			host,
			labels: wish.labels,
			as: { role: role === "host" ? "view" : role, owner: member?.owner ?? null },
		},
		// Without credentials of ours the server decides.
		serves: member === null || member.host !== null,
		asks: role !== "host",
		since: Date.now(),
		problem: "connecting",
		connection: null,
		member: null,
		left: new AbortController(),
	};
}

const told = ({ host, lease, reachable, since }: HostView): FleetHostStatus => ({
	host,
	reachable,
	since,
	version: lease?.version ?? null,
	labels: lease?.labels ?? {},
	running: lease?.running ?? null,
	capacity: lease?.capacity.sessions ?? null,
	load: lease?.load ?? null,
});
