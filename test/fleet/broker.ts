// Real nats-servers from the configuration that the product writes: one, or a cluster, with JetStream, each on an
// address of its own on loopback (or in a network namespace, network.ts).
//
// A test that uses it declares BROKER_NEEDS.

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { type ConnectionOptions, connect, type NatsConnection, nkeyAuthenticator } from "@nats-io/transport-node";
import { readCredentials } from "../../src/fleet/credentials.ts";
import { credentialsFile, initFleet, type NewUser, nodeDirectory } from "../../src/fleet/init.ts";
import { type FleetNode, serverAddress } from "../../src/fleet/server-configuration.ts";
import { until } from "../condition.ts";
import { find } from "../programs.ts";

export const BROKER_NEEDS: readonly string[] = ["nats-server", "openssl"];

/** Of every tenant of the tests: those of the product, and some that are not. */
const ADMIN: NewUser = { name: "admin", role: "admin", owner: null, host: "*" };

/** Where a server runs: its address, and what its command line begins with. */
export interface BrokerPlace {
	readonly host: string;
	readonly prefix?: readonly string[];
}

interface BrokerOptions {
	readonly nodes?: 1 | 3;
	readonly tenants?: readonly string[];
	/** Beside `admin`. */
	readonly users?: readonly NewUser[];
	readonly places?: readonly BrokerPlace[];
}

const TENANT = "main";
const PORT = 4222;

export class Brokers implements AsyncDisposable {
	/** Of the fleet: configurations and credentials. */
	readonly directory: string;
	readonly #outer: string;
	readonly nodes: readonly BrokerNode[];
	readonly #connections = new Set<NatsConnection>();

	private constructor(outer: string, nodes: readonly BrokerNode[]) {
		this.#outer = outer;
		this.directory = join(outer, "fleet");
		this.nodes = nodes;
	}

	/** Ready when JetStream answers on each. */
	static async start({ nodes = 1, tenants = [TENANT], users = [], places }: BrokerOptions = {}): Promise<Brokers> {
		const outer = mkdtempSync(join(tmpdir(), "dt-brokers-"));
		const directory = join(outer, "fleet");
		const all = places ?? (await loopbackPlaces(nodes));
		const planned = all.map(({ host }, index) => ({ name: `n${index + 1}`, host, port: PORT }));
		initFleet(directory, { nodes: planned, tenants, users: [ADMIN, ...users] });
		const brokers = new Brokers(
			outer,
			planned.map((node, index) => new BrokerNode(node, nodeDirectory(directory, node), all[index]?.prefix ?? [])),
		);
		try {
			await brokers.startAll(tenants[0]!);
			return brokers;
		} catch (error) {
			await brokers[Symbol.asyncDispose]();
			throw error;
		}
	}

	async startAll(tenant = TENANT): Promise<void> {
		for (const node of this.nodes) node.start();
		await Promise.all(this.nodes.map((node) => this.ready(node, tenant)));
	}

	/** Waits until JetStream answers there. */
	async ready(node: BrokerNode, tenant = TENANT): Promise<void> {
		await node.listening();
		const admin = await this.connect("admin", { tenant, node });
		try {
			await until(`JetStream answers on ${node.name}: ${node.said()}`, async () => {
				const answer = await admin.request("$JS.API.INFO", "", { timeout: 2000 }).catch(() => null);
				return answer !== null && answer.json<{ error?: unknown }>().error === undefined;
			});
		} finally {
			await admin.close();
		}
	}

	/** kill -9. */
	async kill(index: number): Promise<void> {
		await this.nodes[index]!.kill();
	}

	/** With what it has stored. */
	async restart(index: number, tenant = TENANT): Promise<void> {
		const node = this.nodes[index]!;
		node.start();
		await this.ready(node, tenant);
	}

	/** All read their accounts again; resolves when they have. */
	async reload(): Promise<void> {
		await Promise.all(this.nodes.map((node) => node.reload()));
	}

	/** The server that keeps a stream for the others; null where there is none now. */
	async leaderOf(stream: string): Promise<string | null> {
		const admin = await this.connect("admin");
		try {
			const { cluster } = await (await jetstreamManager(admin)).streams.info(stream);
			return cluster?.leader ?? null;
		} catch {
			return null; // they are electing it
		} finally {
			await admin.close();
		}
	}

