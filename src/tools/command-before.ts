// The command before, where its own call was answered before its end.

import type { CommandBefore } from "../protocol/answer.ts";
import { clean } from "../protocol/clean.ts";
import type { Session } from "../session/session.ts";
import type { RunOutcome } from "../session/shell/run.ts";
import { type Budget, fitBetween, withinTokens } from "./excerpt.ts";
import { tellCommand } from "./session-facts.ts";

/** What this caller was not told of it: the rest of its output, and how it ended. Null where it knows; it counts as told. */
export async function commandBefore(
	session: Session,
	{ before }: Pick<RunOutcome, "before">,
	{ owner, ...budget }: Budget & { readonly owner: string },
): Promise<CommandBefore | null> {
	if (before === null) return null;
	const isNews = tellCommand(session, owner, before);
	const { text } = await withinTokens(
		budget,
		async (tried) => (before.from < before.to ? fitBetween(session, before, tried) : { text: "" }),
		(fitted) => fitted,
	);
	return isNews || text !== "" ? { text: clean(text).text, exitCode: before.exitCode } : null;
}
