// The connection to the fleet's servers: made once, reconnected for ever, closed by its owner. What is open over it
// (links, watches) hears of its loss here: messages may have been lost with it.

import { randomBytes } from "node:crypto";
import {
	type Authenticator,
	AuthorizationError,
	type ConnectionOptions,
	connect,
	type Msg,
	type NatsConnection,
	PermissionViolationError,
	RequestError,
	TimeoutError,
} from "@nats-io/transport-node";
import { Fault } from "../protocol/fault.ts";
import { REFUSED } from "../protocol/fleet.ts";
import { within } from "../pty/wait.ts";
import { Connected } from "./connected.ts";
import type { FleetIdentity } from "./identity.ts";
import { inboxPrefix, openedInbox } from "./permissions.ts";

/** One attempt at one server. */
const CONNECT_MS = 5000;
const RETRY_MS = 250;
/** A server that answers none of these is gone: a cut network closes no socket. */
const PING = { everyMs: 2000, unanswered: 2 };
const CLOSE_MS = 1000;
/** Of those who join without a key. */
const ANYBODY = inboxPrefix("anybody");

export interface FleetOptions {
	readonly servers: readonly string[];
	/** What was read from the credentials. */
	readonly authenticator?: Authenticator;
	/** Paths, or what would be in the files. */
	readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
	/** Where answers come in: a user's own, which no other may read. */
	readonly inboxPrefix?: string;
	readonly host: string;
	readonly labels: Readonly<Record<string, string>>;
	readonly as: FleetIdentity;
}

export class FleetConnection implements AsyncDisposable {
	readonly nats: NatsConnection;
	readonly options: FleetOptions;
	readonly #connected: Connected;

	private constructor(nats: NatsConnection, options: FleetOptions) {
		this.nats = nats;
		this.options = options;
		this.#connected = new Connected(nats);
	}

	/** Fails when no server answers. */
	static async connect(options: FleetOptions): Promise<FleetConnection> {
		try {
			return new FleetConnection(await connect(optionsOf(options)), options);
		} catch (error) {
			throw new Fault("fleet_unreachable", { problem: messageOf(error) }, { cause: error });
		}
	}

	get isConnected(): boolean {
		return this.#connected.awaySince === null && !this.nats.isClosed();
	}

	/** Throws where the fleet cannot be reached now. */
	mustBeConnected(): void {
		if (this.isConnected) return;
		const since = this.#connected.awaySince ?? Date.now();
		throw new Fault("fleet_unreachable", { problem: "the connection to its server is lost", since });
	}

	onChange(listener: (connected: boolean) => void): () => void {
		return this.#connected.onChange(listener);
	}

	/** What a host answers; null where nobody listens on that subject. Throws a fault where nothing came in time. */
	async askHost(subject: string, payload: string, timeoutMs: number): Promise<Msg | null> {
		this.mustBeConnected();
		try {
			const reply = openedInbox(this.options.inboxPrefix ?? ANYBODY, randomBytes(16).toString("hex"));
			return await this.nats.request(subject, payload, { timeout: timeoutMs, noMux: true, reply });
		} catch (error) {
			if (error instanceof RequestError && error.isNoResponders()) return null;
			if (
				error instanceof PermissionViolationError ||
				(error instanceof Error && error.cause instanceof PermissionViolationError)
			)
				throw new Fault("not_allowed", { what: "Asking this of the fleet with your credentials" }, { cause: error });
			const late = error instanceof TimeoutError && this.isConnected;
			throw new Fault(
				"fleet_unreachable",
				{ problem: late ? `no answer in ${timeoutMs} ms` : messageOf(error) },
				{ cause: error },
			);
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.nats.isClosed()) return;
		if (this.isConnected) await within(CLOSE_MS, "flushing", this.nats.flush()).catch(() => {}); // it is being closed anyway
		await this.nats.close();
	}
}

function optionsOf({ servers, authenticator, tls, inboxPrefix, host }: FleetOptions): ConnectionOptions {
	return {
		servers: [...servers],
		name: `dialtone ${host}`,
		timeout: CONNECT_MS,
		pingInterval: PING.everyMs,
		maxPingOut: PING.unanswered,
		maxReconnectAttempts: -1,
		reconnectTimeWait: RETRY_MS,
		reconnectJitter: RETRY_MS,
		// Credentials may be put right on the server.
		ignoreAuthErrorAbort: true,
		noAsyncTraces: true,
		...(authenticator !== undefined && { authenticator }),
		...(inboxPrefix !== undefined && { inboxPrefix }),
		...(tls !== undefined && {
			tls: { ...certificate("ca", tls.ca), ...certificate("cert", tls.cert), ...certificate("key", tls.key) },
		}),
	};
}

const certificate = (name: "ca" | "cert" | "key", value: string | undefined): object =>
	value === undefined ? {} : value.startsWith("-----BEGIN") ? { [name]: value } : { [`${name}File`]: value };

function messageOf(error: unknown): string {
	if (error instanceof AuthorizationError) return REFUSED;
	return error instanceof Error ? error.message : String(error);
}
