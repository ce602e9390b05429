// A session's recording: written in a format others read, or played back here.
// Both read the session's own files; the daemon only resolves the session's name.

import { createWriteStream } from "node:fs";
import { basename } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { asciicast, scriptPair } from "../journal/export.ts";
import { replay as moments } from "../journal/replay.ts";
import type { ListedSession } from "../protocol/answer.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { onSession } from "./session-named.ts";

interface Recorded extends ListedSession {
	readonly directory: string;
}

async function recorded(invocation: Invocation): Promise<Recorded> {
	await using client = await invocation.dependencies.connect();
	const look = (session: string) => client.call("read", { session, view: "screen" });
	const { facts: screen } = await onSession(invocation, client, invocation.words[0]!, look);
	const { facts } = await client.call("list", {});
	const found = facts.sessions.find(({ session }) => session === screen.session)!;
	return { ...found, directory: invocation.dependencies.sessionDir(found.session) };
}

export async function exportRecording(invocation: Invocation): Promise<number> {
	const { flags, io } = invocation;
	const format = flags.string("format") ?? "cast";
	const output = flags.string("output");
	const what = await recorded(invocation);
	const to = (): Writable => (output === undefined ? io.stdout : createWriteStream(output));
	const write = (from: Readable) => pipeline(from, to(), { end: output !== undefined });
	const { name, command, createdAt, directory, session } = what;
	switch (format) {
		case "cast":
		case "cast2": {
			const version = format === "cast" ? 3 : 2;
			// Sessions are 80 columns wide unless their log records another width.
			const cast = asciicast({ directory, version, cols: 80, rows: 24, title: name, command, startedAt: createdAt });
			await write(Readable.from(cast));
			break;
		}
		case "script": {
			if (output === undefined) throw badInput("script writes two files: give --output FILE");
			const { timing, typescript } = scriptPair(directory);
			await pipeline(Readable.from(typescript), createWriteStream(output));
			await pipeline(Readable.from(timing), createWriteStream(`${output}.timing`));
			io.err(`Play it: scriptreplay --log-out ${basename(output)} --log-timing ${basename(output)}.timing\n`);
			break;
		}
		case "text":
			await write(Readable.from([`${(await seen(directory)).lines(Number.POSITIVE_INFINITY).join("\n")}\n`]));
			break;
		case "svg":
		case "png": {
			const { pictureSvg } = await import("../terminal/picture-svg.ts");
			const { fontsFor, missingFontsNotice } = await import("../tools/fonts.ts");
			const { pictureToPng, textOf } = await import("../tools/picture.ts");
			const svg = pictureSvg(await seen(directory));
			// An SVG is drawn with the fonts of whoever looks at it: first of all, here.
			const { png, missing } =
				format === "png" ? await pictureToPng(svg) : { png: null, missing: (await fontsFor(textOf(svg))).missing };
			await write(Readable.from([png === null ? svg : Buffer.from(png)]));
			const notice = missingFontsNotice(missing);
			if (notice !== null) io.err(`dialtone: ${notice}\n`);
		}
	}
	if (output !== undefined && !invocation.json) io.err(`Wrote ${output}\n`);
	if (invocation.json && output !== undefined) io.out(`${JSON.stringify({ session, format, output })}\n`);
	return EXIT.ok;
}

// More lines than a person scrolls through; a log may hold far more.
const SCROLLBACK_LINES = 100_000;

/** The screen after everything that was recorded. */
async function seen(directory: string): Promise<Screen> {
	const { Screen } = await import("../terminal/screen.ts");
	const screen = new Screen({ cols: 80, rows: 24, scrollback: SCROLLBACK_LINES });
	let { cols, rows } = screen;
	for await (const moment of moments(directory)) {
		if (moment.kind === "output") screen.feed(moment.bytes);
		else if (moment.kind === "header" && moment.name === "COLUMNS") cols = Number(moment.value) || cols;
		else if (moment.kind === "header" && moment.name === "LINES") rows = Number(moment.value) || rows;
		else if (moment.kind === "resized") ({ cols, rows } = moment);
		if (cols !== screen.cols || rows !== screen.rows) screen.resize(cols, rows);
	}
	return screen;
}

/** Plays the output back with its own pauses, long ones shortened by --idle-limit. */
export async function replay(invocation: Invocation): Promise<number> {
	const { flags, io } = invocation;
	const speed = flags.number("speed") ?? 1;
	const idleLimitMs = flags.number("idle-limit") ?? 2_000;
	const { directory } = await recorded(invocation);
	const leave = new AbortController();
	process.once("SIGINT", () => leave.abort());
	let lastUs = 0;
	try {
		for await (const moment of moments(directory)) {
			const ms = Math.min((moment.atUs - lastUs) / 1000, idleLimitMs) / speed;
			lastUs = moment.atUs;
			// A pause shorter than a frame is invisible, and timers would only slow a fast program down.
			if (ms > 8) await pause(ms, undefined, { signal: leave.signal });
			leave.signal.throwIfAborted();
			if (moment.kind === "output") io.out(moment.bytes);
		}
	} catch (error) {
		if (!leave.signal.aborted) throw error;
		return EXIT.interrupted;
	} finally {
		// A recording may end in colour or with a hidden cursor.
		if (io.stdout.isTTY) io.out("\x1b[0m\x1b[?25h\x1b[?1049l\n");
	}
	return EXIT.ok;
}
