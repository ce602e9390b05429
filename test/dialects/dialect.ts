// One Dialtone for the tests of a dialect, and calls that give facts and text.

import { findTool } from "../../src/tools/catalogue.ts";
import { Shells } from "../shell/shells.ts";

export class Dialect implements AsyncDisposable {
	readonly shells: Shells;

	private constructor(shells: Shells) {
		this.shells = shells;
	}

	static async open(): Promise<Dialect> {
		return new Dialect(await Shells.open());
	}

	async call<F = Record<string, unknown>>(tool: string, input: object = {}): Promise<F> {
		const { facts } = await this.shells.dialtone.client.call(tool, input);
		// The schema that documents an answer is strict: a field more or less fails here.
		findTool(tool)?.facts.parse(facts);
		return facts as F;
	}

	async text(tool: string, input: object = {}): Promise<string> {
		return (await this.shells.dialtone.client.call(tool, input)).text;
	}

	/** Calls until the answer is right; a hang is the test's timeout. */
	async until<F = Record<string, unknown>>(tool: string, input: object, isRight: (facts: F) => boolean): Promise<F> {
		for (;;) {
			const facts = await this.call<F>(tool, input);
			if (isRight(facts)) return facts;
			// In one process a call may settle without ever letting output in.
			await new Promise(setImmediate);
		}
	}

	/** A tool's input schema: property by property. */
	async schema(set: "exec" | "codex" | "pty" | "terminal", tool: string): Promise<Schema> {
		const card = (await this.shells.dialtone.client.tools([set])).find(({ name }) => name === tool);
		return card?.inputSchema as unknown as Schema;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.shells[Symbol.asyncDispose]();
	}
}

interface Schema {
	readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
	readonly required?: readonly string[];
}
