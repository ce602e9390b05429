// Starts that were placed and that the chosen host's lease does not count yet.
//
// One counts from the choice until a lease that was written after the answer; at most for a while, in case none comes.

import type { HostView } from "./view.ts";

/** A lease is written every few seconds, and a start takes at most some. */
const MOST_MS = 60_000;

interface Reservation {
	readonly host: string;
	readonly madeAt: number;
	/** How the host's lease counted when the start was answered; null while it is not. */
	answered: HostView["lease"] | null;
}

export class Reservations {
	readonly #made = new Set<Reservation>();
	readonly #now: () => number;

	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	/** Made at the choice, before anything is waited for. Gone with its scope, unless the start was answered with this lease. */
	make(host: string): Disposable & { answered(lease: HostView["lease"]): void } {
		const one: Reservation = { host, madeAt: this.#now(), answered: null };
		this.#made.add(one);
		return {
			answered: (lease) => {
				one.answered = lease;
			},
			[Symbol.dispose]: () => {
				if (one.answered === null) this.#made.delete(one);
			},
		};
	}

	/** How many there are on each host, given what the hosts say now. */
	count(hosts: readonly HostView[]): ReadonlyMap<string, number> {
		const leases = new Map(hosts.map(({ host, lease }) => [host, lease]));
		const counts = new Map<string, number>();
		for (const one of this.#made) {
			const isCounted = one.answered !== null && leases.get(one.host) !== one.answered;
			if (isCounted || this.#now() - one.madeAt > MOST_MS) this.#made.delete(one);
			else counts.set(one.host, (counts.get(one.host) ?? 0) + 1);
		}
		return counts;
	}
}
