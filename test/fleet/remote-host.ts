// A host of a fleet for tests: a real daemon in a home of its own, which can be killed and started again, and clients of
// it over links, each with an identity.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { daemonEnvironment } from "../../src/daemon/daemon-environment.ts";
import type { LastingClient } from "../../src/daemon/lasting-client.ts";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { FleetConnection } from "../../src/fleet/connection.ts";
import type { FleetIdentity } from "../../src/fleet/identity.ts";
import { clientOfHost, connectToHost } from "../../src/fleet-links.ts";
import { Home } from "../daemon/home.ts";
import type { OneServer } from "./one-server.ts";

const ADMIN: FleetIdentity = { role: "admin", owner: null };

export class RemoteHost implements AsyncDisposable {
	readonly home: Home;
	readonly #name: string;
	readonly #broker: OneServer;
	readonly #open: AsyncDisposable[] = [];
	#process: ChildProcess | null = null;

	private constructor(name: string, broker: OneServer, env: NodeJS.ProcessEnv) {
		this.#name = name;
		this.#broker = broker;
		this.home = new Home(env);
	}

	static async start(name: string, broker: OneServer, env: NodeJS.ProcessEnv = {}): Promise<RemoteHost> {
		const host = new RemoteHost(name, broker, env);
		await host.start();
		return host;
	}

	get pid(): number {
		return this.#process!.pid!;
	}

	async start(): Promise<void> {
		const script = join(import.meta.dirname, "host-daemon.ts");
		const args = ["--import", "tsx", script, this.#name, this.#broker.url];
		const started = spawn(process.execPath, args, {
			env: daemonEnvironment(this.home.env),
			stdio: ["ignore", "pipe", "inherit"],
		});
		this.#process = started;
		await once(started.stdout!, "data");
	}

	async kill(): Promise<void> {
		const killed = this.#process!;
		const exited = once(killed, "exit");
		killed.kill("SIGKILL");
		await exited;
	}

	/** A connection of another machine. */
	async connection(from = "elsewhere"): Promise<FleetConnection> {
		const connection = await this.#broker.join(from);
		this.#open.push(connection);
		return connection;
	}

	/** Until `closeClients`. */
	async client(as: FleetIdentity = ADMIN, connection?: FleetConnection): Promise<LastingClient> {
		const client = clientOfHost(this.#parts(as, connection ?? (await this.connection())));
		this.#open.push(client);
		return client;
	}

	/** One link, which ends. */
	async socketClient(as: FleetIdentity = ADMIN, connection?: FleetConnection): Promise<SocketClient> {
		const client = await connectToHost(this.#parts(as, connection ?? (await this.connection())));
		this.#open.push(client);
		return client;
	}

	#parts(as: FleetIdentity, connection: FleetConnection) {
		const caller = { owner: "somebody", cwd: "/not/there", env: { SHELL: "/not/there/either", SECRET_OF_CALLER: "x" } };
		return { connection, host: this.#name, as, caller };
	}

	/** Closes clients and connections, at the end of a test. */
	async closeClients(): Promise<void> {
		for (const each of this.#open.splice(0).reverse()) await each[Symbol.asyncDispose]();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.closeClients();
		const exited =
			this.#process!.exitCode === null && this.#process!.signalCode === null && once(this.#process!, "exit");
		await this.home[Symbol.asyncDispose]();
		await exited;
	}
}
