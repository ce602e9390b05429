// How one session's program teaches how it rests. Right: it had printed nothing for a second, somebody typed, it took
// the input and answered. Wrong: after it was told as waiting it printed by itself within a second, or did not take input.

import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { type Program, programOf } from "../pty/program.ts";
import type { Decision } from "./attention.ts";
import type { AtRest } from "./evidence.ts";
import type { Learnt, Rest } from "./learnt.ts";

/** A program that printed this shortly before may have gone on by itself. */
const STILL_MS = 1000;
/** One that looks at the keyboard has taken input within this time. */
const TAKES_MS = 2000;

interface Lesson {
	readonly program: Program;
	readonly rest: Rest;
}

export class Lessons {
	readonly #learnt: Learnt;
	readonly #onKnown: () => void;
	#identified: { readonly pid: number; readonly command: string; readonly program: Program | null } | null = null;
	/** As the last decision saw it. */
	#rest: AtRest | null = null;
	/** Typed to at rest; the answer is awaited. */
	#asked: Lesson | null = null;
	/** Told as waiting, at this offset of its output. */
	#told: (Lesson & { readonly at: number; readonly offset: number }) | null = null;
	#printedAt = performance.now();

	/** `onKnown`: the program is one of which something is known. */
	constructor(learnt: Learnt, onKnown: () => void) {
		this.#learnt = learnt;
		this.#onKnown = onKnown;
	}

	/** What is known of the process that was seen last. */
	get known(): { readonly pid: number; readonly rests: readonly Rest[] } | null {
		const { pid, program } = this.#identified ?? { pid: 0, program: null };
		if (program === null) return null;
		return { pid, rests: (["peeks", "loop"] as const).filter((rest) => this.#learnt.knows(program, rest)) };
	}

	/** A write goes out, after `disturbed`. */
	typed(): void {
		if (performance.now() - this.#printedAt >= STILL_MS) this.#asked = this.#lessonOf(this.#rest);
	}

	/** A write, a signal or another size: what it prints now is not by itself. */
	disturbed(): void {
		this.#asked = null;
		this.#told = null;
	}

	printed(end: number): void {
		const now = performance.now();
		this.#printedAt = now;
		const told = this.#told;
		if (told === null || end <= told.offset) return;
		this.#told = null;
		if (now - told.at < STILL_MS) this.#learnt.wrong(told.program, told.rest);
	}

	decided(
		{ activity, certainty, rest }: Decision,
		{ queued, unread, quietMs, sinceInputMs, offset }: KernelFacts,
	): void {
		this.#rest = certainty === "certain" ? null : rest;
		if (this.#rest === null) return;
		void this.#identify(this.#rest);
		const lesson = this.#lessonOf(this.#rest);
		if (lesson === null) return;
		if (activity === "waiting") this.#told ??= { ...lesson, at: performance.now(), offset };
		const asked = this.#asked;
		if (asked?.program !== lesson.program || asked.rest !== lesson.rest || sinceInputMs === null) return;
		if (unread === 0 && queued === 0 && quietMs < sinceInputMs) {
			this.#asked = null;
			this.#learnt.right(asked.program, asked.rest);
		} else if (unread && sinceInputMs >= TAKES_MS && this.#learnt.knows(asked.program, asked.rest)) {
			this.#asked = null;
			this.#learnt.wrong(asked.program, asked.rest);
		}
	}

	#lessonOf(rest: AtRest | null): Lesson | null {
		const { pid, command, program = null } = this.#identified ?? {};
		return rest === null || program === null || rest.pid !== pid || rest.command !== command
			? null
			: { program, rest: rest.rest };
	}

	async #identify({ pid, command }: AtRest): Promise<void> {
		if (this.#identified?.pid === pid && this.#identified.command === command) return;
		const program = await programOf(pid);
		if (program === undefined) return; // the next decision tries again
		await this.#learnt.forgetDeleted();
		this.#identified = { pid, command, program };
		if (this.known?.rests.length) this.#onKnown();
	}
}
