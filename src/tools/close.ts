import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { sessionFactsSchema } from "./facts.ts";
import { advanced, session, usualBudget } from "./fields.ts";
import { renderSession } from "./render.ts";
import { processFacts, sessionFacts, target } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const close = tool({
	name: "close",
	title: "End a session",
	description: "End a session and everything it started. Its output stays readable.",
	effect: "ends",
	input: z.strictObject({
		session,
		force: z.boolean().default(false).describe("Kill at once"),
		keep: z
			.boolean()
			.default(false)
			.describe("End only the main program; let its background processes run on")
			.meta(advanced),
		forget: z.boolean().default(false).describe("Also delete its record and output").meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: sessionFactsSchema,
	async run(input, context) {
		const { sessions } = context;
		if (input.keep && input.forget)
			throw new Fault("bad_input", { problems: ["what `keep` leaves running needs the log that `forget` deletes"] });
		const closing = await target(context, input.session);
		const survivors = await sessions.close(closing, { force: input.force, keep: input.keep });
		const outcome = { returned: "ended", attention: null } as const;
		const facts = await sessionFacts(closing, context, { outcome, maxTokens: input.maxTokens });
		if (input.forget) await sessions.remove(closing.id);
		return survivors.length === 0 ? facts : { ...facts, survivors: survivors.map(processFacts) };
	},
	render: renderSession,
});
