import { createHash } from "node:crypto";
import { z } from "zod";
import { oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { checkUntil } from "../session/conditions.ts";
import type { TypedText } from "../session/echo-filter.ts";
import { secretToType } from "../session/secret-typing.ts";
import { compose, type Typing } from "../session/typing.ts";
import { AUTOMATIC_ID } from "./client.ts";
import { sessionFactsSchema } from "./facts.ts";
import { advanced, keys, offset, session, text, timeout, untilToo, usualBudget } from "./fields.ts";
import { renderSession } from "./render.ts";
import { onSession } from "./session-facts.ts";
import { tool, waitMs } from "./tool.ts";

export const send = tool({
	name: "send",
	title: "Type into a program",
	description:
		"Type into a session; returns what is new when the program waits again, ends or times out. First `text`, then Enter with `submit`, then `keys`.",
	effect: "types",
	always: true,
	input: z.strictObject({
		session,
		text: text.optional(),
		submit: z.boolean().default(false).describe("Press Enter"),
		keys: keys.optional().describe("enter tab esc up pageup f1 ctrl+c alt+x shift+tab … or characters"),
		secret: z.string().min(1).max(100).optional().describe("Type the secret of this name instead; you never see it"),
		paste: text.optional().describe("Many lines as one paste"),
		force: z.boolean().optional().describe("Paste although the program did not ask for bracketed paste").meta(advanced),
		until: untilToo,
		timeoutMs: timeout,
		ifUnchanged: z.boolean().optional().describe("Refuse if it printed since your last answer"),
		ifOffset: offset
			.optional()
			.describe("Refuse when the program has written more than this offset of your last answer")
			.meta(advanced),
		id: z.string().min(1).max(200).optional().describe("A repeated id is not typed twice").meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: sessionFactsSchema,
	async run(input, context) {
		let repeated = false;
		let before = 0;
		let asked = false;
		checkUntil(input.until);
		const { secret: name } = input;
		if (name !== undefined && (input.text ?? input.paste ?? input.keys) !== undefined)
			throw new Fault("bad_input", { problems: ["give `secret`, or what to type, not both"] });
		const facts = await onSession(context, input, async (target) => {
			const { caller, signal } = context;
			const id = input.id === undefined ? {} : { id: writeId([caller.owner, target.id, input.id]) };
			let offset = target.journal.end;
			const echoed = target.attention.waitingFor !== "secret";
			let typed: readonly TypedText[] = [];
			const secret =
				name === undefined
					? null
					: await secretToType(target, { name, owner: caller.owner, secrets: context.sessions.secrets, signal });
			asked = secret?.value === null;
			if (asked) target.askPerson({ question: `Enter the secret "${name}".`, reason: null });
			const typing = secret === null ? input : { text: secret.value ?? "", submit: input.submit };
			const [first, ...rest] = compose(typing, () => target.screen.modes);
			const checked = () => {
				offset = target.journal.end;
				before = target.unentered;
				const expected = input.ifOffset ?? (input.ifUnchanged ? target.answeredTo(caller.owner) : offset);
				if (offset > expected) throw new Fault("screen_moved", { expected, offset });
				// Where nothing is echoed, what repeats the typed text is the answer.
				if (echoed) typed = target.typing(input.text ?? input.paste ?? "", offset);
				secret?.check();
				return first();
			};
			const queuedBytes = input.text?.length ?? 0;
			// The holder looks from the moment on at which it types: a quick program has blocked again before we are told.
			using _watching = { [Symbol.dispose]: target.watch({ ask: false }) };
			const options = {
				...id,
				as: { agent: caller.owner },
				signal,
				queuedBytes,
				pacedMs: waitMs(context, input.timeoutMs),
			};
			if (secret === null) ({ repeated } = await target.press([checked, ...rest], options));
			else if (secret.value !== null)
				({ repeated } = await target.press([checked], { ...options, ...NOT_SHOWN, named: name }).catch((error) => {
					throw secret.explained(error);
				}));
			const outcome = await target.wait({
				until: input.until ?? {},
				timeoutMs: waitMs(context, Math.max(0, input.timeoutMs - (performance.now() - context.startedAt))),
				signal,
				caller: caller.owner,
				// A quick program has answered before the write is known to have happened; one that was typed before a
				// restart, before this call.
				from: repeated ? target.seenBy(caller.owner) : offset,
				typed,
			});
			return { ...outcome, typed: echoed ? enteredLine(input) : undefined };
		});
		const told = name !== undefined && !asked && safe`Secret "${oneLine(name)}" was typed.`;
		const joins = before > 0 && Boolean(input.text || input.paste);
		return {
			...facts,
			...(told && { notices: [...(facts.notices ?? []), told] }),
			...(joins && !repeated && { joinedTo: before }),
			...(repeated && !input.id?.startsWith(AUTOMATIC_ID) ? { repeated: true as const } : {}),
		};
	},
	render: renderSession,
});

/** How long a secret is tells something about it. */
const NOT_SHOWN = { hidden: true, counts: { keys: 0, lines: 0 } } as const;

/** The one line that is typed before Enter is pressed, as a terminal echoes it; undefined where it is none or several. */
function enteredLine({ text, paste, submit, keys: [key] = [] }: Typing): string | undefined {
	const typed = text ?? paste ?? "";
	const line = submit || /^(?:enter|return)$/i.test(key ?? "") ? typed : /^(.*)\n$/.exec(typed)?.[1];
	return line?.includes("\n") ? undefined : line;
}

/** The holder knows writes by 16 bytes. A caller's id is its own: another caller's "1" is another write. */
function writeId(parts: readonly [owner: string, session: string, id: string]): string {
	return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
