// What is asked of one session beside tools, of its own host: streams, its screen, what a person does.

import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type {
	ActOptions,
	Client,
	DrawnOptions,
	DriversOptions,
	OutputOptions,
	ScreenSnapshot,
	SessionClient,
	SnapshotOptions,
	ViewChunk,
	ViewOptions,
} from "../tools/client.ts";
import { joinReference, splitReference } from "./session-names.ts";

export interface FleetSessionsParts {
	/** Of this host; null: its sessions are not reached so. */
	readonly local: Client | null;
	/** The name of this host; null where it is none. */
	readonly host: string | null;
	readonly isKnown: (host: string) => boolean;
	/** A client of another host that can be asked now. */
	readonly clientOf: (host: string) => Client;
	/** What to throw for what another host refused. */
	readonly refused: (error: unknown, host: string) => unknown;
	/** The same for what this host refused, which may be of a host that is lost. */
	readonly orLost: (error: unknown) => Promise<unknown>;
}

interface Meant {
	readonly client: Client;
	/** What the session is called there. */
	readonly reference: string;
	/** Null: this one. */
	readonly host: string | null;
}

export class FleetSessions implements SessionClient {
	readonly #parts: FleetSessionsParts;

	constructor(parts: FleetSessionsParts) {
		this.#parts = parts;
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
		return this.ask(session, ({ client, reference }) => client.snapshot(reference, options));
	}

	act(session: string, act: PersonAct, options?: ActOptions): Promise<PersonDone> {
		return this.ask(session, async ({ client, reference, host }) => {
			if (host === null) return client.act(reference, act, options);
			return doneOn(host, await client.act(reference, act));
		});
	}

	async ask<T>(reference: string, ask: (meant: Meant) => Promise<T>): Promise<T> {
		const meant = this.#meant(reference);
		try {
			return await ask(meant);
		} catch (error) {
			throw await this.#refused(error, meant);
		}
	}

	async *#stream<T>(
		reference: string,
		open: (client: Client, reference: string) => AsyncIterable<T>,
	): AsyncGenerator<T> {
		const meant = this.#meant(reference);
		try {
			yield* open(meant.client, meant.reference);
		} catch (error) {
			throw await this.#refused(error, meant);
		}
	}

	#refused(error: unknown, { host }: Meant): unknown {
		return host === null ? this.#parts.orLost(error) : this.#parts.refused(error, host);
	}

	#meant(reference: string): Meant {
		const { local, host, isKnown, clientOf } = this.#parts;
		const found = splitReference(reference, isKnown);
		if (found !== null && found.host !== host)
			return { client: clientOf(found.host), reference: found.session, host: found.host };
		if (local === null) throw new Fault("session_not_found", { id: reference, open: [], ids: [] });
		return { client: local, reference: found?.session ?? reference, host: null };
	}
}

/** What a person has done on another host, with the names that it has here. */
const doneOn = (host: string, { session, name, ...done }: PersonDone): PersonDone => ({
	...done,
	...(session !== undefined && { session: joinReference(host, session) }),
	...(name !== undefined && { name: joinReference(host, name) }),
});
