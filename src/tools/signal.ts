import { z } from "zod";
import { SIGNALS } from "./client.ts";
import { sessionFactsSchema } from "./facts.ts";
import { budget, session, timeout } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const signal = tool({
	name: "signal",
	title: "Signal a program",
	description:
		"Send a signal to the program in the foreground. INT is Ctrl+C, and jumps ahead of anything typed before. Returns like `send`.",
	effect: "types",
	input: z.strictObject({
		session,
		signal: z.enum(SIGNALS).default("INT"),
		timeoutMs: timeout.default(5000),
		maxTokens: budget,
	}),
	facts: sessionFactsSchema,
	run: (input, context) =>
		onSession(context, input, async (target) => {
			await target.signal(`SIG${input.signal}`);
			return target.wait({ until: {}, timeoutMs: input.timeoutMs, signal: context.signal });
		}),
	render: renderSession,
});
