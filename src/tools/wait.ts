import { z } from "zod";
import { budget, session, timeout, until } from "./fields.ts";
import { renderSession } from "./render.ts";
import { conclude } from "./session-facts.ts";
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
				"Count output from this offset as new, instead of from your last look: goes on with a wait that was cut off",
			),
		maxTokens: budget,
	}),
	async run(input, { engine, caller, signal }) {
		const startedAt = performance.now();
		const target = await engine.find(input.session);
		const outcome = await target.wait({
			until: input.until ?? {},
			timeoutMs: input.timeoutMs,
			signal,
			// What came between the caller's last look and this call is new to them, and may be what they wait for.
			from: input.from ?? target.seenBy(caller.owner),
		});
		return conclude(target, { caller, outcome, startedAt, maxTokens: input.maxTokens });
	},
	render: renderSession,
});
