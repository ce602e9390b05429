// Who calls on the daemon's socket, by its process, and what it may ask for. A program of this user that is not
// confined may do what the user may. One inside a session gets no more than that session; one that is confined
// by something else gets nothing, because what it starts would run outside of that.

import type { Socket } from "node:net";
import type { SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import { peerOf } from "../pty/peer.ts";
import { mustBeFrom } from "../session/reach.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Caller, EnclosingSession } from "../session/start-spec.ts";
import type { Done, Question } from "./wire.ts";

/** The process at the other end of a connection. */
export interface CallerProcess {
	/** The session that it runs in; null where that is none of ours. */
	readonly inside: EnclosingSession | null;
	/** How it is confined, if the daemon is not. */
	readonly confined: string | null;
}

/** What one connection may ask for, and be told. */
export interface Authority {
	/** The question as it may be asked, or a fault. */
	admit(question: Question): Promise<Question>;
	/** For one stream of events: whether each may be told. */
	hearing(): (event: SessionEvent) => Promise<boolean>;
	/** The answer to a question that was admitted, as far as it may be told. */
	told(question: Question, done: Done): Promise<Done>;
}

export interface Callers {
	/** Once for each connection. */
	identify(socket: Socket): Promise<CallerProcess>;
	/** The question as this process may ask it, or a fault. */
	admit(question: Question, by: CallerProcess): Promise<Question>;
	/** Why it may not do what is left to the owner of the machine (tokens, policy); null where it may. */
	refused(by: CallerProcess): Fault | null;
	/** Whether a process may be told of what happens in a session. */
	mayHearOf(session: string, by: CallerProcess): Promise<boolean>;
}

/**
 * What a caller from inside a session may ask for. `always`: tells nothing of sessions · `as`: in the name of its session ·
 * `own`: about what was started from there · a text: it may not, in the words of the fault.
 */
const FROM_INSIDE = {
	hello: "always",
	tools: "always",
	status: "always",
	events: "always", // each is checked by mayHearOf
	call: "as",
	output: "own",
	view: "own",
	drivers: "own",
	snapshot: "own",
	drawn: "own",
	act: { refused: "Acting as a person" },
	people: { refused: "Watching all sessions" },
	approvals: { refused: "Seeing what waits for approval" },
	decide: { refused: "Approving a call" },
	http: { refused: "Opening HTTP" },
	fleet: { refused: "Joining or leaving a fleet" },
	stop: { refused: "Stopping the daemon" },
} as const satisfies Record<Question["do"], "always" | "as" | "own" | { readonly refused: string }>;

/** Asked by every client before anything else: a refusal would look like a broken daemon. */
const OPEN_TO_ALL: ReadonlySet<Question["do"]> = new Set(["hello"]);

export class ProcessCallers implements Callers {
	readonly #sessions: Sessions;

	constructor(sessions: Sessions) {
		this.#sessions = sessions;
	}

	async identify(socket: Socket): Promise<CallerProcess> {
		const { holders, confined } = await peerOf(socket);
		for (const holder of holders) {
			const record = await this.#sessions.heldBy(holder);
			if (record === null) continue;
			const isUnread = record.state !== "starting" && record.argv.length === 0;
			return { inside: record, confined: isUnread ? "the record of your session cannot be read" : confined };
		}
		return { inside: null, confined };
	}

	async admit(question: Question, by: CallerProcess): Promise<Question> {
		if (OPEN_TO_ALL.has(question.do)) return question;
		const inside = this.#enclosing(by);
		// With everything allowed to it, what it starts has its sandbox all the same.
		if (inside === null)
			return by.inside && "caller" in question ? withCaller(question, { inside: by.inside }) : question;
		const rule = FROM_INSIDE[question.do];
		if (typeof rule === "object") throw new Fault("inside_session", { what: rule.refused, session: inside.id });
		if (rule === "own" && "session" in question) mustBeFrom(inside, await this.#sessions.recordNamed(question.session));
		if (rule !== "as" || !("caller" in question)) return question;
		const { owner, parent } = inside;
		const as = { owner: owner ?? question.caller.owner, parent: parent ?? undefined, sessionsOf: undefined };
		return withCaller(question, { inside, ...as });
	}

	refused(by: CallerProcess): Fault | null {
		try {
			const session = this.#enclosing(by);
			return session && new Fault("inside_session", { what: "Administering Dialtone", session: session.id });
		} catch (error) {
			if (error instanceof Fault) return error;
			throw error;
		}
	}

	/** The session to which it is limited; null where it is to none. Throws where it gets nothing at all. */
	#enclosing({ inside, confined }: CallerProcess): EnclosingSession | null {
		if (inside === null && confined === null) return null;
		const policy = this.#sessions.policy.current();
		if (confined !== null && policy.elsewhere !== "allow") throw new Fault("caller_confined", { why: confined });
		return policy.inside === "own" ? inside : null;
	}

	async mayHearOf(session: string, by: CallerProcess): Promise<boolean> {
		const inside = this.#enclosing(by);
		if (inside === null) return true;
		const record = await this.#sessions.recordNamed(session).catch(() => null); // removed since
		return record?.within.includes(inside.id) === true;
	}
}

/** What a process may ask for and be told on its connection. */
export function authorityOf(callers: Callers, by: CallerProcess): Authority {
	return {
		admit: (question) => callers.admit(question, by),
		hearing: () => async (event) => callers.mayHearOf(event.session, by),
		told: async (question, done) => {
			// What a command line may do to our files, without a request, is asked here before.
			const refused = question.do === "hello" ? callers.refused(by) : null;
			return refused === null ? done : { hello: { ...done.hello!, refused: refused.toJSON() } };
		},
	};
}

const withCaller = <Q extends { readonly caller: Caller }>(question: Q, change: Partial<Caller>): Q => ({
	...question,
	caller: { ...question.caller, ...change },
});
