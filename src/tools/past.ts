// A session's past for people: its timeline, the screen of a moment, and files to keep. The routes of HTTP and
// the commands of the command line are each a few lines over it.

import { asciicast, castMarks } from "../journal/export.ts";
import { momentLines } from "../journal/moment-lines.ts";
import type { SessionRecord } from "../journal/records.ts";
import { replay } from "../journal/replay.ts";
import { Slices } from "../journal/slices.ts";
import { timeline } from "../journal/timeline.ts";
import { clean } from "../protocol/clean.ts";
import type { Timeline } from "../protocol/timeline.ts";
import type { Gap, Recording, Seen, When } from "../session/recording.ts";
import { Recordings } from "../session/recordings.ts";
import type { Sessions } from "../session/sessions.ts";
import { pictureSvg } from "../terminal/picture-svg.ts";
import { repaint, repaintText } from "../terminal/repaint.ts";
import type { DrawnOptions } from "./client.ts";
import { fontsFor } from "./fonts.ts";
import { pictureToPng, textOf } from "./picture.ts";

/** Read from the transcript at once. */
const TEXT_BYTES = 256 * 1024;
const PIECE_CHARS = 64 * 1024;

/** The screen of a moment. */
export interface MomentFacts {
	/** Milliseconds since the start. */
	readonly at: number;
	readonly offset: number;
	/** What to write to a terminal of this size to see it. */
	readonly content: string;
	readonly cols: number;
	readonly rows: number;
	/** Its rows as text. */
	readonly lines: readonly string[];
	/** Output before it that is not kept: the screen may lack it. */
	readonly gaps: readonly Gap[];
}

function momentOf({ screen, at, gaps }: Seen): MomentFacts {
	const { cols, rows, offset } = screen;
	const { lines, text } = screen.snapshot();
	const picture = screen.picture();
	const content = picture === null ? repaintText(text) : repaint(picture);
	return { at, offset, content, cols, rows, lines: lines.map((line) => clean(line).text), gaps };
}

type Recorded = { readonly recording: Recording; readonly record: SessionRecord };

const timelineOf = ({ recording, record }: Recorded, signal?: AbortSignal): Promise<Timeline> =>
	timeline({ directory: recording.directory, index: recording.index, record, signal });

/** An asciicast with marks for turns and drivers. */
export async function* castOf(recorded: Recorded, version: 2 | 3): AsyncGenerator<string> {
	const { record, recording } = recorded;
	const past = await timelineOf(recorded);
	const { cols, rows, name: title, command } = record;
	const { directory } = recording;
	yield* asciicast({
		directory,
		version,
		cols,
		rows,
		title,
		command,
		startedAt: past.startedAt,
		marks: castMarks(past),
	});
}

/** A picture of a moment, and the characters that no font here has. */
async function pictureAt(
	recording: Recording,
	when: When,
	{ format, signal }: { readonly format: "svg" | "png"; readonly signal?: AbortSignal | undefined },
): Promise<{ readonly picture: Uint8Array; readonly missing: readonly string[] }> {
	const svg = await recording.see(when, ({ screen }) => pictureSvg(screen), signal);
	if (format === "svg") return { picture: Buffer.from(svg), missing: (await fontsFor(textOf(svg))).missing };
	const { png, missing } = await pictureToPng(svg);
	return { picture: png, missing };
}

/** The rows of a moment, without blank ones at the end. */
const textAt = (recording: Recording, when: When, signal?: AbortSignal): Promise<string> =>
	recording.see(when, ({ screen }) => `${screen.snapshot().text}\n`, signal);

/** The end of a recording. */
const LAST: When = { offset: Number.MAX_SAFE_INTEGER };

export class Past implements Disposable {
	readonly #sessions: Sessions;
	readonly #recordings: Recordings;

	constructor(sessions: Sessions) {
		this.#sessions = sessions;
		this.#recordings = new Recordings({ scrollback: sessions.options.scrollback });
	}

	async timeline(reference: string, signal?: AbortSignal): Promise<Timeline> {
		return timelineOf(await this.#find(reference), signal);
	}

	async moment(reference: string, when: When, signal?: AbortSignal): Promise<MomentFacts> {
		const { recording } = await this.#find(reference);
		return recording.see(when, momentOf, signal);
	}

	/** What a recording shows, in pieces; a moment of it where a time is given. */
	async *drawn(reference: string, { as, at, offset, signal, turn }: DrawnOptions): AsyncGenerator<Uint8Array> {
		const found = await this.#find(reference);
		await turn?.();
		const when = at !== undefined ? { at } : offset !== undefined ? { offset } : null;
		for await (const part of await this.#body(found, { as, when, signal })) yield* cut(part);
	}

	[Symbol.dispose](): void {
		this.#recordings[Symbol.dispose]();
	}

	async #body(
		found: Recorded,
		{ as, when, signal }: { as: DrawnOptions["as"]; when: When | null; signal: AbortSignal },
	): Promise<AsyncIterable<string | Uint8Array>> {
		const { recording, record } = found;
		switch (as) {
			case "timeline":
				return once(JSON.stringify(await timelineOf(found, signal)));
			case "moment":
				return once(JSON.stringify(await recording.see(when ?? LAST, momentOf, signal)));
			case "cast":
				return inPieces(castOf(found, 3));
			case "replay":
				return inPieces(momentLines(replay(recording.directory)));
			case "text":
				return when === null ? this.#text(record.id) : once(await textAt(recording, when, signal));
			default:
				return once((await pictureAt(recording, when ?? LAST, { format: as, signal })).picture);
		}
	}

	/** Everything that it printed, as lines. */
	async *#text(id: string): AsyncGenerator<string> {
		const session = await this.#sessions.find(id);
		const view = await session.transcript.view();
		for (let from = 1; from <= view.total; ) {
			const lines = await view.first({ from, to: view.total }, TEXT_BYTES);
			if (lines.length === 0) return;
			yield lines.map(({ text }) => `${clean(text).text}\n`).join("");
			from = lines.at(-1)!.last + 1;
		}
	}

	async #find(reference: string): Promise<Recorded> {
		const { record, directory } = await this.#sessions.recorded(reference);
		return { record, recording: this.#recordings.of({ directory }) };
	}
}

/** Lines in pieces of some size, and others have their turn between them. */
async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
	const slices = new Slices();
	let piece = "";
	for await (const line of lines) {
		piece += line;
		await slices.turn();
		if (piece.length < PIECE_CHARS) continue;
		yield piece;
		piece = "";
	}
	yield piece;
}

function* cut(part: string | Uint8Array): Generator<Uint8Array> {
	const bytes = typeof part === "string" ? Buffer.from(part) : part;
	for (let at = 0; at < bytes.length; at += PIECE_CHARS) yield bytes.subarray(at, at + PIECE_CHARS);
}

async function* once<T>(value: T): AsyncGenerator<T> {
	yield value;
}
