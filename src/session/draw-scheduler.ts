// Decides when screens are drawn, so that a flood in one session is not paid for by
// the others.
//
// A session somebody waits on or types into is drawn first, in slices between
// which the event loop turns. The rest share a small part of the loop; a session
// that prints faster than that stops being received (its holder goes on logging)
// until its turn comes or somebody looks.

/** What the scheduler needs of a session. */
export interface Drawable {
	/** Somebody waits on it, watches it or has just typed. */
	readonly attended: boolean;
	readonly pendingBytes: number;
	/** The program may wait for an answer of the terminal. */
	readonly mayAsk: boolean;
	draw(): void;
	/** Stops or resumes receiving; idempotent. */
	hold(held: boolean): void;
}

/** Less is drawn only when somebody looks, or when the program may have asked something. */
const BATCH_BYTES = 256 * 1024;
/** A program that asks and waits has not printed more than this behind its question. */
const QUESTION_BYTES = 32 * 1024;
/** Unattended drawing takes at most one part in this many of the loop. */
const UNATTENDED_SHARE = 20;

export class DrawScheduler implements Disposable {
	readonly #attended = new Set<Drawable>();
	/** Unattended sessions whose program may wait for an answer come before those that flood. */
	readonly #asking = new Set<Drawable>();
	readonly #flooding = new Set<Drawable>();
	#immediate: NodeJS.Immediate | null = null;
	#timer: NodeJS.Timeout | null = null;

	/** More output has come. */
	changed(drawable: Drawable): void {
		const { pendingBytes, attended } = drawable;
		const due = pendingBytes >= BATCH_BYTES || (drawable.mayAsk && pendingBytes <= QUESTION_BYTES);
		if (!due) return;
		if (attended) {
			this.#attended.add(drawable);
			this.#immediate ??= setImmediate(() => this.#drawAttended());
		} else {
			const floods = pendingBytes >= BATCH_BYTES;
			if (floods) drawable.hold(true);
			(floods ? this.#flooding : this.#asking).add(drawable);
			this.#timer ??= setTimeout(() => this.#drawUnattended(), 0);
		}
	}

	/** It is not drawn any more. */
	forget(drawable: Drawable): void {
		for (const queue of [this.#attended, this.#asking, this.#flooding]) queue.delete(drawable);
	}

	[Symbol.dispose](): void {
		if (this.#immediate !== null) clearImmediate(this.#immediate);
		if (this.#timer !== null) clearTimeout(this.#timer);
		for (const queue of [this.#attended, this.#asking, this.#flooding]) queue.clear();
	}

	#drawAttended(): void {
		this.#immediate = null;
		const next = take(this.#attended);
		if (next === null) return;
		next.draw();
		next.hold(false);
		if (this.#attended.size > 0) this.#immediate = setImmediate(() => this.#drawAttended());
	}

	#drawUnattended(): void {
		this.#timer = null;
		const next = take(this.#asking) ?? take(this.#flooding);
		if (next === null) return;
		const startedAt = performance.now();
		next.draw();
		next.hold(false);
		if (this.#asking.size + this.#flooding.size === 0) return;
		const restMs = (performance.now() - startedAt) * (UNATTENDED_SHARE - 1);
		this.#timer = setTimeout(() => this.#drawUnattended(), restMs);
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
