// A stream of a session of another machine goes on when that machine is reached again: whoever watches or follows it is
// told, and waits. For sessions of this machine it changes nothing: a call starts the next daemon (LastingClient).

import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../protocol/clean.ts";
import { type Fault, isFault } from "../protocol/fault.ts";

/** Until the other machine is back, this one's daemon refuses at once and tells nobody when it is: so it is asked. */
const RETRY_MS = { first: 100, most: 1000 };

interface Lasting<T> {
	/** Where the stream is to go on. */
	readonly open: () => AsyncIterable<T>;
	readonly signal: AbortSignal;
	/** Told once for each absence, in words that begin or continue a sentence. */
	readonly onAway?: (what: string) => void;
}

/** Ends as the stream itself does, with a refusal that is not of now alone, or when the signal aborts. */
export async function* lasting<T>({ open, signal, onAway }: Lasting<T>): AsyncGenerator<T> {
	let isAway = false;
	for (let ms = RETRY_MS.first; !signal.aborted; ms = Math.min(2 * ms, RETRY_MS.most)) {
		try {
			for await (const one of open()) {
				isAway = false;
				ms = RETRY_MS.first;
				yield one;
			}
			return;
		} catch (error) {
			if (!isNotReached(error)) throw error;
			if (!isAway) onAway?.(describe(error));
			isAway = true;
		}
		await delay(ms, undefined, { signal }).catch(() => {}); // aborted
	}
}

type NotReached = Fault<"host_unreachable"> | Fault<"fleet_unreachable">;

/** The other machine, or every server of the fleet, is away for now. */
export function isNotReached(error: unknown): error is NotReached {
	return isFault(error, "host_unreachable") || isFault(error, "fleet_unreachable");
}

function describe(fault: NotReached): string {
	const who = isFault(fault, "host_unreachable") ? `host "${oneLine(fault.facts.host)}"` : "the fleet";
	const since = new Date(fault.facts.since ?? Date.now()).toTimeString().slice(0, "12:34".length);
	return `${who} is not reached since ${since}`;
}
