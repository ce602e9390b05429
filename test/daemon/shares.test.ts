// Many clients that send thousands of requests and read no answer: how much of theirs is done
// between the request of an honest client and its answer. Counted, so that no busy machine changes it.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { authorityOf } from "../../src/daemon/callers.ts";
import { type DaemonServer, listen } from "../../src/daemon/server.ts";
import { limits } from "../../src/session/options.ts";
import type { Answer, CallOptions } from "../../src/tools/client.ts";
import { anyCaller } from "../any-caller.ts";
import { until } from "../condition.ts";
import { FakeClient } from "../fake-client.ts";

const DEAF = 40;
const EACH = 500;
const CALLS = 100;
const HONEST = "honest";

class CountingClient extends FakeClient {
	/** What was done for the deaf ones when the honest one was served. */
	before = { calls: -1, writtenBytes: -1 };
	readonly started: string[] = [];

	override call = async (tool: string, _input: unknown, options?: CallOptions): Promise<Answer> => {
		if (tool === HONEST) this.before = { calls: this.started.length, writtenBytes: sum(ends) };
		else this.started.push(tool);
		if (tool !== "lasting") return { facts: {}, text: "" };
		return new Promise((_, reject) => options?.signal?.addEventListener("abort", () => reject(options.signal?.reason)));
	};
}

/** No answer here is longer. */
const ANSWER_BYTES = 1000;
/** To the deaf clients, also what they have not read. */
const sum = (sockets: readonly Socket[]) => sockets.reduce((total, { bytesWritten }) => total + bytesWritten, 0);

let directory: string;
let path: string;
let served: CountingClient;
/** The daemon's ends of the connections, in the order in which they were made. */
let ends: Socket[];
let clients: Socket[];
let server: DaemonServer;

beforeEach(async () => {
	directory = mkdtempSync(join(tmpdir(), "dt-shares-"));
	path = join(directory, "s");
	served = new CountingClient();
	ends = [];
	clients = [];
	server = await listen(path, {
		client: served,
		version: "1",
		callers: {
			...anyCaller,
			identify: (socket) => {
				ends.push(socket);
				return anyCaller.identify(socket);
			},
		},
		limits: { connections: 100, callsPerConnection: CALLS },
		onStop: async () => ({}),
		stopping: new AbortController().signal,
		http: null,
		fleet: null,
		onClients: () => {},
		onDropped: () => {},
	});
});
afterEach(async () => {
	for (const client of clients) client.destroy();
	await server.stop();
	rmSync(directory, { recursive: true });
});

async function connect(): Promise<Socket> {
	const socket = createConnection(path);
	clients.push(socket);
	await once(socket, "connect");
	socket.pause();
	return socket;
}

const call = (id: number, tool: string) =>
	`${JSON.stringify({ id, do: "call", tool, input: {}, caller: { owner: "o", cwd: "/", env: {} } })}\n`;
const lines = (count: number, line: (id: number) => string) =>
	Array.from({ length: count }, (_, id) => line(id)).join("");

test.each([
	["that cannot be understood", (id: number) => `${JSON.stringify({ id, do: "nonsense" })}\n`],
	["that are answered at once", (id: number) => call(id, "list")],
])("G9 forty deaf clients with requests %s: at most two of each before one of another client", async (_name, line) => {
	const deaf = await Promise.all(Array.from({ length: DEAF }, connect));
	const honest = await connect();
	await until("all are accepted", () => ends.length === DEAF + 1);
	for (const socket of deaf) socket.write(lines(EACH, line));
	honest.write(call(1, HONEST));
	const answered = once(honest, "data");
	honest.resume();
	await answered;
	expect(served.before.calls).toBeLessThanOrEqual(2 * DEAF);
	expect(served.before.writtenBytes).toBeLessThanOrEqual(2 * DEAF * ANSWER_BYTES);
});

test("G9 clients that have as many calls open as they may leave room for another", async () => {
	const greedy = await Promise.all(Array.from({ length: 4 }, connect));
	const honest = await connect();
	await until("all are accepted", () => ends.length === 5);
	let refused = "";
	for (const socket of greedy) {
		socket.setEncoding("utf8").on("data", (text: string) => {
			refused += text;
		});
		socket.write(lines(CALLS, (id) => call(id, "lasting")));
		socket.resume();
	}
	const most = limits.openClients * CALLS;
	await until("the rest is refused", () => refused.split("too_many_calls").length - 1 === 4 * CALLS - most);
	expect(served.started).toHaveLength(most);
	honest.write(call(1, HONEST));
	honest.resume();
	expect(String(await once(honest, "data"))).toContain('"done"');
});

/** The daemon's end of a link, whose other end is not there: it asks this, and takes every answer. */
class FakeLink extends Duplex {
	said = "";

	asks(lines: string): void {
		this.push(lines);
	}

	override _read(): void {}

	override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
		this.said += bytes;
		done();
	}
}

/** More than there may be connections. */
const LINKS = 300;

function openLinks(): readonly FakeLink[] {
	const authority = authorityOf(anyCaller, { inside: null, confined: null });
	const links = Array.from({ length: LINKS }, () => new FakeLink());
	for (const link of links) server.serve(link, { authority });
	return links;
}

test("links of other machines, however many and busy, close no client of this one and refuse none", async () => {
	const idle = await connect();
	idle.write(call(1, "read"));
	idle.resume();
	await once(idle, "data");
	const links = openLinks();
	for (const link of links) link.asks(call(1, "lasting"));
	await until("each has a call", () => served.started.length === LINKS + 1);
	idle.write(call(2, "read"));
	await once(idle, "data");
	const next = await connect();
	next.write(call(1, HONEST));
	next.resume();
	expect(String(await once(next, "data"))).toContain('"done"');
	expect(links.filter(({ destroyed }) => destroyed)).toEqual([]);
});

test("links that have as many calls open as they may leave a client of this machine all of its own", async () => {
	const links = openLinks();
	for (const link of links) link.asks(lines(CALLS, (id) => call(id, "lasting")));
	await until("the rest is refused", () => links.every(({ said }) => said.includes("too_many_calls")));
	const before = served.started.length;
	const honest = await connect();
	honest.write(lines(CALLS, (id) => call(id, "lasting")));
	await until("all of them run", () => served.started.length === before + CALLS);
});

test("a thousand requests of links wait for one of this machine, not the other way round", async () => {
	const honest = await connect();
	await until("it is accepted", () => ends.length === 1);
	for (const link of openLinks()) link.asks(lines(10, (id) => call(id, "list")));
	honest.write(call(1, HONEST));
	honest.resume();
	await once(honest, "data");
	// One for each turn of the event loop, of which the local request needs a few.
	expect(served.before.calls).toBeLessThan(LINKS / 2);
});
