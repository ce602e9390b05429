// Decides when screens are drawn, so that a flood in one session does not slow down
// the others.
//
// A session that is waited on or typed into is drawn first, in slices between
// which the event loop runs. The rest share a small part of the loop; a session
// that prints faster than that is paused (its holder keeps logging) until it is
// scheduled or read.

/** What the scheduler needs from a session. */
export interface Drawable {
	/** A caller waits on it, watches it or has just typed. */
	readonly attended: boolean;
	readonly pendingBytes: number;
	/** What one piece of drawing takes: less is drawn only when the screen is read, or when the program may have sent a query. */
	readonly pieceBytes: number;
	/** The program may be waiting for a reply from the terminal. */
	readonly mayAsk: boolean;
	/** Draws a piece of the pending output. */
	draw(): void;
	/** Stops or resumes receiving; idempotent. */
	hold(held: boolean): void;
}

/** What arrives faster than it is drawn is left to the holder's log, also of a session that is waited on. */
const MOST_PENDING_BYTES = 512 * 1024;
/** A program that waits for a reply stops printing. After this much output it may still be printing: wait a moment. */
const PRINTING_BYTES = 32 * 1024;
const PRINTING_MS = 5;
/** What a caller waits for is drawn while the program is still at it, not once it waits: then each moment counts. */
const LITTLE_BYTES = 4096;
/** Unattended drawing takes at most one part in this many of the loop. */
const UNATTENDED_SHARE = 20;

export class DrawScheduler implements Disposable {
	readonly #attended = new Set<Drawable>();
	/** Unattended sessions whose program may wait for a reply come before those that flood. */
	readonly #asking = new Set<Drawable>();
	readonly #flooding = new Set<Drawable>();
	#immediate: NodeJS.Immediate | null = null;
	#soon: NodeJS.Timeout | null = null;
	#timer: NodeJS.Timeout | null = null;

	/** More output has arrived. */
	changed(drawable: Drawable): void {
		const { pendingBytes, pieceBytes, attended, mayAsk } = drawable;
		const floods = pendingBytes >= pieceBytes;
		const early = attended && pendingBytes < LITTLE_BYTES;
		if (!floods && !mayAsk && !early) return;
		if (attended) {
			if (pendingBytes >= MOST_PENDING_BYTES) drawable.hold(true);
			this.#attended.add(drawable);
			if (floods || pendingBytes < PRINTING_BYTES) this.#immediate ??= setImmediate(() => this.#drawAttended());
			else this.#soon ??= setTimeout(() => this.#drawAttended(), PRINTING_MS);
		} else {
			if (floods) drawable.hold(true);
			(floods ? this.#flooding : this.#asking).add(drawable);
			this.#timer ??= setTimeout(() => this.#drawUnattended(), 0);
		}
	}

	/** Stops drawing it. */
	forget(drawable: Drawable): void {
		for (const queue of [this.#attended, this.#asking, this.#flooding]) queue.delete(drawable);
	}

	[Symbol.dispose](): void {
		if (this.#immediate !== null) clearImmediate(this.#immediate);
		for (const timer of [this.#soon, this.#timer]) if (timer !== null) clearTimeout(timer);
		for (const queue of [this.#attended, this.#asking, this.#flooding]) queue.clear();
	}

	#drawAttended(): void {
		if (this.#soon !== null) clearTimeout(this.#soon);
		this.#soon = null;
		this.#immediate = null;
		const next = take(this.#attended);
		if (next === null) return;
		this.#draw(next, this.#attended);
		if (this.#attended.size > 0) this.#immediate = setImmediate(() => this.#drawAttended());
	}

	#drawUnattended(): void {
		this.#timer = null;
		const next = take(this.#asking) ?? take(this.#flooding);
		if (next === null) return;
		const startedAt = performance.now();
		this.#draw(next, this.#flooding);
		if (this.#asking.size + this.#flooding.size === 0) return;
		const restMs = (performance.now() - startedAt) * (UNATTENDED_SHARE - 1);
		this.#timer = setTimeout(() => this.#drawUnattended(), restMs);
	}

	/** What is left of it has its turn after the others. */
	#draw(drawable: Drawable, rest: Set<Drawable>): void {
		drawable.draw();
		if (drawable.pendingBytes > 0) rest.add(drawable);
		else drawable.hold(false);
	}
}

/** The one that has waited longest. */
function take(queue: Set<Drawable>): Drawable | null {
	for (const drawable of queue) {
		queue.delete(drawable);
		return drawable;
	}
	return null;
}
