// Scopes at the streams and questions that name a session without calling a tool: what a token, or an identity of the
// fleet, may not see is not found, as if it did not exist.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import { farOwner, farSession, isWithin, type Scope } from "../session/scope.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Client, SessionClient } from "./client.ts";
import { asOwner, lookingAt, mustBe } from "./looking-at.ts";

/** The sessions within a scope. */
export type Within = (scope: Scope) => Pick<Sessions, "recordNamed" | "list">;

/** Null: it is limited to nothing. */
export interface Scoped {
	readonly scope: Scope | null;
}

export class ScopedSessions {
	readonly #within: Within | undefined;

	/** Without `within`, tokens with a scope reach nothing. */
	constructor(within: Within | undefined) {
		this.#within = within;
	}

	/** What a reference means to this token: the same, or the id of a session within its scope. */
	async meant({ scope }: Scoped, reference: string): Promise<string> {
		const far = farSession(scope);
		if (far !== null) return mustBe(far, reference);
		// An owner's on another machine is looked for there.
		const isElsewhere = scope !== null && farOwner(scope) !== null && reference.includes("/");
		return scope === null || isElsewhere ? reference : (await this.#of(scope).recordNamed(reference)).id;
	}

	/** The client by which this token asks for what it means. */
	client({ scope }: Scoped, client: Client): SessionClient {
		const far = farSession(scope);
		if (far !== null) return lookingAt(client, far);
		const owner = scope === null ? null : farOwner(scope);
		return owner === null ? client : asOwner(client, owner);
	}

	/** Whether this token may know of the session of an event. One that is removed is within none but its own. */
	sees({ scope }: Scoped, { session: id, host, owner = null }: SessionEvent): boolean {
		if (scope === null) return true;
		if (host !== undefined) return isWithin(scope, { id, owner, parent: null, host });
		if ("session" in scope) return id === scope.session;
		return this.#of(scope)
			.list()
			.some(({ record }) => record.id === id);
	}

	/** Those that this token may know of. */
	async *events(
		token: Scoped,
		events: AsyncIterable<SessionEvent | EventsDropped>,
	): AsyncGenerator<SessionEvent | EventsDropped> {
		const hears = this.hearing(token);
		for await (const event of events) if (event.event === "dropped" || hears(event)) yield event;
	}

	/** For one stream: whether each event may be told. */
	hearing(token: Scoped): (event: SessionEvent) => boolean {
		const told = new Set<string>(); // also of one that is removed
		return (event) => {
			const { session } = event;
			if (token.scope === null) return true;
			if (!told.has(session) && !this.sees(token, event)) return false;
			if (event.event === "closed") told.delete(session);
			else told.add(session);
			return true;
		};
	}

	#of(scope: Scope): ReturnType<Within> {
		if (this.#within === undefined) throw new Fault("not_allowed", { what: "A token with a scope" });
		return this.#within(scope);
	}
}
