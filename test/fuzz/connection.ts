// One hostile connection as data, so that it can be kept and played again: what is sent, in which pieces, and
// how the client goes away.

import { createConnection, type Socket } from "node:net";
import type { Random } from "./random.ts";

const WAYS = ["wait", "end", "destroy", "reset", "half"] as const;

/** Text is latin1: one character per byte. %TOKEN%, %READONLY%, %HOST% and %MCP% stand for those of the stage. */
export interface Connection {
	readonly pieces: readonly string[];
	/** wait: reads the answer; end: FIN at once; half: FIN, then reads; destroy, reset: gone in the middle. */
	readonly way: (typeof WAYS)[number];
}

/** The bytes cut into pieces at random points, and sometimes cut short. */
export function connectionOf(text: string, random: Random): Connection {
	const whole = random.chance(0.15) ? text.slice(0, random.int(text.length)) : text;
	const cuts = random.chance(0.5) ? [] : Array.from({ length: 1 + random.int(4) }, () => random.int(whole.length));
	const ends = [0, ...cuts.sort((a, b) => a - b), whole.length];
	const pieces = ends.slice(1).map((end, i) => whole.slice(ends[i], end));
	return { pieces: pieces.filter((piece) => piece !== ""), way: random.chance(0.5) ? "wait" : random.pick(WAYS) };
}

export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

// Answers of a refusal come at once; one that waits for something is left waiting.
const QUIET_MS = 30;
const LONGEST_MS = 400;
const MAX_KEPT = 1 << 16;

/** Plays it; settles with the first part of what the other side said. */
export function play(
	{ pieces, way }: Connection,
	address: Address,
	words: Readonly<Record<string, string>>,
): Promise<string> {
	const fill = (text: string) =>
		Buffer.from(
			text.replace(/%([A-Z]+)%/g, (whole, name: string) => words[name] ?? whole),
			"latin1",
		);
	return new Promise((resolve) => {
		let received = "";
		let quiet: NodeJS.Timeout | undefined;
		const socket: Socket = createConnection({ ...address, allowHalfOpen: true });
		const longest = setTimeout(() => leave(), LONGEST_MS);
		const leave = () => {
			clearTimeout(longest);
			clearTimeout(quiet);
			if (way === "reset" && "host" in address) socket.resetAndDestroy();
			else socket.destroy();
		};
		socket.on("close", () => {
			clearTimeout(longest);
			clearTimeout(quiet);
			resolve(received);
		});
		socket.on("error", () => {}); // refused or disconnected: that is an answer too
		socket.on("data", (chunk: Buffer) => {
			if (received.length < MAX_KEPT) received += chunk.toString("latin1");
			clearTimeout(quiet);
			quiet = setTimeout(leave, QUIET_MS);
		});
		socket.on("end", leave);
		socket.on("connect", async () => {
			socket.setNoDelay?.(true);
			for (const piece of pieces) {
				if (socket.destroyed) return;
				await new Promise((done) => socket.write(fill(piece), done));
				if (pieces.length > 1) await new Promise(setImmediate);
			}
			if (way === "end" || way === "half") socket.end();
			if (way !== "wait" && way !== "half") leave();
		});
	});
}
