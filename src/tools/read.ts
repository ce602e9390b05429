import { z } from "zod";
import { bytesOf } from "../journal/journal.ts";
import type { ReadFacts, SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, comparable, counted, joined, oneLine, safe, stacked } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { ownWords } from "../session/own-words.ts";
import { checkLinePattern } from "../session/pattern-dialect.ts";
import type { Session } from "../session/session.ts";
import { pictureArea, pictureSvg } from "../terminal/picture-svg.ts";
import { VIEWS } from "./client.ts";
import { type FittedLines, fitLines, fitRaw, nativeBudget, READ_MS, withinTokens } from "./excerpt.ts";
import { readFactsSchema } from "./facts.ts";
import { advanced, budget, column, offset, session as reference } from "./fields.ts";
import { missingFontsNotice } from "./fonts.ts";
import { sessionHeader } from "./header.ts";
import { pictureToPng } from "./picture.ts";
import { renderSession } from "./render.ts";
import { onFullScreen, searchLines } from "./search.ts";
import { type Shown, sessionFacts, target } from "./session-facts.ts";
import { type ToolContext, tool } from "./tool.ts";

type Lines = NonNullable<ReadFacts["lines"]>;
type Matches = NonNullable<ReadFacts["matches"]>;

type View = (typeof VIEWS)[number];

const USUAL_LINES = 50;
/** Of an ended session whose end was told. */
const LINES_TOLD_AGAIN = 10;

interface LinesInput {
	readonly lines?: number | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly column?: number | undefined;
	readonly maxTokens?: number | undefined;
}

interface ReadInput extends LinesInput {
	readonly view: View;
	readonly search?: string | undefined;
	readonly pattern?: string | undefined;
	readonly context: number;
	readonly order: "newest" | "oldest";
}

/** The views that have a field; of a search, those are said by its own rows below. */
const VIEWS_WITH = {
	from: ["lines", "raw"],
	to: ["lines", "raw"],
	lines: ["lines"],
	column: ["lines"],
} as const satisfies Partial<Record<keyof LinesInput, readonly View[]>>;

export const read = tool({
	name: "read",
	title: "Read a terminal",
	description:
		"Read without waiting. `new` (default): what is new since your last read. `screen`: all of what is on the screen now. `lines`: any lines of all that was printed, by number, or the last ones. `search` or `pattern`: the lines that match, with their numbers. `raw`: exact bytes by offset, as base64. `picture`: the screen as an image. `why`: the evidence for whose turn it is. Also works on ended sessions.",
	effect: "reads",
	always: true,
	input: z.strictObject({
		session: reference,
		view: z.enum(VIEWS).default("new"),
		lines: z.int().min(1).max(100_000).optional().describe("How many lines or matches; 50 unless a range is given"),
		from: offset.optional().describe("First line, counted from 1 over everything; with view `raw` the first byte"),
		to: offset.optional().describe("Last line; with view `raw` the byte to stop before"),
		column: column.optional().describe("Of line `from`: from this character on").meta(advanced),
		search: z.string().min(1).max(4096).optional().describe("Only lines that contain this text"),
		pattern: z.string().min(1).max(512).optional().describe("Only lines that match this JavaScript regex"),
		context: z.int().min(0).max(100).default(0).describe("Lines to show around each match"),
		order: z.enum(["newest", "oldest"]).default("newest").describe("Which matches, if there are more than `lines`"),
		maxTokens: budget,
	}),
	facts: readFactsSchema,
	async run(input, context): Promise<ReadFacts> {
		const view = viewOf(input);
		const session = await target(context, input.session);
		await session.refresh();
		await session.catchUp();
		const { screen } = session;
		const outcome = { returned: "now", attention: null } as const;
		const showing = (diff?: Shown, fitted?: FittedLines) =>
			sessionFacts(session, context, {
				outcome,
				maxTokens: input.maxTokens,
				...(diff && { diff }),
				...(fitted && { fitted }),
				by: performance.now() + READ_MS,
			});
		if (input.search !== undefined || input.pattern !== undefined) {
			const { matches, ...fitted } = await searchLines(session, input, context);
			return {
				...noting(await showing(shown(session, "lines", ""), fitted), onFullScreen(session, input, context)),
				matches,
			};
		}
		switch (view) {
			case "new": {
				const facts = await showing();
				if (!session.ended || facts.text !== "") return facts;
				// It was told before: whoever asks again wants to see it.
				const last = await linesOf(session, { lines: LINES_TOLD_AGAIN, maxTokens: input.maxTokens }, context);
				if (last.text === "") return facts;
				return noting(await showing(shown(session, "lines", ""), last), safe`nothing new; its last lines again`);
			}
			case "screen":
				return showing(shown(session, "screen"));
			case "lines":
				return noting(
					await showing(shown(session, "lines", ""), await linesOf(session, input, context)),
					onFullScreen(session, input, context),
				);
			case "why":
				return { ...(await showing(shown(session, "lines", ""))), why: true };
			case "raw": {
				const { excerpt, ...fitted } = await fitRaw(session, input, nativeBudget(input.maxTokens, session, context));
				const { from, to, gaps } = excerpt;
				const base64 = Buffer.from(bytesOf(excerpt)).toString("base64");
				return { ...(await showing(shown(session, "lines", ""), fitted)), base64, from, to, gaps };
			}
			case "picture": {
				const { row, rows, column, cols } = pictureArea(screen);
				const isPart = rows < screen.rows || cols < screen.cols;
				const part = ownWords(
					`only rows ${row + 1} to ${row + rows} and columns ${column + 1} to ${column + cols} are in the picture`,
				);
				const svg = pictureSvg(screen);
				const facts = await showing(shown(session, "screen", isPart ? part : ""));
				const { png, missing } = await pictureToPng(svg);
				return {
					...noting(facts, missingFontsNotice(missing)),
					truncated: isPart,
					picture: { mimeType: "image/png", base64: Buffer.from(png).toString("base64") },
				};
			}
		}
	},
	render(facts) {
		const { base64, from = 0, to = 0, lines, matches } = facts;
		if (facts.why === true) return stacked([sessionHeader(facts), facts.because]);
		const notes: CleanLine[] = [];
		if (lines !== undefined)
			notes.push(matches === undefined ? shownOf(lines, facts.missed) : matchesIn(matches, lines));
		if (base64 !== undefined) notes.push(safe`bytes ${from} to ${to}: ${oneLine(base64, base64.length)}`);
		return renderSession(facts, notes);
	},
});

