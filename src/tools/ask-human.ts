import { z } from "zod";
import { session } from "./fields.ts";
import { tool } from "./tool.ts";

export const askHuman = tool({
	name: "ask_human",
	title: "Ask the person",
	description:
		"Ask the person to do in a session what you should not: type a password, confirm something irreversible, solve a captcha. Never ask for the secret itself. Tells how the person can take the terminal; then `wait` for the program to go on.",
	effect: "reads",
	input: z.strictObject({
		session,
		question: z.string().min(1).max(2000).describe("What the person should do, in one or two sentences"),
	}),
	async run(input, { sessions }) {
		const target = await sessions.find(input.session);
		return {
			session: target.id,
			name: target.name,
			question: input.question,
			how: `dialtone attach ${target.name}`,
			asked: false,
		};
	},
	render(facts) {
		const { name, question, how } = facts as { name: string; question: string; how: string };
		return `Tell the person: ${question}\nThey can do it by running: ${how}\nThen call \`wait\` on "${name}".`;
	},
});
