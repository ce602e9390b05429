// Three machines of a fleet: network namespaces (network.ts) with a nats-server and a joined daemon each. The test talks to
// each daemon by its socket, which is in the file system: no cut reaches it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LastingClient } from "../../src/daemon/lasting-client.ts";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { isFault } from "../../src/protocol/fault.ts";
import { gone } from "../alive.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { type Machine, NETWORK_NEEDS, Network } from "./network.ts";

export const MACHINES_NEED: readonly string[] = [...NETWORK_NEEDS, ...BROKER_NEEDS];

const NAMES = ["alpha", "beta", "gamma"] as const;
const DAEMON = join(import.meta.dirname, "../../dist/daemon.cjs");

export class JoinedMachine implements AsyncDisposable {
	readonly name: string;
	readonly machine: Machine;
	readonly home = new Home();
	/** As the programs of this machine have it: it starts the daemon again, and repeats what is safe. */
	readonly client: LastingClient;
	/** Nobody on this machine calls its daemon. */
	isDeserted = false;
	#pid = 0;

	constructor(name: string, machine: Machine) {
		this.name = name;
		this.machine = machine;
		// `ip netns exec` gives the daemon mounts of its own: to it the test is a caller from elsewhere.
		writeFileSync(join(this.home.path, "policy.json"), '{ "elsewhere": "allow" }', { mode: 0o600 });
		this.client = this.newClient();
	}

	/** The caller's to dispose of. */
	newClient(): LastingClient {
		return new LastingClient({
			connect: async () => {
				await until(`${this.name} is used again`, () => !this.isDeserted);
				return this.connect();
			},
			find: () => this.home.find(),
		});
	}

	/** A connection to its daemon, started in the namespace where there is none. */
	async connect(): Promise<SocketClient> {
		const client = await this.home.connect({ command: this.#command() });
		this.#pid = client.daemonPid;
		return client;
	}

	#command(): readonly string[] {
		return [...this.machine.prefix, process.execPath, DAEMON];
	}

	async join(credentials: string): Promise<void> {
		await using own = await this.connect();
		const wish = { servers: [], credentials, host: this.name, labels: { is: this.name } };
		// Servers that have just begun may not have elected who keeps what.
		await until(`${this.name} has joined`, () =>
			own.fleet(wish).catch((error: unknown) => {
				if (isFault(error, "fleet_unreachable")) return null;
				throw error;
			}),
		);
	}

	/** Of the daemon that answered last. */
	get pid(): number {
		return this.#pid;
	}

	signal(name: NodeJS.Signals): void {
		process.kill(this.#pid, name);
	}

	/** kill -9, and until somebody calls, none is started. */
	async kill(): Promise<void> {
		const pid = this.#pid;
		this.signal("SIGKILL");
		await gone(pid);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.isDeserted = false;
		await this.client[Symbol.asyncDispose]();
		await this.home[Symbol.asyncDispose]();
	}
}

export class JoinedMachines implements AsyncDisposable {
	readonly machines: readonly JoinedMachine[];
	readonly brokers: Brokers;
	readonly #network: Network;

	private constructor(network: Network, brokers: Brokers) {
		this.#network = network;
		this.brokers = brokers;
		this.machines = network.machines.map((machine, index) => new JoinedMachine(NAMES[index]!, machine));
	}

	/** All have joined, and each knows of the others. */
	static async start(): Promise<JoinedMachines> {
		const network = await Network.start();
		const places = network.machines.map(({ address, prefix }) => ({ host: address, prefix }));
		const brokers = await Brokers.start({ places }).catch(async (error: unknown) => {
			await network[Symbol.asyncDispose]();
			throw error;
		});
		const joined = new JoinedMachines(network, brokers);
		try {
			for (const machine of joined.machines) await machine.join(brokers.credentials("admin"));
			await joined.known();
			return joined;
		} catch (error) {
			await joined[Symbol.asyncDispose]();
			throw error;
		}
	}

	get names(): readonly string[] {
		return this.machines.map(({ name }) => name);
	}

	/** Settles when each can ask each. */
	async known(): Promise<void> {
		for (const { name, client } of this.machines)
			for (const host of this.names)
				await until(`${name} reaches ${host}`, () =>
					client.call("list", { host } as object).then(
						() => true,
						() => false,
					),
				);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const machine of this.machines) await machine[Symbol.asyncDispose]();
		await this.brokers[Symbol.asyncDispose]();
		await this.#network[Symbol.asyncDispose]();
	}
}