/** The view that is meant: lines need not be called so. Refuses what contradicts itself, or would have no effect. */
function viewOf(input: ReadInput): View {
	const { from, to, column, search, pattern, context, order } = input;
	const isOfLines = [from, to, input.lines, column].some((field) => field !== undefined);
	const view = isOfLines && input.view === "new" ? "lines" : input.view;
	const searches = search !== undefined || pattern !== undefined;
	const problems: string[] = [];
	if (search !== undefined && pattern !== undefined) problems.push("give `search` or `pattern`, not both");
	if (comparable(search ?? pattern ?? " ") === "") problems.push("there is nothing visible to search for");
	if (searches && view !== "new" && view !== "lines") problems.push(`a search is of lines: leave out view \`${view}\``);
	if (from !== undefined && to !== undefined && to < from) problems.push(`\`to\` (${to}) is before \`from\` (${from})`);
	for (const [field, views] of Object.entries(VIEWS_WITH)) {
		const isThere = (views as readonly View[]).includes(view);
		if (input[field as keyof typeof VIEWS_WITH] !== undefined && !isThere && !searches)
			problems.push(
				`view \`${view}\` has no \`${field}\`: it is of view ${views.map((one) => `\`${one}\``).join(" or ")}`,
			);
	}
	if (column !== undefined && searches) problems.push("a search has no `column`");
	else if (column !== undefined && from === undefined) problems.push("`column` is of line `from`: give that, too");
	if (context > 0 && !searches) problems.push("`context` is of a search: give `search` or `pattern`");
	if (order === "oldest" && !searches)
		problems.push("`order` is of a search; the first lines are those with `from`: 1");
	if (search?.trim().includes("\n"))
		problems.push("lines are searched one by one: give `search` one line; `context` shows the lines around it");
	if (problems.length > 0) throw new Fault("bad_input", { problems });
	if (pattern !== undefined) checkLinePattern(pattern);
	return view;
}

const noting = (facts: SessionFacts, notice: CleanLine | null): SessionFacts =>
	notice === null ? facts : { ...facts, notices: [...(facts.notices ?? []), notice] };

/** Only what is there: of a range that was cut, its parts. */
function shownOf({ from, to, total }: Lines, missed: ReadFacts["missed"]): CleanLine {
	if (to < from) return safe`no such lines; there are ${total}`;
	const cut = missed ?? { from: to + 1, to };
	const parts = [
		{ from, to: cut.from - 1 },
		{ from: cut.to + 1, to },
	].filter((part) => part.from <= part.to);
	if (parts.length === 0) return safe`none of ${counted(total, "line")}`;
	const ranges = parts.map((part) => (part.from === part.to ? part.from : safe`${part.from}–${part.to}`));
	const isOne = parts.length === 1 && parts[0]!.from === parts[0]!.to;
	return safe`${isOne ? "line" : "lines"} ${joined(ranges, ", ")} of ${total}`;
}

function matchesIn({ count, shown: few }: Matches, { from, to, total }: Lines): CleanLine {
	const where =
		total === 0 || (from === 1 && to === total) ? counted(total, "line") : safe`lines ${from}–${to} of ${total}`;
	if (to < from && total > 0) return safe`no such lines; there are ${total}`;
	if (count === 0) return safe`no match in ${where}`;
	return safe`${count === few ? "" : safe`${few} of `}${count} matching ${count === 1 ? "line" : "lines"} in ${where}`;
}

/** The lines that were asked for: a range from its beginning, or the last ones. */
async function linesOf(session: Session, input: LinesInput, context: ToolContext): Promise<FittedLines> {
	const view = await session.transcript.view();
	const { from, to, column, maxTokens } = input;
	const lines = input.lines ?? USUAL_LINES;
	const fitted = (range: Parameters<typeof fitLines>[1], keep: "first" | "last") =>
		withinTokens(
			nativeBudget(maxTokens, session, context),
			(budget) => fitLines(view, range, { ...budget, keep }),
			(lines) => lines,
		);
	if (from === undefined) {
		const end = to ?? view.total;
		return fitted({ from: end - lines + 1, to: end }, "last");
	}
	const last = Math.min(to ?? view.total, input.lines === undefined ? view.total : Math.max(1, from) + input.lines - 1);
	return fitted({ from, to: last, column }, "first");
}

/** The screen, or a text of our choice. */
function shown({ screen }: Session, view: "screen" | "lines", text?: string): Shown {
	const snapshot = text === undefined ? screen.snapshot() : null;
	return {
		kind: view,
		text: text ?? snapshot!.text,
		highlights: snapshot?.highlights ?? [],
		cursor: screen.cursor,
		offset: screen.offset,
		missed: null,
	};
}
