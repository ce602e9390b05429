import { createHash } from "node:crypto";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { compose } from "../session/typing.ts";
import { AUTOMATIC_ID } from "./client.ts";
import { sessionFactsSchema } from "./facts.ts";
import { budget, keys, session, text, timeout, until } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool } from "./tool.ts";

export const send = tool({
	name: "send",
	title: "Type into a program",
	description:
		'Type into a session and return when the program waits again, ends, or the timeout passes, with what is new. `text` is typed as is; `submit` presses Enter after it; `keys` are pressed last, e.g. ["ctrl+c"], ["down", "down", "enter"], ["esc", ":", "w", "q", "enter"].',
	effect: "types",
	always: true,
	input: z.strictObject({
		session,
		text: text.optional().describe("Typed as is"),
		submit: z.boolean().default(false).describe("Press Enter after the text"),
		keys: keys
			.optional()
			.describe("enter tab esc up down left right home end pageup f1 ctrl+c alt+x shift+tab … or single characters"),
		paste: text.optional().describe("Many lines as one paste, for editors and REPLs"),
		force: z.boolean().optional().describe("Paste although the program did not ask for bracketed paste"),
		until,
		timeoutMs: timeout,
		ifOffset: z
			.int()
			.min(0)
			.max(Number.MAX_SAFE_INTEGER)
			.optional()
			.describe("Refuse when the program has written more than this offset of your last answer"),
		id: z.string().min(1).max(200).optional().describe("A repeated id is not typed twice"),
		maxTokens: budget,
	}),
	facts: sessionFactsSchema,
	async run(input, context) {
		let repeated = false;
		const facts = await onSession(context, input, async (target) => {
			const { caller, signal } = context;
			const id = input.id === undefined ? {} : { id: writeId([caller.owner, target.id, input.id]) };
			const startedAt = Date.now();
			let offset = target.journal.end;
			const echoed = target.attention.waitingFor !== "secret";
			const [first, ...rest] = compose(input, () => target.screen.modes);
			const checked = () => {
				offset = target.journal.end;
				if (input.ifOffset !== undefined && offset > input.ifOffset) {
					throw new Fault("screen_moved", { expected: input.ifOffset, offset });
				}
				return first();
			};
			const queuedBytes = input.text?.length ?? 0;
			({ repeated } = await target.press([checked, ...rest], { ...id, signal, queuedBytes, pacedMs: input.timeoutMs }));
			return target.wait({
				until: input.until ?? {},
				timeoutMs: Math.max(0, startedAt + input.timeoutMs - Date.now()),
				signal,
				caller: caller.owner,
				// A quick program has answered before the write is known to have happened; one that was typed before a
				// restart, before this call.
				from: repeated ? target.seenBy(caller.owner) : offset,
				// Where nothing is echoed, what repeats the typed text is the answer.
				typed: echoed ? (input.text ?? input.paste) : undefined,
			});
		});
		return repeated && !input.id?.startsWith(AUTOMATIC_ID) ? { ...facts, repeated } : facts;
	},
	render: renderSession,
});

/** The holder knows writes by 16 bytes. A caller's id is its own: another caller's "1" is another write. */
function writeId(parts: readonly [owner: string, session: string, id: string]): string {
	return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
