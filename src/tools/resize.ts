import { z } from "zod";
import { budget, height, session, width } from "./fields.ts";
import { renderSession } from "./render.ts";
import { sessionFacts } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const resize = tool({
	name: "resize",
	title: "Resize a terminal",
	description: "Give the terminal another size. Wider lines and taller screens show more at once.",
	effect: "types",
	input: z.strictObject({ session, cols: width, rows: height, maxTokens: budget }),
	async run(input, { sessions, caller, signal }) {
		const startedAt = performance.now();
		const target = await sessions.find(input.session);
		await sessions.resize(target, input.cols, input.rows);
		// A full-screen program repaints: the answer shows the new screen, not the torn one.
		const outcome = await target.wait({ until: { stillMs: 50, only: true }, timeoutMs: 1000, signal });
		return sessionFacts(target, { caller, outcome, startedAt, maxTokens: input.maxTokens });
	},
	render: renderSession,
});
