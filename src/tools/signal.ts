import { z } from "zod";
import { SIGNALS } from "./client.ts";
import { sessionFactsSchema } from "./facts.ts";
import { advanced, session, timeout, usualBudget } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool, waitMs } from "./tool.ts";

export const signal = tool({
	name: "signal",
	title: "Signal a program",
	description: "Signal the foreground program. INT is Ctrl+C, ahead of anything typed before.",
	effect: "types",
	input: z.strictObject({
		session,
		signal: z.enum(SIGNALS).default("INT"),
		timeoutMs: timeout.default(5000).meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: sessionFactsSchema,
	run: (input, context) =>
		onSession(context, input, async (target) => {
			if (target.ended) throw target.endFault({ onlyRead: true }); // nobody expects that anything was typed
			await context.sessions.signal(target, input.signal, { agent: context.caller.owner });
			return target.wait({
				until: {},
				timeoutMs: waitMs(context, input.timeoutMs),
				signal: context.signal,
				caller: context.caller.owner,
			});
		}),
	render: renderSession,
});
