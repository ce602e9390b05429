// A session's recording: written in a format others read, or played back here.
// What was printed is read from the session's own files, or comes from the machine that has them. What it looked like is
// drawn by the daemon, which knows the secrets: one that is put together on the screen can be masked only there.

import { createWriteStream } from "node:fs";
import { basename } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { scriptPair } from "../journal/export.ts";
import { momentsIn } from "../journal/moment-lines.ts";
import { readRecord } from "../journal/records.ts";
import { type Moment, replay as moments } from "../journal/replay.ts";
import { counted } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import type { Recording } from "../session/recording.ts";
import type { DrawnOptions } from "../tools/client.ts";
import type { MomentFacts } from "../tools/past.ts";
import type { Invocation } from "./command.ts";
import { drawingOnly, RESET_DRAWING } from "./drawing-only.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { look } from "./session-named.ts";

interface Recorded {
	readonly session: string;
	readonly name: string;
	/** Null: another machine has its files. */
	readonly directory: string | null;
}

async function recorded(invocation: Invocation): Promise<Recorded> {
	await using client = await invocation.dependencies.connect();
	const { session, name } = await look(invocation, client, invocation.words[0]!);
	const isElsewhere = session.includes("/"); // `host/id`: no id of this machine has one
	return { session, name, directory: isElsewhere ? null : invocation.dependencies.sessionDir(session) };
}

export async function exportRecording(invocation: Invocation): Promise<number> {
	const { flags, io } = invocation;
	const format = flags.string("format") ?? "cast";
	const output = flags.string("output");
	const at = flags.number("at");
	if (at !== undefined && (format === "script" || format.startsWith("cast")))
		throw badInput(`--at is a moment: ${format} is all of it`);
	const { name, directory, session } = await recorded(invocation);
	const to = (): Writable => (output === undefined ? io.stdout : createWriteStream(output));
	const write = (from: Readable) => pipeline(from, to(), { end: output !== undefined });
	const writeDrawn = async (as: "cast" | "text") => {
		await using client = await invocation.dependencies.connect();
		const { signal } = new AbortController();
		await write(Readable.from(await begun(client.drawn(session, { as, at, signal }))));
	};
	switch (format) {
		case "cast":
		case "cast2": {
			if (directory === null) {
				if (format === "cast2") throw onlyThere(name, format);
				await writeDrawn("cast");
				break;
			}
			const { castOf } = await import("../tools/past.ts");
			using recording = await recordingIn(directory);
			const record = await readRecord(directory);
			if (record === null) throw new Fault("session_not_found", { id: name, open: [] });
			await write(Readable.from(castOf({ recording, record }, format === "cast" ? 3 : 2)));
			break;
		}
		case "script": {
			if (directory === null) throw onlyThere(name, format);
			if (output === undefined) throw badInput("script writes two files: give --output FILE");
			const { timing, typescript } = scriptPair(directory);
			await pipeline(Readable.from(typescript), createWriteStream(output));
			await pipeline(Readable.from(timing), createWriteStream(`${output}.timing`));
			io.err(`Play it: scriptreplay --log-out ${basename(output)} --log-timing ${basename(output)}.timing\n`);
			break;
		}
		case "text":
			await writeDrawn("text");
			break;
		case "svg":
		case "png": {
			const [{ fontsFor, missingFontsNotice }, { pictureToPng, textOf }] = await Promise.all([
				import("../tools/fonts.ts"),
				import("../tools/picture.ts"),
			]);
			const svg = await drawn(invocation, session, { as: "svg", at });
			const png = format === "png" ? await pictureToPng(svg) : null;
			await write(Readable.from([png === null ? svg : Buffer.from(png.png)]));
			// An SVG is drawn with the fonts of whoever looks at it: first of all, here.
			const { missing } = png ?? (await fontsFor(textOf(svg)));
			const notice = missingFontsNotice(missing);
			if (notice !== null) io.err(`dialtone: ${notice}\n`);
		}
	}
	if (output !== undefined && !invocation.json) io.err(`Wrote ${output}\n`);
	if (invocation.json && output !== undefined) io.out(`${JSON.stringify({ session, format, output })}\n`);
	return EXIT.ok;
}

