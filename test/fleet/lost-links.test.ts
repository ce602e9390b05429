// Links that are lost at the worst moment, and a host that says nothing: nothing is typed twice, no byte is missing, and
// nobody waits for ever.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../../src/protocol/fault.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { missing } from "../programs.ts";
import { OneServer } from "./one-server.ts";
import { RemoteHost } from "./remote-host.ts";

const patient = { timeoutMs: 60_000 };
const isMissing = missing("nats-server").length > 0;
/** At least so many are typed, and as long as the harm goes on. */
const LINES = 20;

let broker: OneServer;
let host: RemoteHost;

beforeEach(async () => {
	if (isMissing) return;
	broker = await OneServer.start();
	host = await RemoteHost.start("gpu-1", broker);
});
afterEach(async () => {
	await host?.[Symbol.asyncDispose]();
	await broker?.[Symbol.asyncDispose]();
});

/** A program that prints each line that it reads, once: the terminal does not echo. */
async function startQuiet(client: Client): Promise<string> {
	const argv = ["sh", "-c", "stty -echo; echo ready; exec cat"];
	return (await client.call("start", { name: "quiet", argv, until: { text: "ready" }, ...patient })).facts.session;
}

/** All that it has printed until now. */
async function printed(client: Client, session: string): Promise<string> {
	const stop = new AbortController();
	const { offset } = (await client.call("read", { session, view: "screen" })).facts;
	const pieces: Uint8Array[] = [];
	for await (const chunk of client.output(session, { from: 0, signal: stop.signal })) {
		if (!("bytes" in chunk)) continue;
		pieces.push(chunk.bytes);
		if (chunk.offset + chunk.bytes.length >= offset) stop.abort();
	}
	return Buffer.concat(pieces).toString();
}

/** Types one line. False where the answer says that it may have been typed; where it was not, it is called again. */
async function type(client: Client, session: string, text: string): Promise<boolean> {
	for (;;) {
		try {
			await client.call("send", { session, text, submit: true, until: { text: `${text}$` }, ...patient });
			return true;
		} catch (error) {
			const { code } = error as Fault;
			if (code === "daemon_replaced") return false;
			if (code !== "host_unreachable" && code !== "fleet_unreachable") throw error;
			await delay(50);
		}
	}
}

/** Types numbered lines one by one while `harm` is done: none may be typed twice, and each that was answered once. */
async function typeWhile(client: Client, session: string, harm: () => Promise<void>): Promise<void> {
	let isHarming = true;
	const harming = harm().finally(() => {
		isHarming = false;
	});
	const answered: string[] = [];
	let typed = 0;
	for (; isHarming || typed < LINES; typed++) {
		const text = `line ${typed}`;
		if (await type(client, session, text)) answered.push(text);
	}
	await harming;
	const lines = (await printed(client, session)).split("\r\n").filter((line) => line.startsWith("line "));
	expect(lines.filter((line, at) => lines.indexOf(line) !== at)).toEqual([]);
	expect(answered.filter((line) => !lines.includes(line))).toEqual([]);
	expect(answered.length).toBeGreaterThan(typed / 2); // most outlive it
}

describe.skipIf(isMissing)("what is typed is typed once", () => {
	test("while the client's connection is lost again and again", async () => {
		const connection = await host.connection();
		const client = await host.client(undefined, connection);
		const session = await startQuiet(client);
		await typeWhile(client, session, async () => {
			for (let times = 0; times < 10; times++) {
				await delay(100 + 300 * Math.random());
				await until("it is connected", () => connection.isConnected);
				await connection.nats.reconnect();
			}
		});
	});

	test("while the broker is killed and comes back", async () => {
		const client = await host.client();
		const session = await startQuiet(client);
		await typeWhile(client, session, async () => {
			for (let times = 0; times < 3; times++) {
				await delay(100 + 200 * Math.random());
				await broker.down();
				await broker.up();
			}
		});
	});

	test("while the host's daemon is killed and started again", async () => {
		const client = await host.client();
		const session = await startQuiet(client);
		await typeWhile(client, session, async () => {
			for (let times = 0; times < 3; times++) {
				await delay(100 + 500 * Math.random());
				await host.kill();
				await host.start();
			}
		});
	});
});

describe.skipIf(isMissing)("a host that is away", () => {
	test("is said to be so at once: to a call, and to a wait that its death has cut off", async () => {
		const client = await host.socketClient();
		const session = await startQuiet(client);
		const waiting = client.call("wait", { session, until: { text: "never" }, ...patient }).catch((error) => error);
		await host.kill();
		const since = performance.now();
		expect(await waiting).toMatchObject({ code: "daemon_replaced", facts: { host: "gpu-1" } });
		expect(performance.now() - since).toBeLessThan(5000);
		const next = await host.client();
		const at = performance.now();
		await expect(next.call("list", {})).rejects.toMatchObject({ code: "host_unreachable" });
		expect(performance.now() - at).toBeLessThan(1000);
		await host.start();
		expect((await next.call("read", { session })).facts.status).toBe("running");
	});

	test("and silent, ends a wait in words", async () => {
		const client = await host.socketClient();
		const session = await startQuiet(client);
		process.kill(host.pid, "SIGSTOP");
		try {
			const waiting = client.call("wait", { session, until: { text: "never" }, timeoutMs: 120_000 });
			await expect(waiting).rejects.toMatchObject({
				code: "daemon_replaced",
				facts: { silent: true },
				message: 'The host "gpu-1" does not answer (wait); what runs there may go on.',
			});
		} finally {
			process.kill(host.pid, "SIGCONT");
		}
	});

	test("with the broker: calls are refused at once, and work again when it is back", async () => {
		const connection = await host.connection();
		const client = await host.client(undefined, connection);
		const session = await startQuiet(client);
		await broker.down();
		await until("the loss is known", () => !connection.isConnected);
		const at = performance.now();
		await expect(client.call("list", {})).rejects.toMatchObject({ code: "fleet_unreachable" });
		expect(performance.now() - at).toBeLessThan(1000);
		await broker.up();
		await until("it is back", () => connection.isConnected);
		const read = async () => (await client.call("read", { session }).catch(() => null))?.facts.status;
		await until("the host is back", async () => (await read()) === "running");
	});
});
