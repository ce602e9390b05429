// Where a start that has a name was placed, kept at the broker: whoever repeats it, through whichever host, is sent to the
// same one. A pin is written before a start is sent, a repetition too. It is moved only by who wrote it last and knows that
// nothing was started, or where what was started is known to have ended (placed-start.ts).
//
//   answer lost           the pin stays: the next call with the name goes to that host, which has the session or not
//   the host died         the same: while it is away the call fails with `host_unreachable`, and is not made elsewhere
//   who chose has died    the pin is at the broker: another daemon finds it
//   pin lost (24 h, disk) the records of sessions are looked at before a host is chosen (fleet-client.ts)

import type { KvEntry } from "@nats-io/kv";
import { type Buckets, isConflict, stored } from "./buckets.ts";
import { keyToken } from "./subjects.ts";

export interface Pin {
	readonly host: string;
	/** The id of the session that was started there; null where that is not known. */
	readonly session: string | null;
	readonly revision: number;
}

/** Where it goes, and what was started there. */
export type PinTo = Pick<Pin, "host" | "session">;

/** What a placed start needs of them. */
export interface PinStore {
	find(key: string): Promise<Pin | null>;
	/** The pin that holds now: `isOurs`, or another that was made or moved meanwhile. */
	set(key: string, to: PinTo, before: Pin | null): Promise<{ readonly pin: Pin; readonly isOurs: boolean }>;
}

export class Pins implements PinStore {
	readonly #pins: Buckets["pins"];

	constructor({ pins }: Pick<Buckets, "pins">) {
		this.#pins = pins;
	}

	async find(key: string): Promise<Pin | null> {
		return pinIn(await this.#entry(key));
	}

	async set(key: string, to: PinTo, before: Pin | null): Promise<{ pin: Pin; isOurs: boolean }> {
		for (let previousSeq = before?.revision ?? 0; ; ) {
			try {
				const put = this.#pins.put(key, JSON.stringify(to), { previousSeq });
				return { pin: { ...to, revision: await stored("where a start is placed", put) }, isOurs: true };
			} catch (error) {
				if (!isConflict(error)) throw error;
			}
			const entry = await this.#entry(key);
			const pin = pinIn(entry);
			if (pin !== null) return { pin, isOurs: false };
			// Expired, or removed, of which a mark may be left.
			previousSeq = entry?.revision ?? 0;
		}
	}

	#entry(key: string): Promise<KvEntry | null> {
		return stored("where a start was placed", this.#pins.get(key));
	}
}

function pinIn(entry: KvEntry | null): Pin | null {
	if (entry === null || entry.operation !== "PUT") return null;
	return { ...entry.json<PinTo>(), revision: entry.revision };
}

/** Of a start: its owner's name for it, of a session, of a shell or of the call itself. */
export const pinKey = (owner: string, kind: "session" | "shell" | "id", name: string): string =>
	`${keyToken(owner)}.${kind}.${keyToken(name)}`;
