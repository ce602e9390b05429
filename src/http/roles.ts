// What a token may do, by the table of roles (tools/abilities.ts). Which sessions it may do it to is its scope
// (session/scope.ts).

import { Fault } from "../protocol/fault.ts";
import { ABILITIES, type Ability } from "../tools/abilities.ts";
import type { TokenRecord } from "./tokens.ts";

/** What a route needs: nothing · an ability · that of the tool that it calls. */
export type Needs = Ability | "nothing" | "tool";

export const may = ({ role }: Pick<TokenRecord, "role">, ability: Ability): boolean =>
	ABILITIES[role].includes(ability);

/** Throws where the token may not do this. */
export function mustBeAllowed(token: Pick<TokenRecord, "role" | "scope">, ability: Ability, what: string): void {
	if (!may(token, ability)) throw new Fault("not_allowed", { what: `${what} with a token for \`${token.role}\`` });
	// Before anything is done for it: what is started would be outside of the scope.
	if (ability === "starts" && token.scope !== null && "session" in token.scope)
		throw new Fault("not_allowed", { what: `${what} with a token for one session` });
}
