import { z } from "zod";
import { oneLine, safe, stacked } from "../protocol/clean.ts";
import { cleanLine } from "./facts.ts";
import { advanced, session } from "./fields.ts";
import { onHost } from "./host-names.ts";
import { target } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const askHuman = tool({
	name: "ask_human",
	title: "Ask the person",
	description:
		"Ask the person to do in a session what you should not: type a password, confirm what cannot be undone. Never ask for the secret itself.",
	effect: "asks",
	input: z.strictObject({
		session,
		question: z.string().min(1).max(2000).describe("What they should do"),
		reason: z.string().max(2000).optional().describe("Why they should").meta(advanced),
	}),
	facts: z.strictObject({
		session: z.string(),
		name: cleanLine,
		question: cleanLine,
		how: cleanLine.describe("What the person can run"),
		page: cleanLine.nullable().describe("Where the question is shown to them in a browser; null where no page is open"),
		asked: z.boolean(),
	}),
	async run(input, context) {
		const asking = await target(context, input.session);
		await asking.refresh();
		asking.askPerson({ question: input.question, reason: input.reason ?? null });
		return {
			session: asking.id,
			name: oneLine(asking.name),
			question: oneLine(input.question, 2000),
			// To the person, a name means their own session: what they type must not end up there.
			how: safe`dialtone attach ${oneLine(onHost(context.caller, asking.id))}`,
			page: context.page == null ? null : safe`${oneLine(context.page)}/#${oneLine(asking.id)}`,
			asked: false,
		};
	},
	render: ({ question, how, page }) =>
		stacked([
			safe`Tell the person: ${question}`,
			page === null
				? safe`They can do it by running: ${how}`
				: safe`They can do it where the question is shown, ${page}, or by running: ${how}`,
			safe`Then call \`wait\` on it, which returns when something was entered.`,
		]),
});
