// Joins and leaves that overlap: what a person asks for last is what holds, whatever was under way.

import { mkdirSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { OneServer } from "./one-server.ts";
import { codeOf } from "./two-hosts.ts";

/** A server that keeps who connects waiting until it is let through. */
class HeldServer implements AsyncDisposable {
	readonly #server: Server;
	readonly #held: Socket[] = [];
	readonly #port: number;
	#isOpen = false;
	#passed = 0;
	#ended = 0;

	private constructor(server: Server, port: number) {
		this.#server = server;
		this.#port = port;
		server.on("connection", (socket) => {
			socket.on("error", () => {});
			if (this.#isOpen) this.#pass(socket);
			else this.#held.push(socket);
		});
	}

	static async before(real: OneServer): Promise<HeldServer> {
		const server = createServer();
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		return new HeldServer(server, Number(new URL(real.url).port));
	}

	get url(): string {
		return `nats://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
	}
	get isAsked(): boolean {
		return this.#held.length > 0;
	}

	/** Who was let through has left again. */
	get isLeft(): boolean {
		return this.#passed > 0 && this.#ended === this.#passed;
	}

	open(): void {
		this.#isOpen = true;
		for (const socket of this.#held.splice(0)) this.#pass(socket);
	}

	#pass(socket: Socket): void {
		const through = connect(this.#port, "127.0.0.1");
		through.on("error", () => socket.destroy());
		socket.pipe(through).pipe(socket);
		this.#passed++;
		socket.on("close", () => {
			this.#ended++;
			through.destroy();
		});
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const socket of this.#held) socket.destroy();
		this.#server.close();
	}
}

const wish = (url: string) => ({ servers: [url], host: "alpha", labels: {} });

/** The hosts that are in a fleet now, as another one there sees them. */
async function hostsIn(watcher: SocketClient): Promise<readonly string[]> {
	return (await watcher.fleet("status"))!.hosts.map(({ host }) => host).filter((host) => host !== "watcher");
}

async function joinedTo(server: OneServer): Promise<{ home: Home; client: SocketClient }> {
	const home = new Home();
	const client = await home.connect();
	await client.fleet({ servers: [server.url], host: "watcher", labels: {} });
	return { home, client };
}

test("a join that is under way is given up for the one that is asked for next", needing(...BROKER_NEEDS), async () => {
	await using first = await OneServer.start();
	await using second = await OneServer.start();
	await using held = await HeldServer.before(first);
	const watcher = await joinedTo(first);
	await using _home = watcher.home;
	await using _watching = watcher.client;
	await using home = new Home();
	await using one = await home.connect();
	await using other = await home.connect();
	const slow = codeOf(one.fleet(wish(held.url)));
	await until("the first join has begun", () => held.isAsked);
	const joined = await other.fleet(wish(second.url));
	expect(joined).toMatchObject({ connected: true, servers: [second.url] });
	expect(await slow).toBe("fleet_unreachable");
	held.open();
	await until("what was under way has come to its end", () => held.isLeft);
	expect(await other.fleet("status")).toMatchObject({ connected: true, servers: [second.url] });
	expect(await hostsIn(watcher.client)).toEqual([]);
});

test("a join that is under way is given up where the fleet is left", needing(...BROKER_NEEDS), async () => {
	await using server = await OneServer.start();
	await using held = await HeldServer.before(server);
	await using home = new Home();
	await using one = await home.connect();
	const slow = codeOf(one.fleet(wish(held.url)));
	await until("it has begun", () => held.isAsked);
	expect((await home.cli("fleet", "leave")).code).toBe(0);
	expect(await slow).toBe("fleet_unreachable");
	held.open();
	await until("what was under way has come to its end", () => held.isLeft);
	const watcher = await joinedTo(server);
	await using _home = watcher.home;
	await using _watching = watcher.client;
	expect(await one.fleet("status")).toBeNull();
	expect(await hostsIn(watcher.client)).toEqual([]);
});

test("a join that cannot be written down is none", needing(...BROKER_NEEDS), async () => {
	await using server = await OneServer.start();
	const watcher = await joinedTo(server);
	await using _home = watcher.home;
	await using _watching = watcher.client;
	await using home = new Home();
	await using client = await home.connect();
	mkdirSync(join(home.path, "fleet.json"));
	await expect(client.fleet(wish(server.url))).rejects.toMatchObject({ code: "fleet_unreachable" });
	expect(await client.fleet("status")).toBe(null);
	await until("it is taken back", async () => (await hostsIn(watcher.client)).length === 0);
});
