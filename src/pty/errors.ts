// What can go wrong between us and a terminal, by class (R3.3): it could not be
// made, it would not take what we said, or it died under us. `code` is an errno
// name (ENOENT) or one of the holder's refusals (queue_full).

import type { CreationStage, Refusal } from "../protocol/frames.ts";

export class PtyError extends Error {
	override readonly name: string = "PtyError";
	readonly code: string;

	constructor(code: string, message: string, options?: { cause?: unknown }) {
		super(message, options);
		this.code = code;
	}
}

/** There is no terminal, and nothing of the attempt is left. */
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

/** The terminal is there but did not do it; nothing was typed. */
export class PtyIoError extends PtyError {
	override readonly name = "PtyIoError";
	/** What the holder added: `free` for queue_full, `limit` for line_too_long, … */
	readonly facts: Partial<Omit<Refusal, "code" | "message">>;

	constructor(code: string, message: string, facts: Partial<Omit<Refusal, "code" | "message">> = {}) {
		super(code, message);
		this.facts = facts;
	}

	static from({ code, message, ...facts }: Refusal): PtyIoError {
		return new PtyIoError(code, message, facts);
	}
}

/** The holder died and took the terminal with it. */
export class PtyDiedError extends PtyError {
	override readonly name = "PtyDiedError";

	constructor() {
		super("lost", "the holder of this terminal is gone, and the terminal with it");
	}
}
