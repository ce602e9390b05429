// What each role may do: the one table, and the one function that decides. Which sessions a token may do
// it to is its scope (session/scope.ts).

import { Fault } from "../protocol/fault.ts";
import type { Role } from "../tools/client.ts";
import type { Effect } from "../tools/tool.ts";
import type { TokenRecord } from "./tokens.ts";

/**
 * What a tool does, and what people do beside tools: `approves` answers what an agent asks and types secrets;
 * `administers` takes over, shares and gives access.
 */
export type Ability = Effect | "approves" | "administers";

/** What a route needs: nothing · an ability · that of the tool that it calls. */
export type Needs = Ability | "nothing" | "tool";

export const ABILITIES: Readonly<Record<Role, readonly Ability[]>> = {
	/** A person: also a browser that has logged in. */
	admin: ["reads", "types", "starts", "ends", "approves", "administers"],
	/** An agent. */
	drive: ["reads", "types", "starts", "ends"],
	view: ["reads"],
	/** A person who lets agents work and decides for them, and does not type. */
	approve: ["reads", "approves"],
};

export const may = ({ role }: Pick<TokenRecord, "role">, ability: Ability): boolean =>
	ABILITIES[role].includes(ability);

/** Throws where the token may not do this. */
export function mustBeAllowed(token: Pick<TokenRecord, "role" | "scope">, ability: Ability, what: string): void {
	if (!may(token, ability)) throw new Fault("not_allowed", { what: `${what} with a token for \`${token.role}\`` });
	// Before anything is done for it: what is started would be outside of the scope.
	if (ability === "starts" && token.scope !== null && "session" in token.scope)
		throw new Fault("not_allowed", { what: `${what} with a token for one session` });
}
