// A Dialtone of its own with an empty home, and a `run` that gives facts and
// exact bytes: what the shell tests share.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Dialtone } from "../../src/index.ts";
import type { RunFacts, SessionFacts } from "../../src/protocol/answer.ts";
import type { InputOf } from "../../src/tools/catalogue.ts";
import { runFactsSchema } from "../../src/tools/facts.ts";

export type RunInput = Omit<InputOf<"run">, "command">;

export class Shells implements AsyncDisposable {
	readonly home: string;
	readonly dialtone: Dialtone;
	readonly #before: string | undefined;

	private constructor(home: string, dialtone: Dialtone, before: string | undefined) {
		this.home = home;
		this.dialtone = dialtone;
		this.#before = before;
	}

	/** `files` are the start files of the user whose home it is. */
	static async open(files: Readonly<Record<string, string>> = {}): Promise<Shells> {
		const home = await mkdtemp(join(tmpdir(), "dialtone-home-"));
		await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(home, name), text)));
		const before = process.env.HOME;
		process.env.HOME = home;
		return new Shells(home, await Dialtone.open({ owner: "test" }), before);
	}

	async run(command: string, input: RunInput = {}): Promise<RunFacts> {
		const { facts } = await this.dialtone.client.call("run", {
			program: "bash",
			timeoutMs: 60_000,
			...input,
			command,
		});
		runFactsSchema.parse(facts);
		return facts;
	}

	/** The same, as a model reads it. */
	async text(command: string, input: RunInput = {}): Promise<string> {
		return (await this.dialtone.client.call("run", { program: "bash", timeoutMs: 60_000, ...input, command })).text;
	}

	async send(input: InputOf<"send">): Promise<SessionFacts> {
		return (await this.dialtone.client.call("send", { timeoutMs: 60_000, ...input })).facts;
	}

	async wait(input: InputOf<"wait">): Promise<SessionFacts> {
		return (await this.dialtone.client.call("wait", { timeoutMs: 60_000, ...input })).facts;
	}

	/** Every byte that the command wrote. */
	async bytes({ session, from, to }: RunFacts): Promise<Buffer> {
		const pieces: Buffer[] = [];
		for (let at = from; at < to; ) {
			const { facts } = await this.dialtone.client.call("read", { session, view: "raw", from: at, to });
			const piece = facts as { base64: string; to: number };
			pieces.push(Buffer.from(piece.base64, "base64"));
			at = piece.to;
		}
		return Buffer.from(asWritten(Buffer.concat(pieces)));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.dialtone[Symbol.asyncDispose]();
		if (this.#before !== undefined) process.env.HOME = this.#before;
		await rm(this.home, { recursive: true, force: true });
	}
}

const CR = 0x0d;
const LF = 0x0a;

/** The bytes that the program wrote: the terminal made CR LF of each LF. */
function asWritten(bytes: Uint8Array): Uint8Array {
	const written = new Uint8Array(bytes.length);
	let length = 0;
	for (let at = 0; at < bytes.length; at++) {
		if (bytes[at] === CR && bytes[at + 1] === LF) continue;
		written[length++] = bytes[at]!;
	}
	return written.subarray(0, length);
}
