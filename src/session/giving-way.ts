// When a session's programs give way to others: while it floods and nobody attends it.
//
// Its output is held back then, so nobody would see what it prints sooner; and a hundred such programs leave
// too little of the processor to the one that somebody talks to. A burst is not enough.

/** It is held back again and again for this long. */
const FLOOD_MS = 1000;
/** Held back no more for this long, it has ended. */
const CALM_MS = 2000;

/** How far a flood gives way, by how many do so already: few leave enough to others with a third of a share each, of many each gets little. */
const NICE = [
	{ upTo: 2, nice: 5 },
	{ upTo: 8, nice: 10 },
	{ upTo: Number.POSITIVE_INFINITY, nice: 19 },
] as const;

/** The floods of all sessions. */
export class Floods {
	#count = 0;

	/** The nice value of one more. */
	enter(): number {
		this.#count++;
		return NICE.find(({ upTo }) => this.#count <= upTo)!.nice;
	}

	leave(): void {
		this.#count--;
	}
}

export class GivingWay implements Disposable {
	readonly #floods: Floods;
	readonly #tell: (nice: number) => void;
	#since: number | null = null;
	#on = false;
	#timer: NodeJS.Timeout | undefined;

	/** `tell` gets the nice value of its share of the processor; 0: its own again. */
	constructor(floods: Floods, tell: (nice: number) => void) {
		this.#floods = floods;
		this.#tell = tell;
	}

	/** Its output is held back because nobody attends it, or is received again. */
	held(held: boolean): void {
		if (!held && this.#since === null) return;
		const now = performance.now();
		this.#since ??= now;
		if (held) this.#after(Math.max(0, this.#since + FLOOD_MS - now), () => this.#throttle(true));
		else this.#after(CALM_MS, () => this.attended());
	}

	/** Somebody attends it, or it floods no more. */
	attended(): void {
		clearTimeout(this.#timer);
		this.#since = null;
		this.#throttle(false);
	}

	[Symbol.dispose](): void {
		this.attended();
	}

	#after(ms: number, act: () => void): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(act, ms).unref();
	}

	#throttle(on: boolean): void {
		if (on === this.#on) return;
		this.#on = on;
		if (!on) this.#floods.leave();
		this.#tell(on ? this.#floods.enter() : 0);
	}
}
