// What one client's requests do to each other on the socket they share: nothing.

import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DaemonServer, listen } from "../../src/daemon/server.ts";
import { SocketClient } from "../../src/daemon/socket-client.ts";
import type { OutputChunk } from "../../src/protocol/output.ts";
import type { PersonSession } from "../../src/protocol/person-session.ts";
import type { ListChange } from "../../src/protocol/session-list.ts";
import { limits } from "../../src/session/options.ts";
import type { Answer, CallOptions } from "../../src/tools/client.ts";
import { anyCaller } from "../any-caller.ts";
import { until } from "../condition.ts";
import { FakeClient, listed } from "../fake-client.ts";

const CHUNK = Buffer.alloc(32 * 1024, "x");
const CHUNKS = 200;
const MAX_CALLS = 8;

/** Has more output than any window, answers as large as asked for, and waits that only end with their caller. */
class BusyClient extends FakeClient {
	/** Chunks that the daemon has taken from all its output streams. */
	pulled = 0;

	override call = async (tool: string, input: unknown, options?: CallOptions): Promise<Answer> => {
		if (tool === "answer") return { facts: { text: "x".repeat(Number(input)) }, text: "" };
		if (tool === "echo") return { facts: {}, text: "done" };
		return new Promise((_, reject) => options?.signal?.addEventListener("abort", () => reject(options.signal?.reason)));
	};

	/** Of the list of sessions. */
	changes: readonly ListChange[] = [];

	override async *people(): AsyncGenerator<ListChange> {
		yield* this.changes;
	}

	override async *output(): AsyncGenerator<OutputChunk> {
		for (let i = 0; i < CHUNKS; i++) {
			this.pulled++;
			yield { offset: i * CHUNK.length, bytes: CHUNK };
		}
	}
}

let directory: string;
let served: BusyClient;
let client: SocketClient;
let server: DaemonServer;

beforeEach(async () => {
	directory = mkdtempSync(join(tmpdir(), "dt-streams-"));
	const path = join(directory, "s");
	served = new BusyClient();
	server = await listen(path, {
		client: served,
		version: "1",
		callers: anyCaller,
		limits: { connections: 100, callsPerConnection: MAX_CALLS },
		onStop: async () => ({}),
		stopping: new AbortController().signal,
		http: null,
		fleet: null,
		onClients: () => {},
		onDropped: () => {},
	});
	client = await SocketClient.connect(path, { owner: "test", cwd: "/", env: {} });
});
afterEach(async () => {
	await client[Symbol.asyncDispose]();
	await server.stop();
	rmSync(directory, { recursive: true });
});

test("a list of more sessions than fit into a message arrives as one, and what changes after it", async () => {
	const rows = Array.from({ length: 12_345 }, (_, at) => ({ ...listed(`s${at}`), state: "working" }) as PersonSession);
	served.changes = [
		{ version: 1, full: true, now: 5, sessions: rows, removed: [] },
		{ version: 2, full: false, now: 6, sessions: rows.slice(0, 1), removed: ["s2"] },
	];
	const got: ListChange[] = [];
	for await (const change of client.people({ signal: new AbortController().signal })) got.push(change);
	expect(got).toEqual(served.changes);
});

describe("S22 one slow stream", () => {
	test("delays no other call of the same client, and is sent only what its reader may still take", async () => {
		const gone = new AbortController();
		const slow = client.output("s", { from: 0, signal: gone.signal });
		await slow.next();
		await until("its window is full", () => served.pulled * CHUNK.length > limits.streamBytes / 2);
		for (let i = 0; i < 100; i++) expect((await client.call<string>("echo", {})).text).toBe("done");
		expect(served.pulled * CHUNK.length).toBeLessThan(2 * limits.streamBytes);
		gone.abort();
		await slow.return(undefined);
	});

	test("beside a quick one: the quick one gets everything, and so does the slow one, later", async () => {
		const { signal } = new AbortController();
		const slow = client.output("s", { from: 0, signal });
		let bytes = ((await slow.next()).value as { bytes: Uint8Array }).bytes.length;
		let quick = 0;
		for await (const chunk of client.output("s", { from: 0, signal }))
			if ("bytes" in chunk) quick += chunk.bytes.length;
		expect(quick).toBe(CHUNKS * CHUNK.length);
		for await (const chunk of slow) if ("bytes" in chunk) bytes += chunk.bytes.length;
		expect(bytes).toBe(CHUNKS * CHUNK.length);
	});

	test("calls leave no listener on the signal of a caller that lives on", async () => {
		const { signal } = new AbortController();
		for (let i = 0; i < 20; i++) await client.call<string>("echo", {}, { signal });
		await expect(client.call<string>("answer", limits.frameBytes, { signal })).rejects.toThrow();
		expect(getEventListeners(signal, "abort")).toHaveLength(0);
	});
});

describe("G3 a message that is too large", () => {
	test("is refused in words, either way, and the connection goes on", async () => {
		await expect(client.call<string>("answer", limits.frameBytes)).rejects.toMatchObject({ code: "too_large" });
		await expect(client.call<string>("echo", "x".repeat(limits.frameBytes))).rejects.toMatchObject({
			code: "too_large",
		});
		expect((await client.call<string>("echo", {})).text).toBe("done");
	});
});

describe("G9 a client that never stops asking", () => {
	test("is refused beyond its limit, and served again when a call has ended", async () => {
		const gone = new AbortController();
		const waits = Array.from({ length: MAX_CALLS }, () => client.call<string>("wait", {}, { signal: gone.signal }));
		const ended = Promise.allSettled(waits);
		await expect(client.call<string>("echo", {})).rejects.toMatchObject({ code: "too_many_calls" });
		gone.abort();
		await ended;
		await until("a place is free", async () => (await client.status().catch(() => null)) !== null);
	});
});
