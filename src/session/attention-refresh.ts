// Whose turn it is in many sessions at once, for a list. Asking a holder costs it a look at
// /proc, so a list asks only where the last verdict may no longer hold, the oldest
// verdicts first, a bounded number of them, and does not wait long. The rest is
// brought up to date in the background; until then a verdict says how old it is.

import { within } from "./deadline.ts";
import { inParallel } from "./in-parallel.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

/** As many as a daemon has by default: there a list is always as of now. 64 answers take some 10 ms. */
const MAX_AWAITED = 64;
/** A holder that does not answer makes its own session old, not the list slow. */
const TIMEOUT_MS = 2000;
/** Two lists in a row are one. */
const FRESH_MS = 250;
/** A program that is blocked reading the terminal and has printed nothing since goes on by input, or by a signal. */
const BLOCKED_MS = 10_000;
/** In the background at most so often for one session: 1000 of them cost a tenth of a core. */
const BACKGROUND_MS = 2000;
const BACKGROUND_PARALLEL = 4;

export class AttentionRefresh {
	#sweeping = false;

	/** Settles when the verdicts are as fresh as a list needs them. */
	async freshen(slots: readonly SessionSlot[]): Promise<void> {
		const opening = slots.filter(({ inMemory }) => inMemory === null);
		const stale = slots
			.filter(({ inMemory }) => inMemory !== null && needsRefresh(inMemory))
			.sort((a, b) => decidedAt(a) - decidedAt(b));
		await Promise.all([...opening, ...stale.slice(0, MAX_AWAITED)].map(ask));
		void this.#sweep(stale.slice(MAX_AWAITED).filter((slot) => decidedAt(slot) < Date.now() - BACKGROUND_MS));
	}

	async #sweep(slots: readonly SessionSlot[]): Promise<void> {
		if (this.#sweeping) return;
		this.#sweeping = true;
		await inParallel(BACKGROUND_PARALLEL, slots, ask);
		this.#sweeping = false;
	}
}

function needsRefresh({ attention, attentionAt, lastOutputAt }: Session): boolean {
	const ageMs = Date.now() - attentionAt;
	const isBlocked =
		attention.activity === "waiting" && attention.certainty === "certain" && lastOutputAt <= attentionAt;
	return ageMs > (isBlocked ? BLOCKED_MS : FRESH_MS);
}

const decidedAt = ({ inMemory }: SessionSlot) => inMemory?.attentionAt ?? 0;

async function ask(slot: SessionSlot): Promise<void> {
	const asked = slot.session().then((session) => session.refresh());
	await within(TIMEOUT_MS, "a refresh", asked).catch(() => {}); // the last verdict stays, with its age
}
