// The other hosts as they are asked: a client of one that can be asked now, or why there is none; and what they refuse, in
// words that no client takes for the end of its own daemon.

import { Fault, type FaultCode, isFault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import { faultOnHost } from "../tools/host-names.ts";
import { isOfOtherVersion } from "./host-status.ts";
import type { FleetRegistry } from "./registry.ts";

/** Whose sessions alone a client of another host may reach; without it, as this daemon itself. */
export interface LimitedTo {
	readonly owner: string;
}

export interface OtherHostsParts {
	readonly registry: Pick<FleetRegistry, "awaySince" | "host">;
	/** A LastingClient over a link. It stays the caller's own to dispose of. */
	readonly clientOf: (host: string, as?: LimitedTo) => Client;
	/** Of this daemon. */
	readonly version: string;
}

/** What a client of this daemon would take for the end of this daemon. */
const LINK_LOST: ReadonlySet<FaultCode> = new Set(["daemon_replaced", "no_daemon", "taken_over"]);

export class OtherHosts {
	readonly #parts: OtherHostsParts;

	constructor(parts: OtherHostsParts) {
		this.#parts = parts;
	}

	/** A client of a host that can be asked now. `names`: the hosts that may be told. */
	client(host: string, as: LimitedTo | null, names: Iterable<string>): Client {
		const { registry, clientOf, version: ours } = this.#parts;
		this.mustBeConnected();
		const view = registry.host(host);
		if (view === undefined) throw new Fault("unknown_host", { host, hosts: [...names] });
		if (!view.reachable) throw new Fault("host_unreachable", { host, since: view.since });
		if (view.lease !== null && isOfOtherVersion(view, ours))
			throw new Fault("host_version", { host, ours, theirs: view.lease.version });
		return as === null ? clientOf(host) : clientOf(host, as);
	}

	mustBeConnected(): void {
		const { awaySince } = this.#parts.registry;
		if (awaySince !== null) throw new Fault("fleet_unreachable", { problem: "not connected", since: awaySince });
	}

	/** What a call on a host throws, with our names in it already. */
	refusedCall(error: unknown, host: string): unknown {
		if (!(error instanceof Fault) || !LINK_LOST.has(error.code)) return error;
		const view = this.#parts.registry.host(host);
		const since = view === undefined || view.reachable ? null : view.since;
		const maybeDone =
			(isFault(error, "daemon_replaced") && !error.facts.repeatable) ||
			(isFault(error, "taken_over") && error.facts.maybeTyped === true);
		return new Fault("host_unreachable", { host, since, ...(maybeDone && { maybeDone }) }, { cause: error });
	}

	/** The same of what a host refuses beside calls. */
	refused(error: unknown, host: string): unknown {
		const fault = this.refusedCall(error, host);
		return fault instanceof Fault ? faultOnHost(fault, { onHost: host }) : fault;
	}
}
