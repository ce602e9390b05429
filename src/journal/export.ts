// A session in standard formats, made on demand from log and timing:
// asciicast v3 and v2, and the pair of files that scriptreplay plays.
//
// All are lossy: asciicast cannot hold bytes that are not UTF-8, and both lose what
// the log does not keep. All are streamed, so that a large session costs no memory.

import { counted } from "../protocol/clean.ts";
import type { Mark, Timeline } from "../protocol/timeline.ts";
import { type Moment, replay } from "./replay.ts";
import { type TimingEntry, timingLine } from "./timing.ts";

export interface CastOptions {
	readonly directory: string;
	readonly version: 2 | 3;
	/** The initial size, if the log does not have it. */
	readonly cols: number;
	readonly rows: number;
	readonly title?: string;
	readonly command?: string;
	/** Milliseconds since the epoch. */
	readonly startedAt?: number;
	/** In the order of their times. */
	readonly marks?: readonly CastMark[];
}

interface CastMark {
	readonly atUs: number;
	readonly label: string;
}

/** Turns and drivers as marks: who typed how much, never what. */
export function castMarks({ marks }: Pick<Timeline, "marks">): CastMark[] {
	return marks.flatMap((mark) => {
		const atUs = mark.at * 1000;
		if (mark.kind === "turn") return [{ atUs, label: `${mark.by} ${inputLabel(mark)}` }];
		if (mark.kind !== "driver") return [];
		const who = mark.driver.kind === "person" ? `taken over by ${mark.driver.who}` : "handed back to the agent";
		return [{ atUs, label: mark.note === undefined ? who : `${who}: ${mark.note}` }];
	});
}

function inputLabel({ keys, lines, secret, named }: Extract<Mark, { kind: "turn" }>): string {
	if (secret) return named === undefined ? "entered a secret" : `entered the secret "${named}"`;
	const counts = [keys > 0 && `typed ${counted(keys, "key")}`, lines > 0 && `pasted ${counted(lines, "line")}`];
	return counts.filter(Boolean).join(", ") || "typed";
}

/** An asciicast file, line by line. */
export async function* asciicast(options: CastOptions): AsyncGenerator<string> {
	const { directory, version } = options;
	const time = version === 3 ? sinceTheLast() : sinceTheStart;
	const event = (atUs: number, code: string, data: string) =>
		`[${time(atUs).toFixed(6)}, ${JSON.stringify(code)}, ${JSON.stringify(data)}]\n`;
	// A character may span two chunks, and a byte order mark is ordinary output.
	const text = new TextDecoder("utf-8", { ignoreBOM: true });
	let size = { cols: options.cols, rows: options.rows };
	let headed = false;
	let lastUs = 0;
	let exitCode: string | null = null;
	const marks = [...(options.marks ?? [])];
	const due = (atUs: number) => {
		const end = marks.findIndex((mark) => mark.atUs > atUs);
		return marks.splice(0, end < 0 ? marks.length : end).map((mark) => {
			lastUs = Math.max(lastUs, mark.atUs);
			return event(lastUs, "m", mark.label);
		});
	};
	for await (const moment of replay(directory)) {
		if (headed) yield* due(moment.atUs - 1);
		lastUs = Math.max(lastUs, moment.atUs);
		if (moment.kind === "header") {
			if (moment.name === "COLUMNS") size = { ...size, cols: Number(moment.value) || size.cols };
			if (moment.name === "LINES") size = { ...size, rows: Number(moment.value) || size.rows };
			if (moment.name === "EXIT_CODE") exitCode = moment.value;
			continue;
		}
		if (!headed) yield castHeader({ ...options, ...size });
		headed = true;
		if (moment.kind === "output") {
			const data = text.decode(moment.bytes, { stream: true });
			if (data !== "") yield event(moment.atUs, "o", data);
		} else if (moment.kind === "resized") yield event(moment.atUs, "r", `${moment.cols}x${moment.rows}`);
		else yield event(moment.atUs, "m", `${moment.to - moment.from} bytes are not kept`);
	}
	if (!headed) yield castHeader({ ...options, ...size });
	const cut = text.decode();
	if (cut !== "") yield event(lastUs, "o", cut);
	yield* due(Number.POSITIVE_INFINITY);
	if (version === 3 && exitCode !== null) yield event(lastUs, "x", exitCode);
}

function castHeader({ version, cols, rows, title, command, startedAt }: CastOptions): string {
	const size = version === 3 ? { term: { cols, rows, type: "xterm-256color" } } : { width: cols, height: rows };
	const timestamp = startedAt === undefined ? {} : { timestamp: Math.floor(startedAt / 1000) };
	return `${JSON.stringify({ version, ...size, ...timestamp, ...(title && { title }), ...(command && { command }) })}\n`;
}

const sinceTheStart = (atUs: number) => atUs / 1e6;

/** v3 counts from the event before. */
function sinceTheLast(): (atUs: number) => number {
	let lastUs = 0;
	return (atUs) => {
		const seconds = (atUs - lastUs) / 1e6;
		lastUs = atUs;
		return seconds;
	};
}

/** The two files for `scriptreplay --log-timing TIMING --log-out TYPESCRIPT`. */
export interface ScriptPair {
	readonly typescript: AsyncGenerator<Uint8Array>;
	readonly timing: AsyncGenerator<string>;
}

export function scriptPair(directory: string): ScriptPair {
	return { typescript: typescript(directory), timing: scriptTiming(directory) };
}

async function* typescript(directory: string): AsyncGenerator<Uint8Array> {
	// scriptreplay always skips the first line of this file.
	yield Buffer.from("Script started [dialtone]\n");
	for await (const moment of replay(directory)) if (moment.kind === "output") yield moment.bytes;
}

/** The holder's own timing file counts bytes that may not be kept; this one counts what is in the typescript. */
async function* scriptTiming(directory: string): AsyncGenerator<string> {
	let lastUs = 0;
	for await (const moment of replay(directory)) {
		const entry = entryOf(moment, moment.atUs - lastUs);
		if (entry === null) continue;
		lastUs = moment.atUs;
		yield timingLine(entry);
	}
}

function entryOf(moment: Moment, afterUs: number): TimingEntry | null {
	switch (moment.kind) {
		case "output":
			return { afterUs, kind: "output", bytes: moment.bytes.length };
		case "resized":
			return { afterUs, kind: "resized", cols: moment.cols, rows: moment.rows };
		case "header":
			return { afterUs, kind: "header", name: moment.name, value: moment.value };
		case "gap":
			return null;
	}
}
