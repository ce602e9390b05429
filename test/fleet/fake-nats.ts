// A server of one process, for tests of what is sent and of what a hostile peer sends: subjects with wildcards, requests,
// and the answer of the server where nobody listens. Delivery is in order and asynchronous, as over a socket.

import type { Msg, NatsConnection } from "@nats-io/transport-node";
import type { FleetConnection } from "../../src/fleet/connection.ts";
import { inboxPrefix, openedInbox } from "../../src/fleet/permissions.ts";
import { Listeners } from "../../src/protocol/listeners.ts";

type Callback = (error: Error | null, message: Msg) => void;

interface Subscription {
	readonly subject: string;
	readonly callback: Callback;
}

export class FakeNats {
	readonly #subscriptions = new Set<Subscription>();
	readonly #queue: (() => void)[] = [];
	/** Everything that was published. */
	readonly log: { readonly subject: string; readonly data: Uint8Array }[] = [];
	/** Decides what happens to a message: it may be lost. */
	passes: (subject: string, data: Uint8Array) => boolean = () => true;
	#inboxes = 0;
	#isHeld = false;

	publish(subject: string, payload: Uint8Array | string = "", { reply = "" }: { reply?: string } = {}): void {
		const data = Buffer.from(payload);
		this.log.push({ subject, data });
		if (!this.passes(subject, data)) return;
		this.#later(() => {
			const matching = [...this.#subscriptions].filter((one) => matches(one.subject, subject));
			for (const { callback } of matching) callback(null, { subject, data, reply } as unknown as Msg);
			if (matching.length > 0 || reply === "") return;
			for (const { callback } of [...this.#subscriptions].filter((one) => matches(one.subject, reply)))
				callback(null, { subject: reply, data: new Uint8Array(), headers: { code: 503 } } as unknown as Msg);
		});
	}

	subscribe(subject: string, { callback }: { callback: Callback }): { unsubscribe(): void } {
		const subscription = { subject, callback };
		this.#subscriptions.add(subscription);
		return { unsubscribe: () => void this.#subscriptions.delete(subscription) };
	}

	request(subject: string, payload: string): Promise<Msg | null> {
		return new Promise((resolve) => {
			const inbox = openedInbox(inboxPrefix("FAKE"), String(++this.#inboxes));
			const subscription = this.subscribe(inbox, {
				callback: (_, message) => {
					subscription.unsubscribe();
					resolve(message.headers?.code === 503 ? null : message);
				},
			});
			this.publish(subject, payload, { reply: inbox });
		});
	}

	/** A connection of one host or client to this server. */
	connection(host: string): FakeConnection {
		return new FakeConnection(this, host);
	}

	/** Delivers nothing until it is called again with false. */
	hold(is: boolean): void {
		this.#isHeld = is;
		this.#deliver();
	}

	#later(deliver: () => void): void {
		this.#queue.push(deliver);
		if (this.#queue.length === 1) setImmediate(() => this.#deliver());
	}

	#deliver(): void {
		if (!this.#isHeld) for (const next of this.#queue.splice(0)) next();
	}
}

export class FakeConnection {
	readonly #server: FakeNats;
	readonly #changed = new Listeners<boolean>("fake connection");
	readonly options;
	isConnected = true;

	constructor(server: FakeNats, host: string) {
		this.#server = server;
		this.options = { servers: [], host, labels: {}, as: { role: "admin", owner: null } as const };
	}

	get nats(): NatsConnection {
		return Object.assign(this.#server, { info: { max_payload: 1 << 20 } }) as unknown as NatsConnection;
	}

	onChange(listener: (connected: boolean) => void): () => void {
		return this.#changed.add(listener);
	}

	askHost(subject: string, payload: string): Promise<Msg | null> {
		return this.#server.request(subject, payload);
	}

	lose(): void {
		this.isConnected = false;
		this.#changed.emit(false);
	}

	get real(): FleetConnection {
		return this as unknown as FleetConnection;
	}
}

function matches(pattern: string, subject: string): boolean {
	const [wanted, given] = [pattern.split("."), subject.split(".")];
	return wanted.length === given.length && wanted.every((token, at) => token === "*" || token === given[at]);
}
