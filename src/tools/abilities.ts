// What each role may do: the one table, for tokens over HTTP and for identities of the fleet. Which sessions they may
// do it to is their scope (session/scope.ts).

import type { PersonAct } from "../protocol/driver.ts";
import type { Role } from "./client.ts";
import type { Effect } from "./tool.ts";

/**
 * What a tool does, and what people do beside tools: `approves` answers what an agent asks and types secrets;
 * `administers` takes over, shares and gives access.
 */
export type Ability = Effect | "approves" | "administers";

export const ABILITIES: Readonly<Record<Role, readonly Ability[]>> = {
	/** A person: also a browser that has logged in. */
	admin: ["reads", "asks", "types", "starts", "ends", "approves", "administers"],
	/** An agent. */
	drive: ["reads", "asks", "types", "starts", "ends"],
	view: ["reads"],
	/** A person who lets agents work and decides for them, and does not type. */
	approve: ["reads", "approves"],
};

/** What each act of a person needs. */
export const ACT_NEEDS: Readonly<Record<PersonAct["act"], Ability>> = {
	take: "administers",
	keys: "administers",
	paste: "administers",
	resize: "administers",
	"hand-back": "administers",
	secret: "approves",
	answer: "approves",
	decline: "approves",
	restart: "administers",
	rename: "administers",
	remove: "administers",
	share: "administers",
};
