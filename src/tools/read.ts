import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import type { Session } from "../session/session.ts";
import { clean } from "../terminal/clean.ts";
import { pictureSvg } from "../terminal/picture-svg.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { excerptOf, linesOf } from "./excerpt.ts";
import { budget, session } from "./fields.ts";
import { pictureToPng } from "./picture.ts";
import { renderSession } from "./render.ts";
import { sessionFacts } from "./session-facts.ts";
import { tool } from "./tool.ts";

const offset = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const read = tool({
	name: "read",
	title: "Read a terminal",
	description:
		"ScreenDiff without waiting. `new` (default): what is new since your last diff. `screen`: all of what is on the screen now. `lines`: the last lines, also those scrolled away. `search`: lines that contain a text. `raw`: exact bytes by offset, as base64. `picture`: the screen as an image. Also works on ended sessions.",
	effect: "reads",
	always: true,
	input: z.strictObject({
		session,
		view: z.enum(["new", "screen", "lines", "raw", "picture"]).default("new"),
		lines: z.int().min(1).max(100_000).default(50).describe("How many, with view `lines`"),
		from: offset.optional().describe("First byte, with view `raw` or `lines`: any part of the output, by offset"),
		to: offset.optional().describe("Byte to stop before"),
		search: z.string().min(1).max(4096).optional().describe("Only lines that contain this, newest last"),
		maxTokens: budget,
	}),
	async run(input, { sessions, caller }) {
		const startedAt = performance.now();
		const target = await sessions.find(input.session);
		await target.refresh();
		const about = {
			caller,
			outcome: { returned: "now", attention: null },
			startedAt,
			maxTokens: input.maxTokens,
		} as const;
		if (input.search !== undefined)
			return sessionFacts(target, { ...about, diff: found(target, input.search, input.lines) });
		if (input.view === "new") return sessionFacts(target, about);
		if (input.view === "raw") {
			const excerpt = await excerptOf(target, input);
			const facts = await sessionFacts(target, { ...about, diff: diffOf(target, "lines", "") });
			return {
				...facts,
				base64: Buffer.from(bytesOf(excerpt)).toString("base64"),
				from: excerpt.from,
				to: excerpt.to,
				gaps: excerpt.gaps,
			};
		}
		if (input.view === "picture") {
			const png = await pictureToPng(pictureSvg(target.screen));
			const facts = await sessionFacts(target, { ...about, diff: diffOf(target, "screen", "") });
			return { ...facts, picture: { mimeType: "image/png", base64: Buffer.from(png).toString("base64") } };
		}
		if (input.view === "screen") {
			return sessionFacts(target, { ...about, diff: diffOf(target, "screen", target.screen.snapshot().text) });
		}
		const lines =
			input.from === undefined && input.to === undefined
				? target.screen.lines(input.lines)
				: linesOf(target, await excerptOf(target, input));
		return sessionFacts(target, { ...about, diff: diffOf(target, "lines", lines.join("\n")) });
	},
	render(facts) {
		const raw = facts as { base64?: string; from?: number; to?: number };
		const head = renderSession(facts);
		return raw.base64 === undefined ? head : `${head}\nbytes ${raw.from} to ${raw.to}: ${raw.base64}`;
	},
});

function found(target: Session, search: string, most: number): ScreenDiff {
	const matching = target.screen.lines(Number.MAX_SAFE_INTEGER).filter((line) => line.includes(search));
	return diffOf(target, "lines", matching.slice(-most).join("\n"));
}

/** A text of our choice in the form of a look, with what else the screen shows. */
function diffOf(target: Session, view: "screen" | "lines", text: string): ScreenDiff {
	const whole = target.screen.diffSince(null);
	return {
		...whole,
		kind: view,
		text: clean(text).text,
		missed: null,
		highlights: view === "screen" ? target.screen.snapshot().highlights : [],
	};
}
