// A host of a fleet inside the test's process: real sessions in a home of its own, and what the fleet knows of it.
// Links between hosts are calls: `isCut` cuts them off, as a network does.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble } from "../../src/assemble.ts";
import { EventStream } from "../../src/fleet/event-stream.ts";
import { FleetClient } from "../../src/fleet/fleet-client.ts";
import { asHost } from "../../src/fleet/host-client.ts";
import { MergedEvents } from "../../src/fleet/merged-events.ts";
import { FleetRegistry } from "../../src/fleet/registry.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { bootId } from "../../src/pty/boot-id.ts";
import { places, preparePlaces } from "../../src/pty/places.ts";
import type { Options } from "../../src/session/options.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import type { FactsOf, InputOf, ToolName } from "../../src/tools/catalogue.ts";
import type { Answer, CallOptions, Client } from "../../src/tools/client.ts";
import type { LocalClient } from "../../src/tools/local-client.ts";
import { VERSION } from "../../src/version.ts";
import type { OneServer } from "./one-server.ts";

/** For tests in which leases are to end. */
export const SHORT = { refreshMs: 200, ttlMs: 800 } as const;
/** For those in which only a host that leaves is away: a busy machine stops a process for seconds. */
const PATIENT = { refreshMs: 500, ttlMs: 8000 } as const;

export interface MemberOptions {
	readonly labels?: Readonly<Record<string, string>>;
	readonly capacity?: number;
	readonly options?: Partial<Options>;
}

export class Member implements AsyncDisposable {
	readonly host: string;
	readonly home: string;
	readonly local: LocalClient;
	readonly sessions: Sessions;
	readonly registry: FleetRegistry;
	readonly client: FleetClient;
	/** What other hosts call. */
	readonly served: Client;
	/** No call from other hosts arrives. */
	isCut = false;
	/** Answers of `start` are lost on the way back, so many times. */
	losesAnswers = 0;
	/** Calls that arrived from other hosts. */
	readonly asked: string[] = [];
	readonly #stop = new AbortController();
	readonly #merged: MergedEvents;
	readonly #told: Promise<unknown>;

	private constructor(
		parts: Pick<Member, "host" | "home" | "local" | "sessions" | "registry">,
		fleet: Map<string, Member>,
		events: EventStream,
	) {
		const { host, home, local, sessions, registry } = parts;
		this.host = host;
		this.home = home;
		this.local = local;
		this.sessions = sessions;
		this.registry = registry;
		const env = { PATH: process.env.PATH ?? "", HOME: home, SHELL: "/bin/bash" };
		const served = asHost(local, host);
		// What programs get that are started from elsewhere is settled by who accepts a link.
		const call = ((tool: string, input: unknown, options: CallOptions = {}) => {
			const caller = { ...(options.caller ?? { owner: host }), cwd: home, env };
			return served.call(tool as never, input, { ...options, caller });
		}) as Client["call"];
		this.served = { ...served, call };
		const { signal } = this.#stop;
		this.#merged = new MergedEvents(local, sessions.options.eventsKept);
		this.client = new FleetClient({
			local,
			registry,
			host,
			as: { role: "admin", owner: null },
			version: VERSION,
			owner: "test",
			clientOf: (other) => linkTo(fleet, other),
			events: this.#merged,
		});
		const ownerOf = (id: string) => sessions.list().find(({ record }) => record.id === id)?.record.owner ?? null;
		this.#told = Promise.all([
			this.#merged.follow(events.events({ except: host, signal }), () => {}),
			events.publish({ host, local, ownerOf, epoch: home, signal }),
		]);
		fleet.set(host, this);
	}

	static async join(
		server: OneServer,
		fleet: Map<string, Member>,
		host: string,
		{ labels = {}, capacity = 64, options = {} }: MemberOptions = {},
	): Promise<Member> {
		const home = mkdtempSync(join(tmpdir(), `dt-fleet-${host}-`));
		const where = places({ DIALTONE_HOME: home });
		preparePlaces(where);
		const { sessions, client: local } = await assemble({
			places: where,
			epoch: 1,
			caller: { owner: "test", cwd: home, env: { PATH: process.env.PATH ?? "", HOME: home, SHELL: "/bin/bash" } },
			socket: null,
			options: { ...options, maxSessions: capacity },
			onProblem: (problem, doing) => console.error(doing, problem),
			onFenced: () => {},
		});
		const nats = await server.connect();
		const own = { host, labels, version: VERSION, bootId: bootId(), home, daemonEpoch: 1, capacity, sessions };
		const onProblem = () => {}; // the broker is stopped on purpose
		const registry = await FleetRegistry.open({ nats, own, onProblem, ...PATIENT });
		const events = new EventStream({ nats, connected: registry.connected });
		await events.ensure();
		return new Member({ host, home, local, sessions, registry }, fleet, events);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stop.abort();
		await this.#told;
		await this.#merged[Symbol.asyncDispose]();
		await this.client[Symbol.asyncDispose]();
		await this.registry[Symbol.asyncDispose]();
		await this.sessions.endAll();
		await this.local[Symbol.asyncDispose]();
		rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** A call with the fields that only a fleet has. */
export function callOn<N extends ToolName>(
	{ client }: Pick<Member, "client">,
	tool: N,
	input: InputOf<N> & {
		readonly host?: string;
		readonly placement?: unknown;
		limit?: number;
		after?: string | undefined;
	},
	options?: CallOptions,
): Promise<Answer<FactsOf<N>>> {
	return client.call(tool, input, options);
}

function linkTo(fleet: Map<string, Member>, host: string): Client {
	const member = fleet.get(host)!;
	const { served } = member;
	const reached = () => {
		if (member.isCut) throw new Fault("no_daemon", { problem: "no responders" });
	};
	const call = (async (tool: string, input: unknown, options = {}) => {
		reached();
		member.asked.push(tool);
		const answer = await served.call(tool as never, input, options);
		if (tool === "start" && member.losesAnswers > 0) {
			member.losesAnswers--;
			throw new Fault("daemon_replaced", { doing: tool, repeatable: false });
		}
		return answer;
	}) as Client["call"];
	return { ...served, call };
}
