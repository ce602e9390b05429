import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import { MOST_ALREADY_BYTES } from "../session/session.ts";
import { sessionFactsSchema } from "./facts.ts";
import { advanced, offset, session, timeout, until, usualBudget } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool, waitMs } from "./tool.ts";

export const wait = tool({
	name: "wait",
	title: "Wait for a program",
	description:
		"Type nothing. With `until`: returns when it happens or the program ends. Without: when the program waits for input or ends.",
	effect: "reads",
	input: z.strictObject({
		session,
		until,
		timeoutMs: timeout,
		from: offset
			.optional()
			.describe("Count output from this offset as new, instead of from your last read: resumes a wait that was cut off")
			.meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: sessionFactsSchema,
	run: (input, context) =>
		onSession(context, input, async (target) => {
			const upTo = target.journal.end;
			const from = Math.max(input.from ?? target.seenBy(context.caller.owner), upTo - MOST_ALREADY_BYTES);
			// From memory, or after a restart from disk.
			const earlier = await target.journal.read(from, upTo);
			return target.wait({
				until: input.until ?? {},
				// What was received and drawn before has taken its time.
				timeoutMs: waitMs(context, Math.max(0, input.timeoutMs - (performance.now() - context.startedAt))),
				strict: true,
				signal: context.signal,
				caller: context.caller.owner,
				// Output between the caller's last read and this call is new to them, and may be what they wait for.
				from: upTo,
				earlier: bytesOf(earlier),
				typed: target.typedAhead(from),
			});
		}),
	render: renderSession,
});
