// Who goes on while the chaos lasts: programs that print numbered lines and are followed live, conversations whose
// every question must be typed exactly once, and short commands whose exit code must be known.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../src/protocol/fault.ts";
import type { OutputChunk } from "../../src/protocol/output.ts";
import type { PatientClient } from "./patient-client.ts";

const LINE_BYTES = 12;
export const COUNTER = join(import.meta.dirname, "counter.py");

/** Checks a counter's output by offset: every byte, or a gap that is told. */
export class LineCheck {
	offset = 0;
	gapBytes = 0;
	/** The number on the last line; null before it. */
	end: number | null = null;
	#line = "";

	take(chunk: OutputChunk): void {
		if ("gap" in chunk) {
			if (chunk.gap.from !== this.offset) throw new Error(`a gap at ${chunk.gap.from}, not at ${this.offset}`);
			this.gapBytes += chunk.gap.to - chunk.gap.from;
			this.offset = chunk.gap.to;
			this.#line = "?".repeat(this.offset % LINE_BYTES);
			return;
		}
		if (chunk.offset !== this.offset) throw new Error(`bytes at ${chunk.offset}, not at ${this.offset}`);
		for (const byte of chunk.bytes) {
			this.#line += String.fromCharCode(byte);
			this.offset++;
			if (this.#line.length === LINE_BYTES) this.#check(this.offset / LINE_BYTES - 1);
		}
	}

	#check(index: number): void {
		const line = this.#line;
		this.#line = "";
		const last = /^E(\d{9})\r\n$/.exec(line);
		if (last !== null) this.end = Number(last[1]);
		const expected =
			last !== null ? `E${String(index).padStart(9, "0")}\r\n` : `${String(index).padStart(10, "0")}\r\n`;
		for (let i = 0; i < LINE_BYTES; i++)
			if (line[i] !== "?" && line[i] !== expected[i])
				throw new Error(`line ${index} is ${JSON.stringify(line)}, not ${JSON.stringify(expected)}`);
	}
}

/** Starts a counter and follows it until it has ended; then its whole log is read again. */
export async function counter(client: PatientClient, name: string, stop: string, seed: number): Promise<number> {
	const argv = ["python3", COUNTER, stop, String(seed)];
	await client.persist(`start ${name}`, (to) => to.call("start", { name, argv, ifExists: "use", timeoutMs: 0 }));
	const followed = await output(client, name);
	await ended(client, name, 7);
	const logged = await output(client, name);
	for (const [how, check] of Object.entries({ followed, logged }))
		if (check.end === null && check.gapBytes === 0)
			throw new Error(`${name}, ${how}: the last line is missing after ${check.offset} bytes`);
	if (logged.offset !== followed.offset)
		throw new Error(`${name}: ${logged.offset} bytes logged, ${followed.offset} seen`);
	return logged.gapBytes;
}

/** The output to its end, over as many connections as it takes. */
async function output(client: PatientClient, session: string): Promise<LineCheck> {
	const check = new LineCheck();
	while (true) {
		const finished = await client.persist(`the output of ${session}`, async (to) => {
			// No deadline: a stream may be silent for as long as its program is.
			const signal = new AbortController().signal;
			const from = check.offset;
			try {
				for await (const chunk of to.output(session, { from, signal })) check.take(chunk);
			} catch (error) {
				// Cut off after it went well: that is not the same outage any more.
				if (error instanceof Fault && check.offset > from) return false;
				throw error;
			}
			const { facts } = await to.call("read", { session, view: "screen", maxTokens: 50 });
			return facts.exit !== null && facts.offset <= check.offset;
		});
		if (finished) return check;
		await delay(50);
	}
}

/** Settles when the session has ended in this way. */
export async function ended(client: PatientClient, session: string, code: number): Promise<void> {
	const { facts } = await client.persist(`the end of ${session}`, (to, signal) =>
		to.call("wait", { session, until: { only: true } }, { signal }),
	);
	if (facts.exit?.code !== code) throw new Error(`${session} ended with ${JSON.stringify(facts.exit)}, not ${code}`);
}

export interface Talk {
	readonly name: string;
	turns: number;
}

/** Asks until it is over; each question has an id, so that repeating it after an outage is safe. */
export async function talk(client: PatientClient, name: string, over: () => boolean): Promise<Talk> {
	const talked: Talk = { name, turns: 0 };
	const argv = ["python3", "-q"];
	await client.persist(`start ${name}`, (to) =>
		to.call("start", { name, argv, ifExists: "use", until: { text: ">>> " } }),
	);
	while (!over()) {
		const turn = ++talked.turns;
		const text = `print("=%d:%d=" % (${turn}, ${turn}*7))`;
		await client.persist(`turn ${turn} of ${name}`, (to, signal) =>
			to.call("send", { session: name, text, submit: true, id: `turn-${turn}`, timeoutMs: 10_000 }, { signal }),
		);
		await delay(20 + (turn % 7) * 20);
	}
	return talked;
}

/** Every answer of the conversation is in its log once; where the log has gaps, at most once. */
export async function checkTalk(client: PatientClient, { name, turns }: Talk): Promise<void> {
	let text = "";
	let gaps = 0;
	await client.persist(`the log of ${name}`, async (to) => {
		[text, gaps] = ["", 0];
		const stop = new AbortController();
		const { facts } = await to.call("read", { session: name, view: "screen", maxTokens: 50 });
		if (facts.offset === 0) return;
		for await (const chunk of to.output(name, { from: 0, signal: stop.signal })) {
			if ("gap" in chunk) gaps++;
			else text += Buffer.from(chunk.bytes).toString("latin1");
			if (("gap" in chunk ? chunk.gap.to : chunk.offset + chunk.bytes.length) >= facts.offset) break;
		}
	});
	for (let turn = 1; turn <= turns; turn++) {
		const times = text.split(`=${turn}:${turn * 7}=\r\n`).length - 1;
		if (times > 1 || (times === 0 && gaps === 0))
			throw new Error(`${name}: answer ${turn} of ${turns} was given ${times} times`);
	}
}

/** Short commands, one after the other; the name of each. */
export async function briefs(client: PatientClient, over: () => boolean): Promise<readonly string[]> {
	const names: string[] = [];
	while (!over()) {
		const name = `brief-${names.length}`;
		names.push(name);
		const argv = ["bash", "-c", "echo done; exit 5"];
		await client.persist(`start ${name}`, (to, signal) =>
			to.call("start", { name, argv, ifExists: "use", until: { only: true } }, { signal }),
		);
		await ended(client, name, 5);
		await delay(300);
	}
	return names;
}