/** A format that is made of files which only the session's machine has. */
function onlyThere(name: string, format: string): Fault {
	const at = name.indexOf("/");
	const there = `dialtone export ${name.slice(at + 1)} --format ${format}`;
	return new Fault("not_supported", {
		what: `Format ${format} of a session of another machine`,
		instead: `Run \`${there}\` on ${name.slice(0, at)}, or use --format cast here.`,
	});
}

/** Its first piece is there, so that what is refused leaves no file. */
async function begun<T>(pieces: AsyncIterable<T>): Promise<AsyncIterable<T>> {
	const all = pieces[Symbol.asyncIterator]();
	const first = await all.next();
	return (async function* () {
		if (first.done) return;
		yield first.value;
		yield* { [Symbol.asyncIterator]: () => all };
	})();
}

async function recordingIn(directory: string): Promise<Recording> {
	const { Recording } = await import("../session/recording.ts");
	return new Recording({ directory, scrollback: 1000 });
}

/** What the daemon draws, in one piece. */
async function drawn(
	{ dependencies }: Invocation,
	session: string,
	what: Omit<DrawnOptions, "signal">,
): Promise<string> {
	await using client = await dependencies.connect();
	const pieces: Uint8Array[] = [];
	for await (const piece of client.drawn(session, { ...what, signal: new AbortController().signal }))
		pieces.push(piece);
	return Buffer.concat(pieces).toString();
}

/** Plays the output back with its own pauses, long ones shortened by --idle-limit. */
export async function replay(invocation: Invocation): Promise<number> {
	const { flags, io } = invocation;
	const speed = flags.number("speed") ?? 1;
	const idleLimitMs = flags.number("idle-limit") ?? 2_000;
	const past = await recorded(invocation);
	const at = flags.number("at");
	if (at !== undefined) return showMoment(invocation, past.session, at);
	const leave = new AbortController();
	process.once("SIGINT", () => leave.abort());
	let lastUs = 0;
	const shown = io.stdout.isTTY ? drawingOnly({ screens: true }) : (bytes: Uint8Array) => bytes;
	try {
		for await (const moment of momentsOf(invocation, past, leave.signal)) {
			const ms = Math.min((moment.atUs - lastUs) / 1000, idleLimitMs) / speed;
			lastUs = moment.atUs;
			// A pause shorter than a frame is invisible, and timers would only slow a fast program down.
			if (ms > 8) await pause(ms, undefined, { signal: leave.signal });
			leave.signal.throwIfAborted();
			if (moment.kind === "output") io.out(shown(moment.bytes));
			if (moment.kind === "gap") io.err(notKept(moment));
		}
	} catch (error) {
		if (!leave.signal.aborted) throw error;
		return EXIT.interrupted;
	} finally {
		if (io.stdout.isTTY) io.out(`${RESET_DRAWING}\x1b[?1049l\n`);
	}
	return EXIT.ok;
}

async function* momentsOf(
	{ dependencies }: Invocation,
	{ session, directory }: Recorded,
	signal: AbortSignal,
): AsyncGenerator<Moment> {
	if (directory !== null) return yield* moments(directory);
	await using client = await dependencies.connect();
	yield* momentsIn(client.drawn(session, { as: "replay", signal }));
	signal.throwIfAborted(); // the stream only ends then
}

const notKept = ({ from, to }: { readonly from: number; readonly to: number }) =>
	`dialtone: ${counted(to - from, "byte")} of output are not kept\n`;

/** The screen of a moment: with its colours on a terminal, else its text. */
async function showMoment(invocation: Invocation, session: string, at: number): Promise<number> {
	const { io, json } = invocation;
	const facts = JSON.parse(await drawn(invocation, session, { as: "moment", at })) as MomentFacts;
	if (json) io.out(`${JSON.stringify(facts)}\n`);
	else if (io.stdout.isTTY) {
		const { gaps, content, rows } = facts;
		for (const gap of gaps) io.err(notKept(gap));
		io.out(drawingOnly({ screens: true })(Buffer.from(`${content}\x1b[${rows};1H`)));
		io.out(`${RESET_DRAWING}\n`);
	} else {
		for (const gap of facts.gaps) io.err(notKept(gap));
		io.out(`${facts.lines.join("\n").trimEnd()}\n`);
	}
	return EXIT.ok;
}
