// What is typed into a session: every byte passes here, after whoever may type was asked and before the terminal's queue.
//
// It also keeps what follows from typing: ids that were typed already, text that was not entered, text typed ahead of the
// program. How several keys are paced is in key-presses.ts, who may type in driver-lease.ts.

import type { Typist } from "../journal/turns.ts";
import type { Attention } from "../protocol/answer.ts";
import { MAX_INPUT_BYTES } from "../protocol/frames.ts";
import type { Pty, WriteOptions } from "../pty/pty.ts";
import type { Condition } from "../pty/wait.ts";
import type { InputCounts } from "../terminal/input-counts.ts";
import type { ScreenFacts } from "./attention.ts";
import type { AttentionTracker } from "./attention-tracker.ts";
import type { DriverLease, Writer } from "./driver-lease.ts";
import type { TypedText } from "./echo-filter.ts";
import { KeyPresses, type PressOptions, type Typed } from "./key-presses.ts";
import type { PendingQuestion } from "./pending-question.ts";
import type { TurnLog } from "./turn-log.ts";
import { UnenteredText } from "./unentered-text.ts";

// A caller repeats a write within seconds; the holder remembers 1024 for the time after a restart.
const REMEMBERED_IDS = 256;
const MAX_AHEAD = 8;
const NOTHING = new Uint8Array(0);

export interface TypeOptions extends WriteOptions {
	readonly as: Writer;
	/** What is recorded of it, where that is not what the bytes count. */
	readonly counts?: InputCounts | undefined;
	/** The secret of this name is typed. */
	readonly named?: string | undefined;
}

export interface SessionInputParts {
	readonly pty: Pick<Pty, "write" | "inputOffset">;
	readonly tracker: Pick<AttentionTracker, "attention" | "typing" | "escapePending">;
	readonly driving: DriverLease;
	readonly turns: TurnLog;
	readonly question: PendingQuestion;
	/** The program has taken all that was typed, or has ended. */
	readonly taken: Condition<boolean>;
	readonly screen: () => ScreenFacts;
	/** Throws where the session has ended. */
	readonly mustRun: () => void;
	/** Errors of the terminal become faults. */
	readonly asking: <T>(request: Promise<T>) => Promise<T>;
	readonly onTyping: () => void;
}

export class SessionInput {
	readonly #parts: SessionInputParts;
	readonly #presses: KeyPresses;
	readonly #unentered = new UnenteredText();
	/** The newest ids of writes that were typed, the oldest first. */
	readonly #typedIds = new Set<string>();
	/** Typed while the program was busy, since it last waited. */
	#ahead: readonly { readonly text: string; readonly offset: number }[] = [];
	#lastTypedAt = Number.NEGATIVE_INFINITY;

	constructor(parts: SessionInputParts) {
		this.#parts = parts;
		this.#presses = new KeyPresses({
			type: (input, options) => this.type(input, options),
			taken: parts.taken,
			get escapePending() {
				return parts.tracker.escapePending;
			},
		});
	}

	/** By performance.now(). */
	get lastTypedAt(): number {
		return this.#lastTypedAt;
	}

	/** See Session.type. */
	type(input: Uint8Array | (() => Uint8Array), { counts, named, ...options }: TypeOptions): Promise<Typed> {
		const { tracker, turns, question } = this.#parts;
		return this.#write(input, options, (bytes) => {
			const secret = named !== undefined || tracker.attention.waitingFor === "secret";
			turns.typed(bytes, { typist: this.#typist(options.as), counts, secret, named });
			// One that reads keys has taken them.
			if (takesKeys(tracker.attention)) this.#unentered.clear();
			else this.#unentered.take(bytes);
			if (this.#unentered.chars === 0) question.answered();
		});
	}

	/** What the emulator answers when the program asks something of its terminal. */
	async reply(bytes: Uint8Array): Promise<void> {
		await this.#write(bytes, { as: null });
	}

	press(parts: readonly (() => Uint8Array)[], options: PressOptions): Promise<Typed> {
		return this.#presses.press(parts, options);
	}

	/** See Session.typing. */
	typing(text: string, offset: number): readonly TypedText[] {
		const ahead = this.#parts.tracker.attention.activity !== "waiting";
		if (!ahead) this.#ahead = [];
		else this.#ahead = [...this.#ahead.slice(1 - MAX_AHEAD), { text, offset }];
		return [{ text, ahead }];
	}

	/** See Session.typedAhead. */
	typedAhead(from: number): readonly TypedText[] {
		return this.#ahead.map(({ text, offset }) => ({ text, ahead: true, echoed: offset < from }));
	}

	/** How many characters were typed and not entered, to a program that reads lines. */
	unentered({ ended }: { readonly ended: boolean }): number {
		if (ended || takesKeys(this.#parts.tracker.attention)) this.#unentered.clear();
		// A full-screen program may take keys for itself (tmux' prefix) while what it shows reads lines.
		const { alternate, lastLine } = this.#parts.screen();
		if (alternate && !this.#unentered.isSeenIn(lastLine)) this.#unentered.clear();
		return this.#unentered.chars;
	}

	/** Who types, as it is recorded; null: no caller does. */
	#typist(as: Writer): Typist | null {
		if ("agent" in as) return as.agent === null ? null : { by: "agent", who: as.agent };
		if ("person" in as) return { by: "person", who: as.person };
		const { driver } = this.#parts.driving;
		return { by: "person", who: driver.kind === "person" ? driver.who : "" };
	}

	/** Every byte that is typed passes here. `as` null: the emulator. */
	async #write(
		input: Uint8Array | (() => Uint8Array),
		{ as, ...options }: WriteOptions & { readonly as: Writer | null },
		onTyping: (bytes: Uint8Array) => void = () => {},
	): Promise<Typed> {
		const { pty, tracker, driving } = this.#parts;
		const { id } = options;
		let acknowledge = () => {};
		let acceptedBefore = -1;
		const encode = () => {
			this.#parts.mustRun();
			if (id !== undefined && this.#typedIds.has(id)) return NOTHING;
			if (as !== null) driving.mayType(as);
			const bytes = typeof input === "function" ? input() : input;
			if (bytes.length > MAX_INPUT_BYTES) return bytes; // will be refused: nothing is typed
			acceptedBefore = pty.inputOffset;
			this.#lastTypedAt = performance.now();
			this.#parts.onTyping();
			onTyping(bytes);
			acknowledge = tracker.typing(bytes);
			return bytes;
		};
		try {
			const queuedBytes = typeof input === "function" ? 0 : input.length;
			await this.#parts.asking(pty.write(encode, { queuedBytes, ...options }));
		} finally {
			acknowledge();
		}
		if (id === undefined) return { repeated: false };
		// A duplicate: known here, or to the holder (sent by an earlier daemon), which then accepted nothing.
		const repeated = acceptedBefore < 0 || pty.inputOffset === acceptedBefore;
		this.#typedIds.add(id);
		const [oldest] = this.#typedIds;
		if (this.#typedIds.size > REMEMBERED_IDS && oldest !== undefined) this.#typedIds.delete(oldest);
		return { repeated };
	}
}

/** There is no line to enter: each key counts by itself. */
const takesKeys = ({ waitingFor }: Attention): boolean => waitingFor === "key" || waitingFor === "screen";
