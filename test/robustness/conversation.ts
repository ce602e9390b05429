// An honest conversation: questions to a python or a bash whose answers are known, checked to the letter.

import { randomBytes } from "node:crypto";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { within } from "./stage.ts";

const PROGRAMS = {
	python: { argv: ["python3", "-q"], prompt: ">>> ", ask: (a: number, b: number) => `${a}*${b}` },
	bash: {
		argv: ["bash", "--norc", "--noprofile"],
		prompt: "$ ",
		ask: (a: number, b: number) => `echo $((${a}*${b}))`,
	},
} as const;

/** Only a hang takes longer. */
const TURN_MS = 30_000;

export class Conversation {
	/** A name that no other caller can guess. */
	readonly name = `honest-${randomBytes(6).toString("hex")}`;
	readonly #program: (typeof PROGRAMS)[keyof typeof PROGRAMS];
	readonly #client: SocketClient;
	#turns = 0;

	private constructor(client: SocketClient, kind: keyof typeof PROGRAMS) {
		this.#client = client;
		this.#program = PROGRAMS[kind];
	}

	static async start(client: SocketClient, kind: keyof typeof PROGRAMS): Promise<Conversation> {
		const conversation = new Conversation(client, kind);
		const { argv, prompt } = conversation.#program;
		await client.call("start", {
			name: conversation.name,
			argv: [...argv],
			env: { PS1: "$ " },
			until: { text: prompt },
		});
		return conversation;
	}

	/** One question and its answer, over another connection if need be; how long it took, in milliseconds. */
	async turn(client = this.#client): Promise<number> {
		const a = 1000 + (this.#turns++ % 9000);
		const b = 1 + (this.#turns % 97);
		const { ask, prompt } = this.#program;
		const before = performance.now();
		const input = { session: this.name, text: ask(a, b), submit: true };
		const { facts } = await within(TURN_MS, `a turn of ${this.name}`, client.call("send", input));
		const expected = `${a * b}\n${prompt}`;
		if (facts.text !== expected)
			throw new Error(`${this.name} answered ${JSON.stringify(facts)}, not ${JSON.stringify(expected)}`);
		return performance.now() - before;
	}
}