	/** Where to connect, for tests that do it themselves. */
	get servers(): readonly string[] {
		return this.nodes.map(({ address }) => address);
	}

	credentials(user: string, tenant = TENANT): string {
		return credentialsFile(this.directory, { tenant, name: user });
	}

	/** As a user, to one node or any; it reconnects only where it is told to. Closed with the servers, or before. */
	async connect(
		user: string,
		{
			tenant = TENANT,
			node,
			...options
		}: { readonly tenant?: string; readonly node?: BrokerNode } & ConnectionOptions = {},
	): Promise<NatsConnection> {
		const connection = await connectWith(this.credentials(user, tenant), {
			...(node !== undefined && { servers: node.address }),
			reconnect: false,
			...options,
		});
		this.#connections.add(connection);
		void connection.closed().then(() => this.#connections.delete(connection));
		return connection;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all([...this.#connections].map((connection) => connection.close()));
		await Promise.all(this.nodes.map((node) => node.kill()));
		rmSync(this.#outer, { recursive: true, force: true });
	}
}

/** A connection as the file says. */
function connectWith(credentials: string, options: ConnectionOptions = {}): Promise<NatsConnection> {
	const { seed, inboxPrefix, member } = readCredentials(credentials);
	const { servers = [], ca } = member ?? {};
	return connect({
		servers: [...servers],
		authenticator: nkeyAuthenticator(Buffer.from(seed)),
		inboxPrefix,
		timeout: 20_000,
		...(ca !== undefined && { tls: { ca } }),
		...options,
	});
}

export class BrokerNode {
	readonly name: string;
	readonly address: string;
	readonly #directory: string;
	readonly #prefix: readonly string[];
	#process: ChildProcess | null = null;
	#log = "";

	constructor(node: FleetNode, directory: string, prefix: readonly string[]) {
		this.name = node.name;
		this.address = serverAddress(node);
		this.#directory = directory;
		this.#prefix = prefix;
	}

	get pid(): number {
		return this.#process?.pid ?? 0;
	}

	start(): void {
		const [program, ...args] = [...this.#prefix, find("nats-server")!, "-c", "server.conf"];
		this.#log = "";
		this.#process = spawn(program!, args, { cwd: this.#directory, stdio: ["ignore", "ignore", "pipe"] });
		this.#process.stderr!.setEncoding("utf8").on("data", (text: string) => {
			this.#log = (this.#log + text).slice(-100_000);
		});
	}

	/** The end of its log. */
	said = (): string => this.#log.slice(-2000);

	async listening(): Promise<void> {
		await this.#says(/Server is ready/);
	}

	async reload(): Promise<void> {
		this.#log = "";
		this.#process!.kill("SIGHUP");
		await this.#says(/Reloaded server configuration/);
	}

	async #says(pattern: RegExp): Promise<void> {
		const child = this.#process!;
		await until(`${this.name} says ${pattern}`, () => {
			if (child.exitCode !== null) throw new Error(`${this.name} has ended: ${this.said()}`);
			return pattern.test(this.#log);
		}).catch((error) => {
			throw new Error(`${error.message}\n${this.said()}`);
		});
	}

	async kill(): Promise<void> {
		const child = this.#process;
		this.#process = null;
		if (child === null || child.exitCode !== null || child.signalCode !== null) return;
		const closed = once(child, "close");
		child.kill("SIGKILL");
		await closed;
	}
}

/** All of 127/8 is this machine: with an address of its own each server has the usual ports. */
export async function loopbackPlaces(count: number): Promise<readonly BrokerPlace[]> {
	const [a, b] = [randomInt(64, 250), randomInt(1, 255)];
	const places = Array.from({ length: count }, (_, index) => ({ host: `127.${a}.${b}.${index + 1}` }));
	const free = await Promise.all(places.map(({ host }) => isFree(host)));
	return free.every(Boolean) ? places : loopbackPlaces(count);
}

async function isFree(host: string): Promise<boolean> {
	const server = createServer();
	try {
		await once(server.listen(PORT, host), "listening");
		return true;
	} catch {
		return false; // another test's
	} finally {
		server.close();
	}
}
