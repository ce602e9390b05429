// Twenty viewers over links, each with a connection of its own, of a session that floods: half read its output, half watch
// it, and none keeps up. What the owner of the session pays for them is bounded, and no one else notices.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Gap, OutputChunk } from "../../src/protocol/output.ts";
import type { Client, ViewChunk } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Watcher } from "../people/watcher.ts";
import { needing } from "../programs.ts";
import { OneServer } from "./one-server.ts";
import { RemoteHost } from "./remote-host.ts";

const patient = { timeoutMs: 120_000 };
const MB = 1_000_000;
/** Of each kind, slow ones and stuck ones. */
const OF_EACH = 5;
const SLOW_MS = 200;
const SENDS = 30;
const QUICK_BYTES = 10 * MB;
/** How far the flood gets while the viewers do not read: many times the windows between a viewer and the log. */
const BEHIND_BYTES = 20 * MB;

/** 1 MiB of numbered lines, as the terminal makes it: what is at an offset of the flood is known. */
const LINES = Array.from({ length: 1 << 16 }, (_, at) => String(at).padStart(14, "0"));
const BLOCK = Buffer.from(LINES.map((line) => `${line}\r\n`).join(""));
const LAST = "it is over";
/** Whole blocks, until there is a file; at most some 20 MB/s, so that one who reads quickly can keep up. */
const FLOOD = `while [ ! -e "$2" ]; do cat "$1"; sleep 0.05; done; echo "${LAST}"; exec cat`;

function isOfFlood(bytes: Uint8Array, offset: number): boolean {
	for (let at = 0; at < bytes.length; ) {
		const from = (offset + at) % BLOCK.length;
		const size = Math.min(bytes.length - at, BLOCK.length - from);
		if (BLOCK.compare(bytes, at, at + size, from, from + size) !== 0) return false;
		at += size;
	}
	return true;
}

/** Reads output, and compares it with what the flood prints; after that comes one line more. */
class OutputReader {
	at: number;
	readonly gaps: Gap[] = [];
	#end = "";

	constructor(from = 0) {
		this.at = from;
	}

	take(chunk: OutputChunk): void {
		if ("gap" in chunk) {
			expect(chunk.gap.from).toBe(this.at);
			this.gaps.push(chunk.gap);
			this.at = chunk.gap.to;
			return;
		}
		expect(chunk.offset).toBe(this.at);
		// No line of the flood has a letter.
		const last = Buffer.from(chunk.bytes).indexOf(LAST[0]!);
		const size = this.#end !== "" ? 0 : last < 0 ? chunk.bytes.length : last;
		if (!isOfFlood(chunk.bytes.subarray(0, size), this.at)) throw new Error(`other bytes at ${this.at}`);
		this.#end += Buffer.from(chunk.bytes.subarray(size)).toString();
		this.at += chunk.bytes.length;
	}

	get isOver(): boolean {
		return this.#end === `${LAST}\r\n`;
	}
}

/** Takes a chunk now and then, or one and no more, until it is told to read on. */
class Viewer<T, R extends { take(chunk: T): void }> {
	readonly reader: R;
	readonly #chunks: AsyncIterator<T>;
	readonly #over = new AbortController();
	#isSlow: boolean;
	#reading: Promise<void> = Promise.resolve();

	constructor(open: (signal: AbortSignal) => AsyncIterable<T>, reader: R, { isSlow }: { readonly isSlow: boolean }) {
		this.#chunks = open(this.#over.signal)[Symbol.asyncIterator]();
		this.reader = reader;
		this.#isSlow = isSlow;
	}

	async begin(): Promise<void> {
		await this.#next();
		if (this.#isSlow) this.#read();
	}

	/** As quickly as it can. */
	async readOn(isDone: (reader: R) => boolean): Promise<void> {
		if (!this.#isSlow) this.#read();
		this.#isSlow = false;
		const failed = this.#reading.then(() => Promise.reject(new Error("its stream has ended")));
		await Promise.race([failed, until("it has read on", () => isDone(this.reader))]);
		failed.catch(() => {}); // its end, later
	}

	async end(): Promise<void> {
		this.#over.abort();
		await this.#reading;
	}

	#read(): void {
		this.#reading = (async () => {
			while (await this.#next()) if (this.#isSlow) await delay(SLOW_MS);
		})();
		this.#reading.catch(() => {}); // told by the next that is asked of it
	}

	/** False when there are no more. */
	async #next(): Promise<boolean> {
		const { value, done } = await this.#chunks.next();
		if (done) return false;
		this.reader.take(value);
		return true;
	}
}

/** How long the quiet session takes to answer: the middle of many times. */
async function answersIn(client: Client, what: string): Promise<number> {
	const times: number[] = [];
	for (let at = 0; at < SENDS; at++) {
		const from = performance.now();
		const text = `${what} ${at}`;
		const { facts } = await client.call("send", { session: "quiet", text, submit: true, ...patient });
		times.push(performance.now() - from);
		expect(facts.text).toContain(text);
	}
	return times.sort((a, b) => a - b)[SENDS / 2]!;
}

