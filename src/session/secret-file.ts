// The secrets of a policy for a person at the command line: listed, and tried in their own process.

import { join } from "node:path";
import { Fault } from "../protocol/fault.ts";
import { POLICY_FILE, Policy } from "./policy.ts";
import { type ListedSecret, Secrets } from "./secrets.ts";

export class SecretFile {
	readonly file: string;
	readonly #policy: Policy;
	readonly #secrets: Secrets;

	constructor(state: string, env: Readonly<Record<string, string | undefined>>) {
		this.file = join(state, POLICY_FILE);
		this.#policy = new Policy(state);
		this.#secrets = new Secrets(this.#policy, env);
	}

	list(): readonly ListedSecret[] {
		return this.#secrets.list();
	}

	/** Throws where its value cannot be read; false: a person types it. A variable is looked for in this process's environment. */
	async test(name: string): Promise<boolean> {
		const { secrets } = this.#policy.current();
		if (!Object.hasOwn(secrets, name)) throw new Fault("secret_unknown", { name });
		return (await this.#secrets.read(name, secrets[name]!)) !== null;
	}
}
