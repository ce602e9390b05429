// What a caller types in one call: text as one write, then each key when the program has taken what came before.
//
// Five Enters in one write answer one question of a wizard that drops what was typed ahead, and a key right after Escape
// becomes part of it. So keys go out as a person presses them: when the program has read the one before and sleeps again.
// Calls that type at the same time do not mix. The emulator's replies and Ctrl+C do not wait here.

import { createHash } from "node:crypto";
import { Fault } from "../protocol/fault.ts";
import { type Condition, wait } from "../pty/wait.ts";
import type { TypeOptions } from "./session-input.ts";

/** Longer than programs wait for the rest of a key. One that has not read by then gets the other keys at once. */
const PACE_MS = 1200;
/** Text of many lines is typed line by line: so much longer may it take. */
const BYTE_MS = 1;

export interface Typed {
	/** A write with this id was typed before, so nothing was typed now. */
	readonly repeated: boolean;
}

export interface Keyboard {
	type(input: () => Uint8Array, options: TypeOptions): Promise<Typed>;
	/** The program has taken all that was typed, or has ended. */
	readonly taken: Condition<boolean>;
	/** The last write ended with Escape, which the program has not taken yet. */
	readonly escapePending: boolean;
}

export interface PressOptions extends TypeOptions {
	/** How long keys may wait for the program in all. */
	readonly pacedMs: number;
}

export class KeyPresses {
	readonly #keyboard: Keyboard;
	/** The last call of several parts, while it types. */
	#last: Promise<unknown> | null = null;

	constructor(keyboard: Keyboard) {
		this.#keyboard = keyboard;
	}

	/** Types the parts in order. Each is encoded when its turn has come; when the first throws, nothing is typed. */
	press(parts: readonly (() => Uint8Array)[], options: PressOptions): Promise<Typed> {
		const before = this.#last;
		const typed = before === null ? this.#pressAll(parts, options) : before.then(() => this.#pressAll(parts, options));
		// One write is not mixed with others anyway, and the queue of writes bounds how many wait.
		if (parts.length === 1 && before === null) return typed;
		const settled = typed
			.catch(() => {}) // reported to its caller
			.finally(() => {
				if (this.#last === settled) this.#last = null;
			});
		this.#last = settled;
		return typed;
	}

	async #pressAll(parts: readonly (() => Uint8Array)[], { pacedMs, ...options }: PressOptions): Promise<Typed> {
		const until = performance.now() + pacedMs;
		const { escapePending } = this.#keyboard;
		let reads = true;
		let repeated = true;
		let bytes = 0;
		for (const [index, part] of parts.entries()) {
			if (reads && (index > 0 || escapePending)) {
				const ms = Math.min(until - performance.now(), PACE_MS + bytes * BYTE_MS);
				reads = await this.#takesWithin(ms, options.signal);
			}
			const id = options.id === undefined ? {} : { id: index === 0 ? options.id : idOfPart(options.id, index) };
			try {
				const measured = () => {
					const encoded = part();
					bytes = encoded.length;
					return encoded;
				};
				const typed = await this.#keyboard.type(measured, { ...options, ...id });
				repeated &&= typed.repeated;
			} catch (error) {
				// What was typed so far ended the program: that is the answer, not a refusal.
				if (isEnd(error) && (index > 0 || error.facts.maybeTyped === true)) return { repeated: repeated && index > 0 };
				throw error;
			}
		}
		return { repeated };
	}

	#takesWithin(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
		const late: Condition<boolean> = {
			start: ({ after, settle }) => after(Math.max(0, ms), () => settle(false)),
		};
		return wait([this.#keyboard.taken, late], { signal });
	}
}

const isEnd = (error: unknown): error is Fault<"session_ended"> =>
	error instanceof Fault && error.code === "session_ended";

/** When a call is repeated, each of its parts is recognized on its own. */
const idOfPart = (id: string, index: number) =>
	createHash("sha256").update(`${id} ${index}`).digest("hex").slice(0, 32);
