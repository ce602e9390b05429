import { z } from "zod";
import { sessionFactsSchema } from "./facts.ts";
import { height, session, usualBudget, width } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const resize = tool({
	name: "resize",
	title: "Resize a terminal",
	description: "Give the terminal another size.",
	effect: "types",
	input: z.strictObject({ session, cols: width, rows: height, maxTokens: usualBudget }),
	facts: sessionFactsSchema,
	run: (input, context) =>
		onSession(context, input, async (target) => {
			const { caller, signal } = context;
			await context.sessions.resize(target, input, { as: { agent: caller.owner }, signal });
			return {
				returned: target.ended ? "ended" : target.attention.activity === "waiting" ? "waiting" : "still",
				attention: null,
				matched: null,
			};
		}),
	render: renderSession,
});
