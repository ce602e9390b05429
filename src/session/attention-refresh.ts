// Refreshes attention in many sessions at once, for a list. Each probe makes a holder scan
// /proc, so a list probes a bounded number of them, those first whose last verdict is
// least likely to hold, with a short timeout. Among many sessions a program that was blocked
// on its terminal and has printed nothing since is not probed for a list. What was not probed
// is refreshed in the background; until then a verdict carries its age.

import { setTimeout as delay } from "node:timers/promises";
import { within } from "../pty/wait.ts";
import { inParallel } from "./in-parallel.ts";
import type { SessionSlot } from "./session-slot.ts";

/** The default session limit, so that by default a list is always current. 64 answers take some 10 ms. */
const MAX_AWAITED = 64;
/** A holder that does not answer for 2 s makes its own session unresponsive, not the list slow. */
const TIMEOUT_MS = 2200;
/** Minimum interval per session in the background: 1000 sessions cost 2 % of a core while they are listed. */
const BACKGROUND_MS = 10_000;
/** Spread over that time: a thousand holders that scan /proc at once would delay the next lists. */
const BACKGROUND = { parallel: 4, pauseMs: 40 };

export class AttentionRefresh implements Disposable {
	readonly #disposed = new AbortController();
	#sweeping = false;

	/** Settles when the verdicts are as fresh as a list needs them. */
	async freshen(slots: readonly SessionSlot[]): Promise<void> {
		const opening = slots.filter(({ inMemory }) => inMemory === null);
		const opened = slots.filter(({ inMemory }) => inMemory !== null);
		const stale = opened.length <= MAX_AWAITED ? opened : opened.filter((slot) => !isBlocked(slot)).sort(byAge);
		await Promise.all([...opening, ...stale.slice(0, MAX_AWAITED)].map(ask));
		const dueAt = Date.now() - BACKGROUND_MS;
		void this.#sweep(opened.filter((slot) => decidedAt(slot) < dueAt));
	}

	async #sweep(slots: readonly SessionSlot[]): Promise<void> {
		if (this.#sweeping) return;
		this.#sweeping = true;
		const { signal } = this.#disposed;
		await inParallel(BACKGROUND.parallel, slots, async (slot) => {
			await ask(slot);
			await delay(BACKGROUND.pauseMs, undefined, { signal, ref: false });
		}).catch(() => {}); // disposed
		this.#sweeping = false;
	}

	[Symbol.dispose](): void {
		this.#disposed.abort();
	}
}

/** It was blocked reading the terminal and has printed nothing since: its verdict is likely to hold. */
function isBlocked({ inMemory }: SessionSlot): boolean {
	if (inMemory === null) return false;
	const { attention, attentionAt, lastOutputAt } = inMemory;
	return attention.activity === "waiting" && attention.certainty === "certain" && lastOutputAt <= attentionAt;
}

const decidedAt = ({ inMemory }: SessionSlot) => inMemory?.attentionAt ?? 0;
const byAge = (a: SessionSlot, b: SessionSlot) => decidedAt(a) - decidedAt(b);

async function ask(slot: SessionSlot): Promise<void> {
	const asked = slot.session().then((session) => session.refresh());
	await within(TIMEOUT_MS, "a refresh", asked).catch(() => {}); // the last verdict stays, with its age
}
