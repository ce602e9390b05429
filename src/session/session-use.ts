// Whether somebody uses a session, and since when nobody does: for idleness, eviction, and what is drawn first.

export class SessionUse {
	#users = 0;
	#usedAt = performance.now();
	#waits = 0;
	#calledAt: number;

	/** When a tool was last called on it before, in ms since 1970. */
	constructor(calledAt: number | null) {
		this.#calledAt = notLater(calledAt);
	}

	get isUsed(): boolean {
		return this.#users > 0;
	}

	/** When it was last used, by performance.now(): now, while it is. */
	get usedAt(): number {
		return this.isUsed ? performance.now() : this.#usedAt;
	}

	/** When a tool was last called on it, in ms since 1970: now, while one waits. */
	get calledAt(): number {
		return this.#waits > 0 ? Date.now() : this.#calledAt;
	}

	called(): void {
		this.#calledAt = Date.now();
	}

	/** It counts as used until the returned function is called. */
	begin(): () => void {
		this.#users++;
		let using = true;
		return () => {
			if (!using) return;
			using = false;
			this.#users--;
			this.#usedAt = performance.now();
		};
	}

	/** A call waits on it until the returned function is called. */
	beginWait(): () => void {
		this.#waits++;
		return () => {
			this.#waits--;
			this.called();
		};
	}
}

/** A time of a file; one that is unknown, or that a clock set back has made later than now, is now. */
export const notLater = (at: number | null): number => Math.min(at ?? Number.POSITIVE_INFINITY, Date.now());
