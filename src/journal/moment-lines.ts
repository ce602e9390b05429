// Moments as lines of JSON: a recording is played on another machine with the bytes and the times that its own has.

import type { Moment } from "./replay.ts";

type Sent = Exclude<Moment, { kind: "output" }> | (Omit<Moment & { kind: "output" }, "bytes"> & { base64: string });

export async function* momentLines(moments: AsyncIterable<Moment>): AsyncGenerator<string> {
	for await (const moment of moments) yield `${JSON.stringify(sent(moment))}\n`;
}

/** The moments again, from the lines in whatever pieces. */
export async function* momentsIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Moment> {
	const text = new TextDecoder("utf-8", { ignoreBOM: true });
	let rest = "";
	for await (const piece of pieces) {
		const lines = (rest + text.decode(piece, { stream: true })).split("\n");
		rest = lines.pop()!;
		for (const line of lines) yield received(JSON.parse(line) as Sent);
	}
}

function sent(moment: Moment): Sent {
	if (moment.kind !== "output") return moment;
	const { bytes, ...rest } = moment;
	return { ...rest, base64: Buffer.from(bytes).toString("base64") };
}

function received(moment: Sent): Moment {
	if (moment.kind !== "output") return moment;
	const { base64, ...rest } = moment;
	return { ...rest, bytes: Buffer.from(base64, "base64") };
}
