import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import type { ReadFacts } from "../protocol/answer.ts";
import { oneLine, safe, stacked } from "../protocol/clean.ts";
import { limits } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import { pictureArea, pictureSvg } from "../terminal/picture-svg.ts";
import { VIEWS } from "./client.ts";
import { excerptOf, linesOf } from "./excerpt.ts";
import { readFactsSchema } from "./facts.ts";
import { budget, session as reference } from "./fields.ts";
import { pictureToPng } from "./picture.ts";
import { renderSession } from "./render.ts";
import { type Shown, sessionFacts, target } from "./session-facts.ts";
import { tool } from "./tool.ts";

const offset = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const read = tool({
	name: "read",
	title: "Read a terminal",
	description:
		"Read without waiting. `new` (default): what is new since your last read. `screen`: all of what is on the screen now. `lines`: the last lines, also those scrolled away. `search`: lines that contain a text. `raw`: exact bytes by offset, as base64. `picture`: the screen as an image. Also works on ended sessions.",
	effect: "reads",
	always: true,
	input: z.strictObject({
		session: reference,
		view: z.enum(VIEWS).default("new"),
		lines: z.int().min(1).max(100_000).default(50).describe("How many, with view `lines`"),
		from: offset.optional().describe("First byte, with view `raw` or `lines`: any part of the output, by offset"),
		to: offset.optional().describe("Byte to stop before"),
		search: z.string().min(1).max(4096).optional().describe("Only lines that contain this, newest last"),
		maxTokens: budget,
	}),
	facts: readFactsSchema,
	async run(input, context): Promise<ReadFacts> {
		const session = await target(context, input.session);
		await session.refresh();
		const { screen } = session;
		const outcome = { returned: "now", attention: null } as const;
		const showing = (diff?: Shown) =>
			sessionFacts(session, context, { outcome, maxTokens: input.maxTokens, ...(diff && { diff }) });
		if (input.search !== undefined) {
			const { search } = input;
			const found = screen.lines(Number.MAX_SAFE_INTEGER).filter((line) => line.includes(search));
			return showing(shown(session, "lines", found.slice(-input.lines).join("\n")));
		}
		switch (input.view) {
			case "new":
				return showing();
			case "screen":
				return showing(shown(session, "screen"));
			case "lines": {
				const part = input.from !== undefined || input.to !== undefined;
				const lines = part
					? linesOf(session, await excerptOf(session, { ...input, maxBytes: limits.tailBytes }))
					: screen.lines(input.lines);
				return showing(shown(session, "lines", lines.join("\n")));
			}
			case "raw": {
				const excerpt = await excerptOf(session, { ...input, maxBytes: limits.rawBytes });
				const { from, to, gaps } = excerpt;
				const base64 = Buffer.from(bytesOf(excerpt)).toString("base64");
				return { ...(await showing(shown(session, "lines", ""))), base64, from, to, gaps };
			}
			case "picture": {
				const { row, rows, column, cols } = pictureArea(screen);
				const isPart = rows < screen.rows || cols < screen.cols;
				const part = `[… only rows ${row + 1} to ${row + rows} and columns ${column + 1} to ${column + cols} are in the picture …]`;
				const svg = pictureSvg(screen);
				const facts = await showing(shown(session, "screen", isPart ? part : ""));
				const base64 = Buffer.from(await pictureToPng(svg)).toString("base64");
				return { ...facts, truncated: isPart, picture: { mimeType: "image/png", base64 } };
			}
		}
	},
	render(facts) {
		const { base64, from = 0, to = 0 } = facts;
		const head = renderSession(facts);
		if (base64 === undefined) return head;
		return stacked([head, safe`bytes ${from} to ${to}: ${oneLine(base64, base64.length)}`]);
	},
});

/** The screen, or a text of our choice. */
function shown({ screen }: Session, view: "screen" | "lines", text?: string): Shown {
	const snapshot = view === "screen" ? screen.snapshot() : null;
	return {
		kind: view,
		text: text ?? snapshot?.text ?? "",
		highlights: snapshot?.highlights ?? [],
		cursor: screen.cursor,
		offset: screen.offset,
		missed: null,
	};
}
