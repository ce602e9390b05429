// What a person was asked to do, until something was entered. Kept in `asked.json`, so that a
// wait for them goes on after a restart of the daemon. The file is removed before what they
// enter is typed: a question that was answered is never pending again.

import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { checked, FORMAT, MAX_BYTES, parseJson, readCache } from "../journal/state-file.ts";
import { type Attention, WAITING_FOR } from "../protocol/answer.ts";

const FILE = "asked.json";

const schema = z.object({
	waitingFor: z.enum(WAITING_FOR).nullable(),
	// Not in files of older versions.
	question: z.string().nullable().default(null),
	reason: z.string().nullable().default(null),
	since: z.number().default(0),
});

/** What a person was asked, as the agent put it. */
export interface Question {
	readonly question: string | null;
	/** Why they should. */
	readonly reason: string | null;
	/** Milliseconds since 1970; 0 where that was not kept. */
	readonly since: number;
}

type Asked = Question & Pick<Attention, "waitingFor">;

export class PendingQuestion {
	readonly #path: string | null;
	/** With what the program waited for when the person was asked. */
	#asked: Asked | null;

	/** Without a directory it is kept in memory only. */
	constructor(directory: string | null = null, asked: Asked | null = null) {
		this.#path = directory && join(directory, FILE);
		this.#asked = asked;
	}

	static async load(directory: string): Promise<PendingQuestion> {
		const asked = await readCache({
			path: join(directory, FILE),
			maxBytes: MAX_BYTES.asked,
			parse: (text) => checked(schema, parseJson(text)),
		});
		return new PendingQuestion(directory, asked);
	}

	/** A person was asked this while the program waited for that. */
	ask(
		{ question, reason }: Pick<Question, "question" | "reason">,
		{ waitingFor }: Pick<Attention, "waitingFor">,
	): void {
		const asked = { waitingFor, question, reason, since: Date.now() };
		this.#asked = asked;
		this.#keep((path) => {
			writeFileSync(`${path}.tmp`, JSON.stringify({ format: FORMAT, ...asked }), { mode: 0o600 });
			renameSync(`${path}.tmp`, path);
		});
	}

	/** Something was entered. */
	answered(): void {
		if (this.#asked === null) return;
		this.#asked = null;
		this.#keep((path) => rmSync(path, { force: true }));
	}

	/** Nothing was entered, and the program waits for the same. */
	isPending({ waitingFor }: Pick<Attention, "waitingFor">): boolean {
		return this.#asked !== null && this.#asked.waitingFor === waitingFor;
	}

	/** What is pending, while the program waits for the same. */
	pending(attention: Pick<Attention, "waitingFor">): Question | null {
		return this.isPending(attention) ? this.#asked : null;
	}

	#keep(change: (path: string) => void): void {
		if (this.#path === null) return;
		try {
			change(this.#path);
		} catch {
			// A full disk, or the session was removed: the next daemon knows of an older question, or of none.
		}
	}
}
