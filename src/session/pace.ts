// Work that callers can ask for at will (patterns, comparing screens) takes a share of the event loop and no more: after a
// burst it rests for a multiple of its duration. Each caller has a share of its own, so that one who asks for much delays
// itself, and all together have another.

import { setImmediate, setTimeout } from "node:timers/promises";

/** A burst this long is free: an honest pattern takes a fraction of a millisecond. */
const BURST_MS = 10;
/** Rest per unit of work: a fifth of the loop for one caller, half of it for all. */
const REST = { caller: 4, all: 1 } as const;
/** A search rests for at most so many times as long as others have just worked: not at all where nobody does. */
const REST_PER_OTHERS = 10;
/** Less than that is the loop itself, and what was read for the search. */
const OTHERS_MS = 0.5;
/** Callers whose debt is remembered; an evicted one starts afresh. */
const MAX_CALLERS = 1000;

class Debt {
	readonly #rest: number;
	#owedMs = 0;
	#at = 0;

	constructor(rest: number) {
		this.#rest = rest;
	}

	spend(ms: number): void {
		this.#settle();
		this.#owedMs += ms;
	}

	restMs(): number {
		this.#settle();
		return this.#owedMs <= BURST_MS ? 0 : (this.#owedMs - BURST_MS) * this.#rest;
	}

	#settle(): void {
		const now = performance.now();
		this.#owedMs = Math.max(0, this.#owedMs - (now - this.#at) / this.#rest);
		this.#at = now;
	}
}

const everyone = new Debt(REST.all);
const callers = new Map<string, Debt>();

/** One caller's share. */
export interface Pace {
	/** Does a piece of work and counts its time. */
	run<T>(work: () => T): T;
	/** How long to wait before the next piece. */
	restMs(): number;
	/** Gives the others their turn; where there are none who use it, there is nothing to rest for. */
	rest(signal?: AbortSignal): Promise<void>;
}

export function paceOf(caller: string): Pace {
	const debt = callers.get(caller) ?? new Debt(REST.caller);
	callers.delete(caller); // newest last: the first one is evicted
	callers.set(caller, debt);
	const [oldest] = callers.keys();
	if (callers.size > MAX_CALLERS && oldest !== undefined) callers.delete(oldest);
	const restMs = () => Math.max(debt.restMs(), everyone.restMs());
	return {
		run(work) {
			const startedAt = performance.now();
			try {
				return work();
			} finally {
				const ms = performance.now() - startedAt;
				debt.spend(ms);
				everyone.spend(ms);
			}
		},
		restMs,
		async rest(signal) {
			const startedAt = performance.now();
			await setImmediate();
			const othersMs = performance.now() - startedAt;
			const ms = othersMs < OTHERS_MS ? 0 : Math.min(restMs(), othersMs * REST_PER_OTHERS);
			if (ms >= 1) await setTimeout(ms, undefined, signal && { signal });
		},
	};
}