const memoryOf = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;

test(
	"issue 15: 20 slow viewers of a flood are harmless, and read on where they are",
	needing("nats-server"),
	async () => {
		await using broker = await OneServer.start();
		await using host = await RemoteHost.start("gpu-1", broker);
		const { home } = host;
		const [block, stop] = [join(home.path, "block"), join(home.path, "stop")];
		writeFileSync(block, LINES.map((line) => `${line}\n`).join(""));
		await using near = await home.connect();
		const far = await host.socketClient();
		await near.call("start", { name: "quiet", argv: ["cat"], keep: true, ...patient });
		const { session } = (
			await near.call("start", { name: "flood", argv: ["sh", "-c", FLOOD, "sh", block, stop], timeoutMs: 0 })
		).facts;
		const all = async (client: Client, reader: OutputReader, isDone: () => boolean) => {
			const { signal } = new AbortController();
			for await (const chunk of client.output(session, { from: reader.at, signal })) {
				reader.take(chunk);
				if (isDone()) break;
			}
		};
		let most = 0;
		const offset = async () => {
			most = Math.max(most, memoryOf(host.pid));
			return (await near.snapshot(session, { screenOnly: true })).offset;
		};
		const passed = async (bytes: number) => {
			const from = await offset();
			await until(`${bytes} bytes more`, async () => (await offset()) - from > bytes);
		};

		await passed(MB);
		const alone = { near: await answersIn(near, "near alone"), far: await answersIn(far, "far alone") };
		const before = memoryOf(host.pid);
		most = before;

		const kinds = Array.from({ length: 2 * OF_EACH }, (_, at) => ({ isSlow: at < OF_EACH }));
		const outputs: Viewer<OutputChunk, OutputReader>[] = [];
		const views: Viewer<ViewChunk, Watcher>[] = [];
		for (const kind of kinds) {
			const [first, second] = [await host.socketClient(), await host.socketClient()];
			outputs.push(new Viewer((signal) => first.output(session, { from: 0, signal }), new OutputReader(), kind));
			views.push(new Viewer((signal) => second.view(session, { signal }), new Watcher(), kind));
		}
		await Promise.all([...outputs, ...views].map((viewer) => viewer.begin()));
		const begun = await offset();
		const beside = { near: await answersIn(near, "near beside"), far: await answersIn(far, "far beside") };

		// One that keeps up gets every byte.
		const quick = new OutputReader(await offset());
		const [quickFrom, since] = [quick.at, performance.now()];
		await all(await host.socketClient(), quick, () => quick.at - quickFrom >= QUICK_BYTES);
		const quickMs = performance.now() - since;
		expect(quick.gaps).toEqual([]);
		await passed(BEHIND_BYTES);

		writeFileSync(stop, "");
		await near.call("wait", { session, until: { text: LAST, only: true }, ...patient });
		const { offset: end } = await near.snapshot(session);
		expect((end - LAST.length - 2) % BLOCK.length).toBe(0);
		const shown = (await near.call("read", { session, view: "screen" })).facts.text;

		// A watcher gets the screen, not what it has missed.
		for (const view of [views[0]!, views.at(-1)!]) {
			const { bytes, at } = view.reader;
			await view.readOn((watcher) => watcher.at >= end);
			expect(view.reader.text).toBe(shown);
			expect(view.reader.snapshots).toBeGreaterThan(1);
			expect(view.reader.bytes - bytes).toBeLessThan(4 * MB);
			// The slow one may have caught up meanwhile.
			if (view !== views[0]) expect(end - at).toBeGreaterThan(BEHIND_BYTES);
		}

		// A reader of output gets every byte, later.
		for (const output of [outputs[0]!, outputs.at(-1)!]) {
			await output.readOn((reader) => reader.isOver);
			expect(output.reader).toMatchObject({ at: end, gaps: [] });
		}

		const inMs = (times: typeof alone) => `${times.near.toFixed(1)} ms here, ${times.far.toFixed(1)} ms over a link`;
		console.info(
			`a flood of ${(end / MB).toFixed(0)} MB, ${((end - begun) / MB).toFixed(0)} of it beside 20 viewers\n` +
				`send, p50: ${inMs(alone)}; beside them ${inMs(beside)}\n` +
				`memory: ${(before / MB).toFixed(0)} MB, beside them at most ${(most / MB).toFixed(0)} MB\n` +
				`one who keeps up: ${(QUICK_BYTES / 1000 / quickMs).toFixed(1)} MB/s`,
		);
		expect(most - before).toBeLessThan(200 * MB);
		for (const way of ["near", "far"] as const) expect(beside[way]).toBeLessThan(1000 + 10 * alone[way]);
		await Promise.all([...outputs, ...views].map((viewer) => viewer.end()));
	},
);
