import { z } from "zod";
import { oneLine, safe, stacked } from "../protocol/clean.ts";
import { cleanLine } from "./facts.ts";
import { session } from "./fields.ts";
import { target } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const askHuman = tool({
	name: "ask_human",
	title: "Ask the person",
	description:
		"Ask the person to do in a session what you should not: type a password, confirm what cannot be undone. Never ask for the secret itself.",
	effect: "reads",
	input: z.strictObject({
		session,
		question: z.string().min(1).max(2000).describe("What they should do"),
	}),
	facts: z.strictObject({
		session: z.string(),
		name: cleanLine,
		question: cleanLine,
		how: cleanLine.describe("What the person can run"),
		asked: z.boolean(),
	}),
	async run(input, context) {
		const asking = await target(context, input.session);
		const name = oneLine(asking.name);
		return {
			session: asking.id,
			name,
			question: oneLine(input.question, 2000),
			how: safe`dialtone attach ${name}`,
			asked: false,
		};
	},
	render: ({ name, question, how }) =>
		stacked([
			safe`Tell the person: ${question}`,
			safe`They can do it by running: ${how}`,
			safe`Then call \`wait\` on "${name}".`,
		]),
});
