import { z } from "zod";
import type { SessionRecord } from "../journal/records.ts";
import type { SessionFacts } from "../protocol/answer.ts";
import { clean, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { processNames } from "../protocol/process-names.ts";
import type { Survivor } from "../pty/pty.ts";
import { sessionFactsSchema } from "./facts.ts";
import { advanced, session, usualBudget } from "./fields.ts";
import { renderSession } from "./render.ts";
import { processFacts, sessionFacts, target } from "./session-facts.ts";
import { ownerOf, type ToolContext, tool } from "./tool.ts";

const MAX_REASON_CHARS = 400;
const MAX_PATH_CHARS = 4096;

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
			.describe("End only the main program; keep its background processes running")
			.meta(advanced),
		forget: z.boolean().default(false).describe("Also delete its record and output").meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: sessionFactsSchema,
	async run(input, context) {
		const { sessions } = context;
		if (input.keep && input.forget)
			throw new Fault("bad_input", {
				problems: ["give `keep` or `forget`, not both: what is left running needs its log"],
			});
		const { force, keep } = input;
		const ending = keep
			? { session: await target(context, input.session), survivors: [] }
			: await sessions.findToEnd(input.session, { owner: ownerOf(context.caller), force });
		if (ending.session === null) {
			if (input.forget) await sessions.remove(ending.record.id);
			return unreadFacts(ending.record, ending.survivors, context);
		}
		const { session: closing, survivors: before } = ending;
		const survivors = [...before, ...(await sessions.close(closing, { force, keep }))];
		const outcome = { returned: "ended", attention: null } as const;
		const facts = await sessionFacts(closing, context, { outcome, maxTokens: input.maxTokens });
		if (input.forget) await sessions.remove(closing.id);
		const released = (closing.ptyExit?.released ?? []).map(processFacts);
		const goesOn = safe`not ended, because it is a Dialtone of its own: ${processNames(released)}`;
		return {
			...facts,
			...(released.length > 0 && { notices: [...(facts.notices ?? []), goesOn] }),
			...(survivors.length > 0 && { survivors: survivors.map(processFacts) }),
		};
	},
	render: renderSession,
});

/** Of one whose record cannot be read, its output cannot be told either. */
function unreadFacts(
	{ id, name, state, reason, bytesOut, cwd }: SessionRecord,
	survivors: readonly Survivor[],
	{ startedAt }: ToolContext,
): SessionFacts {
	return {
		session: id,
		name: oneLine(name),
		status: state,
		activity: null,
		waitingFor: null,
		certainty: null,
		because: oneLine(reason ?? state, MAX_REASON_CHARS),
		returned: "ended",
		matched: null,
		text: clean("").text,
		offset: bytesOut,
		truncated: false,
		exit: null,
		cwd: oneLine(cwd, MAX_PATH_CHARS),
		ports: [],
		driver: "agent",
		sandbox: null,
		elapsedMs: Math.round(performance.now() - startedAt),
		view: "lines",
		cursor: null,
		highlights: [],
		missed: null,
		...(survivors.length > 0 && { survivors: survivors.map(processFacts) }),
	};
}
