// What can go wrong between us and a terminal, by class (R3.3): it could not be
// made, it refused a request, or its holder died. `code` is an errno name
// (ENOENT), one of the holder's refusals (queue_full), or `unresponsive`,
// `disconnected`, `disk_stalled`, `input_too_long` or `lost`.

import type { CreationStage, Refusal } from "../protocol/frames.ts";

export class PtyError extends Error {
	override readonly name: string = "PtyError";
	readonly code: string;
	/** The request had been sent and was not answered: it may have taken effect, or may still. */
	readonly sent: boolean;

	constructor(code: string, message: string, { cause, sent = false }: { cause?: unknown; sent?: boolean } = {}) {
		super(message, { cause });
		this.code = code;
		this.sent = sent;
	}
}

/** The terminal could not be made; nothing is left behind. */
export class PtyCreationError extends PtyError {
	override readonly name = "PtyCreationError";
	readonly stage: CreationStage;
	readonly errno: number | null;

	constructor(facts: { stage: CreationStage; code: string; errno?: number | null; message: string; cause?: unknown }) {
		super(facts.code, facts.message, { cause: facts.cause });
		this.stage = facts.stage;
		this.errno = facts.errno ?? null;
	}
}

/** What belongs to a code: `free` to queue_full, `limit` to line_too_long and input_too_long, `holderPid` to unresponsive, … */
type IoFacts = Partial<Omit<Refusal, "code" | "message">> & {
	readonly holderPid?: number;
	/** How long the oldest unanswered request has waited. */
	readonly sinceMs?: number;
};

/** The terminal exists but a request failed. */
export class PtyIoError extends PtyError {
	override readonly name = "PtyIoError";
	readonly facts: IoFacts;

	constructor(code: string, message: string, { sent = false, ...facts }: IoFacts & { readonly sent?: boolean } = {}) {
		super(code, message, { sent });
		this.facts = facts;
	}

	static from({ code, message, ...facts }: Refusal): PtyIoError {
		return new PtyIoError(code, message, facts);
	}
}

/** The holder died and took the terminal with it. */
export class PtyDiedError extends PtyError {
	override readonly name = "PtyDiedError";

	constructor({ sent = false }: { sent?: boolean } = {}) {
		super("lost", "the holder of this terminal is gone", { sent });
	}
}
