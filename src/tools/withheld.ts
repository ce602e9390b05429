// What a program did not get of its caller's environment: named in the facts of `start`, and once to each caller in
// words, whichever set starts a program, so that a program that fails without a token is no riddle.

import { noticesIn, type StartFacts } from "../protocol/answer.ts";
import { type CleanLine, joined, oneLine, safe } from "../protocol/clean.ts";
import type { Inherit } from "../pty/environment.ts";
import { asInherited } from "../session/inheriting.ts";
import { environmentRules, limits, type Options } from "../session/options.ts";
import type { ToolContext } from "./tool.ts";

const MAX_NAMES = 50;
const SHOWN_NAMES = 6;

/** What a call chose for its program. */
export interface Chosen {
	readonly inherit?: Inherit | undefined;
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** A shell can be given variables at any time. */
	readonly isShell?: boolean;
}

/** What was chosen, and the names that were withheld and not set by the call itself. */
export function environmentFacts(
	{ sessions, caller }: ToolContext,
	{ inherit, env = {} }: Chosen,
): StartFacts["environment"] {
	const chosen = inherit ?? environmentRules(sessions.options).inherit;
	const { withheld = [] } = asInherited(caller, chosen);
	const names = withheld.filter((name) => !Object.hasOwn(env, name)).slice(0, MAX_NAMES);
	return { inherit: chosen, withheld: names.map((name) => oneLine(name)) };
}

/** Who was told, by what all callers' views of the same sessions share. A caller that was forgotten is told again, which is safe. */
const told = new WeakMap<Options, Set<string>>();

/** The facts of a start in any set, with what its program did not get, unless this caller was told before. */
export function withEnvironmentNotice<F extends object>(facts: F, context: ToolContext, chosen: Chosen): F {
	const { sessions, caller } = context;
	const { withheld } = environmentFacts(context, chosen);
	const owners = told.get(sessions.options) ?? new Set();
	told.set(sessions.options, owners);
	if (withheld.length === 0 || owners.has(caller.owner)) return facts;
	if (owners.size >= limits.ownersSeen) owners.clear();
	owners.add(caller.owner);
	return { ...facts, notices: [...noticesIn(facts), noticeOf(withheld, chosen)] };
}

function noticeOf(withheld: readonly CleanLine[], { isShell = false }: Chosen): CleanLine {
	const more = withheld.length > SHOWN_NAMES ? safe` and ${withheld.length - SHOWN_NAMES} more` : "";
	const names = safe`${joined(withheld.slice(0, SHOWN_NAMES), ", ")}${more}`;
	return safe`not inherited: ${names}; ${isShell ? safe`\`export\` sets what commands need` : safe`\`env\` adds what the program needs`}`;
}
