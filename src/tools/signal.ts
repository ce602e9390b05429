import { z } from "zod";
import { budget, session, timeout } from "./fields.ts";
import { renderSession } from "./render.ts";
import { sessionFacts } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const signal = tool({
	name: "signal",
	title: "Signal a program",
	description:
		"Send a signal to the program in the foreground. INT is Ctrl+C, and jumps ahead of anything typed before. Returns like `send`.",
	effect: "types",
	input: z.strictObject({
		session,
		signal: z.enum(["INT", "TERM", "KILL", "HUP", "TSTP", "CONT"]).default("INT"),
		timeoutMs: timeout.default(5000),
		maxTokens: budget,
	}),
	async run(input, { sessions, caller, signal: aborted }) {
		const startedAt = performance.now();
		const target = await sessions.find(input.session);
		await target.signal(`SIG${input.signal}`);
		const outcome = await target.wait({ until: {}, timeoutMs: input.timeoutMs, signal: aborted });
		return sessionFacts(target, { caller, outcome, startedAt, maxTokens: input.maxTokens });
	},
	render: renderSession,
});
