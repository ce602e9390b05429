// Where a start that has a name was placed, kept at the broker: whoever repeats it, through whichever host, is sent to the
// same one. A pin is written before the start is sent, and moved only by who knows that nothing was started.
//
//   answer lost           the pin stays: the next call with the name goes to that host, which has the session or not
//   the host died         the same: while it is away the call fails with `host_unreachable`, and is not made elsewhere
//   who chose has died    the pin is at the broker: another daemon finds it
//   pin lost (24 h, disk) the records of sessions are looked at before a host is chosen (fleet-client.ts)

import { type Buckets, isConflict, stored } from "./buckets.ts";
import { keyToken } from "./session-names.ts";

export interface Pin {
	readonly host: string;
	/** The id of the session that was started there; null where that is not known. */
	readonly session: string | null;
	readonly revision: number;
}

/** What a placed start needs of them. */
export interface PinStore {
	find(key: string): Promise<Pin | null>;
	/** The pin that holds now: this one, or another that was made or moved meanwhile. */
	set(key: string, to: { host: string; session: string | null }, before: Pin | null): Promise<Pin>;
}

export class Pins implements PinStore {
	readonly #buckets: Pick<Buckets, "pins">;

	constructor(buckets: Pick<Buckets, "pins">) {
		this.#buckets = buckets;
	}

	async find(key: string): Promise<Pin | null> {
		const entry = await stored("where a start was placed", this.#buckets.pins.get(key));
		if (entry === null || entry.operation !== "PUT") return null;
		const { host, session } = entry.json<{ host: string; session: string | null }>();
		return { host, session, revision: entry.revision };
	}

	async set(key: string, to: { host: string; session: string | null }, before: Pin | null): Promise<Pin> {
		try {
			const options = { previousSeq: before?.revision ?? 0 };
			const put = this.#buckets.pins.put(key, JSON.stringify(to), options);
			return { ...to, revision: await stored("where a start is placed", put) };
		} catch (error) {
			if (!isConflict(error)) throw error;
			const found = await this.find(key);
			// Expired, or removed, between the two.
			return found ?? this.set(key, to, null);
		}
	}
}

/** Of a start: its owner's name for it, of a session or of a shell. */
export const pinKey = (owner: string, kind: "session" | "shell", name: string): string =>
	`${keyToken(owner)}.${kind}.${keyToken(name)}`;
