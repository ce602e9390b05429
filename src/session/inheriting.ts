// Whose environment: decided in the caller's own process, so that what is withheld never leaves it.

import type { Inherit } from "../pty/environment.ts";
import type { Caller } from "./start-spec.ts";

/** What a caller's programs inherit: chosen here where the caller is this process, otherwise before it was sent. */
export function asInherited(caller: Caller, inherit: Inherit | undefined): Pick<Caller, "env" | "withheld"> {
	return caller.inheriting?.(inherit) ?? caller;
}
