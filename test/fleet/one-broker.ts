// One real nats-server for a test, on loopback, without accounts: its own port and directory, gone afterwards.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FleetConnection, type FleetOptions } from "../../src/fleet/connection.ts";
import { until } from "../condition.ts";
import { find } from "../programs.ts";

export class OneBroker implements AsyncDisposable {
	readonly #directory = mkdtempSync(join(tmpdir(), "dt-broker-"));
	#server: ChildProcess | null = null;
	#port = -1;

	static async start(): Promise<OneBroker> {
		const broker = new OneBroker();
		await broker.start();
		return broker;
	}

	get url(): string {
		return `nats://127.0.0.1:${this.#port}`;
	}

	/** Also after `kill`, on the same port. */
	async start(): Promise<void> {
		const args = ["-a", "127.0.0.1", "-p", String(this.#port), "--ports_file_dir", this.#directory];
		const server = spawn(find("nats-server") ?? "nats-server", args, { stdio: "ignore" });
		this.#server = server;
		const [file] = await until("the server listens", () => {
			const files = readdirSync(this.#directory).filter((name) => name.endsWith(`_${server.pid}.ports`));
			return files.length > 0 && files;
		});
		const { nats } = await until("its port is known", () => {
			try {
				return JSON.parse(readFileSync(join(this.#directory, file!), "utf8")) as { nats: string[] };
			} catch {
				return null; // being written
			}
		});
		this.#port = Number(new URL(nats[0]!).port);
	}

	async kill(): Promise<void> {
		const server = this.#server;
		this.#server = null;
		if (server === null || server.exitCode !== null) return;
		const exited = once(server, "exit");
		server.kill("SIGKILL");
		await exited;
	}

	connect(host: string, more: Partial<FleetOptions> = {}): Promise<FleetConnection> {
		return FleetConnection.connect({
			servers: [this.url],
			host,
			labels: {},
			as: { role: "admin", owner: null },
			...more,
		});
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.kill();
		rmSync(this.#directory, { recursive: true, force: true });
	}
}
