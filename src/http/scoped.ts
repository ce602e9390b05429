// Scopes at the streams and addresses that name a session without calling a tool: what a token may not see is
// not found, as if it did not exist.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { Scope } from "../session/scope.ts";
import type { Sessions } from "../session/sessions.ts";
import type { TokenRecord } from "./tokens.ts";

/** The sessions within a scope. */
export type Within = (scope: Scope) => Pick<Sessions, "recordNamed" | "list">;

export class ScopedSessions {
	readonly #within: Within | undefined;

	/** Without `within`, tokens with a scope reach nothing. */
	constructor(within: Within | undefined) {
		this.#within = within;
	}

	/** What a reference means to this token: the same, or the id of a session within its scope. */
	async meant({ scope }: TokenRecord, reference: string): Promise<string> {
		return scope === null ? reference : (await this.#of(scope).recordNamed(reference)).id;
	}

	/** Whether this token may know of the session. One that is removed is within none but its own. */
	sees({ scope }: TokenRecord, id: string): boolean {
		if (scope === null) return true;
		if ("session" in scope) return id === scope.session;
		return this.#of(scope)
			.list()
			.some(({ record }) => record.id === id);
	}

	/** Those that this token may know of. */
	async *events(
		token: TokenRecord,
		events: AsyncIterable<SessionEvent | EventsDropped>,
	): AsyncGenerator<SessionEvent | EventsDropped> {
		const told = new Set<string>(); // also of one that is removed
		for await (const event of events) {
			if (token.scope !== null && event.event !== "dropped") {
				if (!told.has(event.session) && !this.sees(token, event.session)) continue;
				if (event.event === "closed") told.delete(event.session);
				else told.add(event.session);
			}
			yield event;
		}
	}

	#of(scope: Scope): ReturnType<Within> {
		if (this.#within === undefined) throw new Fault("not_allowed", { what: "A token with a scope" });
		return this.#within(scope);
	}
}
