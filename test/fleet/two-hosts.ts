// Two machines of a fleet: daemons in homes of their own, joined to real servers with the configuration and credentials
// that the product makes. A test that uses it declares BROKER_NEEDS.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer, Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { Brokers } from "./broker.ts";

interface TwoHostsOptions {
	readonly nodes?: 1 | 3;
	/** Of beta. */
	readonly policy?: object;
	/** Of alpha's daemon. */
	readonly env?: NodeJS.ProcessEnv;
}

export class TwoHosts implements AsyncDisposable {
	readonly brokers: Brokers;
	readonly alpha: Home;
	readonly beta = new Home();
	/** Of alpha's daemon. */
	client!: Client;

	private constructor(brokers: Brokers, env: NodeJS.ProcessEnv) {
		this.brokers = brokers;
		this.alpha = new Home(env);
	}

	/** Each is known to the other, and is labelled `is` with its name. */
	static async start({ nodes = 1, policy, env = {} }: TwoHostsOptions = {}): Promise<TwoHosts> {
		const hosts = new TwoHosts(await Brokers.start({ nodes }), env);
		const { alpha, beta, brokers } = hosts;
		if (policy !== undefined) writeFileSync(join(beta.path, "policy.json"), JSON.stringify(policy), { mode: 0o600 });
		const credentials = brokers.credentials("admin");
		for (const [home, host] of [
			[alpha, "alpha"],
			[beta, "beta"],
		] as const) {
			await using own = await home.connect();
			await own.fleet({ servers: [], credentials, host, labels: { is: host } });
		}
		hosts.client = await alpha.connect();
		await using other = await beta.connect();
		for (const [client, host] of [
			[hosts.client, "beta"],
			[other, "alpha"],
		] as const)
			await until(`${host} is known`, async () => (await codeOf(called(client, "list", { host }))) === "done");
		return hosts;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.client?.[Symbol.asyncDispose]();
		for (const home of [this.alpha, this.beta]) await home[Symbol.asyncDispose]();
		await this.brokers[Symbol.asyncDispose]();
	}
}

/** With an input that no compiler has seen. */
export const called = (client: Client, tool: string, input: object, signal?: AbortSignal): Promise<Answer> =>
	client.call(tool as never, input as never, signal ? { signal } : {});

/** "done", or the code of the refusal. */
export const codeOf = (answer: Promise<unknown>): Promise<string> =>
	answer.then(
		() => "done",
		({ code }) => code,
	);
