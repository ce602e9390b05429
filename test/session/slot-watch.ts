// Every slot that is asked for its session while this exists, to see that there is at most
// one for each session.

import type { SlotState } from "../../src/session/lifecycle.ts";
import { SessionSlot } from "../../src/session/session-slot.ts";

/** A slot in one of these has nothing in memory and writes nothing. */
const GONE: ReadonlySet<SlotState> = new Set(["ended", "unreached", "removed", "detached"]);

export class SlotWatch implements Disposable {
	readonly #original = SessionSlot.prototype.session;
	readonly #slots = new Map<string, Set<SessionSlot>>();

	constructor() {
		const [original, slots] = [this.#original, this.#slots];
		SessionSlot.prototype.session = function (this: SessionSlot, ...args) {
			const { id } = this.record;
			slots.set(id, (slots.get(id) ?? new Set()).add(this));
			return original.apply(this, args);
		};
	}

	statesOf(id: string): readonly SlotState[] {
		return [...(this.#slots.get(id) ?? [])].map(({ state }) => state);
	}

	/** Fails where two slots of one session have it in memory. */
	check(): void {
		for (const id of this.#slots.keys()) {
			const states = this.statesOf(id).filter((state) => !GONE.has(state));
			if (states.length > 1) throw new Error(`${id} has ${states.length} slots: ${states}`);
		}
	}

	/** A new daemon: what the one before had is its own. */
	forget(): void {
		this.#slots.clear();
	}

	[Symbol.dispose](): void {
		SessionSlot.prototype.session = this.#original;
	}
}
