import type { Caller } from "./start-spec.ts";

/** The same caller as one who only looks: what is new to it, and what it must be told, stays so. */
export const observerOf = (caller: Caller): Caller => ({
	...caller,
	owner: `${caller.owner}:observer`,
	sessionsOf: caller.sessionsOf ?? caller.owner,
});
