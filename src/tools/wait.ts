import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import { MOST_ALREADY_BYTES } from "../session/session.ts";
import { sessionFactsSchema } from "./facts.ts";
import { budget, session, timeout, until } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const wait = tool({
	name: "wait",
	title: "Wait for a program",
	description:
		"Type nothing; return when the program waits for input, ends, or what you ask for in `until` happens. Use it when an answer said the program is still working.",
	effect: "reads",
	input: z.strictObject({
		session,
		until,
		timeoutMs: timeout,
		from: z
			.int()
			.min(0)
			.max(Number.MAX_SAFE_INTEGER)
			.optional()
			.describe(
				"Count output from this offset as new, instead of from your last read: resumes a wait that was cut off",
			),
		maxTokens: budget,
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
				timeoutMs: input.timeoutMs,
				signal: context.signal,
				caller: context.caller.owner,
				// Output between the caller's last read and this call is new to them, and may be what they wait for.
				from: upTo,
				earlier: bytesOf(earlier),
			});
		}),
	render: renderSession,
});
