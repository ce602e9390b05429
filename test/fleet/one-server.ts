// A real nats-server of our own on loopback, with JetStream in a temporary directory: it can be killed and started
// again with what it had.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { FleetConnection } from "../../src/fleet/connection.ts";
import { find } from "../programs.ts";
import { freePort } from "../servers/free-port.ts";

export class OneServer implements AsyncDisposable {
	readonly url: string;
	readonly pid: () => number;
	readonly #directory: string;
	readonly #port: number;
	readonly #stores: boolean;
	#server: ChildProcess | null = null;
	readonly #connections: NatsConnection[] = [];

	private constructor(directory: string, port: number, stores: boolean) {
		this.#stores = stores;
		this.#directory = directory;
		this.#port = port;
		this.url = `nats://127.0.0.1:${port}`;
		this.pid = () => this.#server!.pid!;
	}

	/** `stores`: it has JetStream. */
	static async start({ stores = true } = {}): Promise<OneServer> {
		const server = new OneServer(mkdtempSync(join(tmpdir(), "dt-nats-")), await freePort(), stores);
		await server.up();
		return server;
	}

	async up(): Promise<void> {
		const server = spawn(
			find("nats-server") ?? "nats-server",
			["-a", "127.0.0.1", "-p", String(this.#port), ...(this.#stores ? ["-js", "-sd", this.#directory] : [])],
			{ stdio: ["ignore", "ignore", "pipe"] },
		);
		this.#server = server;
		await new Promise<void>((resolve, reject) => {
			let said = "";
			server.stderr!.setEncoding("utf8").on("data", (text: string) => {
				said += text;
				if (said.includes("Server is ready")) resolve();
				if (said.length > 100_000) said = "";
			});
			server.on("exit", () => reject(new Error(`nats-server did not start: ${said}`)));
		});
	}

	/** Killed, as by a power cut. */
	async down(): Promise<void> {
		const server = this.#server;
		this.#server = null;
		if (server === null || server.exitCode !== null) return;
		const gone = new Promise((resolve) => server.on("exit", resolve));
		server.kill("SIGKILL");
		await gone;
	}

	/** Closed with the server. */
	async connect(): Promise<NatsConnection> {
		const nats = await connect({
			servers: this.url,
			maxReconnectAttempts: -1,
			reconnectTimeWait: 50,
			reconnectJitter: 20,
			timeout: 2000,
			pingInterval: 2000,
		});
		this.#connections.push(nats);
		return nats;
	}

	/** As a host of a fleet; its owner closes it. */
	join(host: string): Promise<FleetConnection> {
		return FleetConnection.connect({ servers: [this.url], host, labels: {}, as: { role: "admin", owner: null } });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.#connections.map((nats) => nats.close()));
		await this.down();
		rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
	}
}
