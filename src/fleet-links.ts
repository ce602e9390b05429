// The daemon's protocol over links of the fleet, both ends: a Client of another host's daemon, and this daemon's
// sessions for clients of other hosts.

import { homedir } from "node:os";
import { callerHere } from "./caller.ts";
import { FleetCallers } from "./daemon/fleet-callers.ts";
import { LastingClient } from "./daemon/lasting-client.ts";
import type { Daemon } from "./daemon/run.ts";
import { SocketClient } from "./daemon/socket-client.ts";
import type { FleetConnection } from "./fleet/connection.ts";
import { FleetHost } from "./fleet/host.ts";
import type { FleetIdentity } from "./fleet/identity.ts";
import { openLink, WINDOW_BYTES } from "./fleet/link.ts";
import { Fault } from "./protocol/fault.ts";
import { bootId } from "./pty/boot-id.ts";
import type { Sessions } from "./session/sessions.ts";
import type { Client } from "./tools/client.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

/**
 * How long a call waits for a host that is not heard of any more: as long as its lease lasts, by when its daemon is back or
 * somebody has to look. Most of it is over when a silent host is noticed, after 7 s (link.ts).
 */
const PATIENCE_MS = 10_000;

export interface HostClientParts {
	readonly connection: FleetConnection;
	readonly host: string;
	readonly as: FleetIdentity;
	/** The caller of calls that name none. */
	readonly caller: Caller;
	/** The host's lease has ended. */
	readonly isAway?: () => boolean;
}

/** A Client of a host's daemon, which connects when it is used and outlives links and daemons. */
export function clientOfHost(parts: HostClientParts): LastingClient {
	return new LastingClient({
		connect: () => connectToHost(parts),
		find: () => connectToHost(parts).catch(() => null), // it is away
		patienceMs: PATIENCE_MS,
		...(parts.isAway !== undefined && { isAway: parts.isAway }),
	});
}

/** One connection to a host's daemon. */
export async function connectToHost({ connection, host, as, caller }: HostClientParts): Promise<SocketClient> {
	const client = SocketClient.over(await openLink(connection, host, as), caller, { host, streamBytes: WINDOW_BYTES });
	try {
		const { version } = await client.hello(VERSION);
		if (version === VERSION) return client;
		throw new Fault("host_version", { host, ours: VERSION, theirs: version });
	} catch (error) {
		await client[Symbol.asyncDispose]();
		if (error instanceof Fault && error.code !== "daemon_replaced") throw error;
		throw new Fault("host_unreachable", { host, problem: "it does not answer" }, { cause: error });
	}
}

export interface LinkServerParts {
	readonly connection: FleetConnection;
	readonly daemon: Pick<Daemon, "serve" | "lock">;
	/** Of this machine's sessions alone: what another host may ask of this one goes no further in our name. */
	readonly local: Client;
	readonly sessions: Sessions;
}

/** Serves this daemon's sessions to clients of other hosts, each as its identity, until it is disposed of. */
export function serveLinks({ connection, daemon, local, sessions }: LinkServerParts): FleetHost {
	const { env, withheld, inheriting } = callerHere("fleet");
	const programs = { cwd: env.HOME ?? homedir(), env, withheld, inheriting };
	const callers = new FleetCallers({ sessions, programs });
	return new FleetHost(connection, {
		accept: (link, as) =>
			daemon.serve(link, { authority: callers.authority(as), client: local, streamBytes: WINDOW_BYTES }),
		epoch: daemon.lock.epoch,
		bootId: bootId(),
		version: VERSION,
	});
}
