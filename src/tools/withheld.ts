// What a program did not get of its caller's environment: named in the facts of every start, and once to each
// caller in words, so that a program that fails without a token is no riddle.

import type { SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, joined, oneLine, safe } from "../protocol/clean.ts";
import type { Inherit } from "../pty/environment.ts";
import { asInherited } from "../session/inheriting.ts";
import { limits } from "../session/options.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Caller, ToolContext } from "./tool.ts";

const MAX_NAMES = 50;
const SHOWN_NAMES = 6;

/** The names that were withheld and not set by the call itself. */
export function withheldFrom(
	caller: Caller,
	inherit: Inherit,
	env: Readonly<Record<string, string>>,
): readonly CleanLine[] {
	const { withheld = [] } = asInherited(caller, inherit);
	return withheld
		.filter((name) => !Object.hasOwn(env, name))
		.slice(0, MAX_NAMES)
		.map((name) => oneLine(name));
}

/** Who was told. A caller that was forgotten is told again, which is safe. */
const told = new WeakMap<Sessions, Set<string>>();

export function withEnvironmentNotice<F extends SessionFacts>(
	facts: F,
	{ sessions, caller }: ToolContext,
	withheld: readonly CleanLine[],
): F {
	const owners = told.get(sessions) ?? new Set();
	told.set(sessions, owners);
	if (withheld.length === 0 || owners.has(caller.owner)) return facts;
	if (owners.size >= limits.ownersSeen) owners.clear();
	owners.add(caller.owner);
	return { ...facts, notices: [...(facts.notices ?? []), noticeOf(withheld)] };
}

function noticeOf(withheld: readonly CleanLine[]): CleanLine {
	const more = withheld.length > SHOWN_NAMES ? safe` and ${withheld.length - SHOWN_NAMES} more` : "";
	return safe`not inherited: ${joined(withheld.slice(0, SHOWN_NAMES), ", ")}${more}; \`env\` adds what the program needs`;
}
