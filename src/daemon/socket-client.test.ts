import { Duplex } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ListedSession } from "../protocol/answer.ts";
import { until } from "../pty/wait.ts";
import { limits } from "../session/options.ts";
import { SocketClient } from "./socket-client.ts";
import type { Request } from "./wire.ts";

const WINDOW = 1 << 20;
const PIECE = 64 * 1024;
const HEADER_BYTES = 17;

/** A machine that keeps no rule of the protocol: it says what a test has it say, to whatever it is asked. */
class HostileHost extends Duplex {
	readonly asked: Request[] = [];
	onAsked: (request: Request) => void = () => {};

	says(message: object): void {
		this.push(`${JSON.stringify(message)}\n`);
	}

	/** A piece of a session's output. */
	prints(id: number, bytes = PIECE): void {
		const frame = Buffer.alloc(HEADER_BYTES + bytes);
		frame[0] = 1;
		frame.writeUIntBE(id, 1, 6);
		frame.writeUInt32BE(bytes, HEADER_BYTES - 4);
		this.push(frame);
	}

	override _read(): void {}

	override _write(line: Buffer, _encoding: BufferEncoding, done: () => void): void {
		for (const text of String(line).trim().split("\n")) {
			const request = JSON.parse(text) as Request;
			this.asked.push(request);
			setImmediate(() => this.onAsked(request)); // from another machine nothing comes at once
		}
		done();
	}
}

let host: HostileHost;
let client: SocketClient;
let stop: AbortController;

beforeEach(() => {
	host = new HostileHost();
	client = SocketClient.over(host, { owner: "me", cwd: "/", env: {} }, { host: "evil", streamBytes: WINDOW });
	stop = new AbortController();
});
afterEach(async () => {
	stop.abort();
	await client[Symbol.asyncDispose]();
});

const asked = (what: Request["do"]) =>
	until(
		() => host.asked.some((one) => one.do === what),
		(listener) => {
			host.onAsked = () => listener();
			return () => {};
		},
	);

describe("a host that sends more of a stream than was agreed", () => {
	test("is disconnected as soon as it does, and named", async () => {
		const output = client.output("s", { from: 0, signal: stop.signal })[Symbol.asyncIterator]();
		const first = output.next();
		await asked("output");
		for (let sent = 0; sent < 4000 && !host.destroyed; sent++) {
			host.prints(1);
			await turn();
			// One message beyond the window.
			expect(sent * PIECE).toBeLessThanOrEqual(WINDOW + PIECE);
		}
		await first;
		const rest = (async () => {
			for (let next = await output.next(); !next.done; next = await output.next());
		})();
		await expect(rest).rejects.toMatchObject({ code: "host_unreachable", facts: { host: "evil" } });
	});

	test("has its window as often as it is read", async () => {
		let read = 0;
		const reading = (async () => {
			for await (const chunk of client.output("s", { from: 0, signal: stop.signal }))
				if ("bytes" in chunk) read += chunk.bytes.length;
		})();
		await asked("output");
		for (let round = 1; round <= 20; round++) {
			for (let bytes = 0; bytes < WINDOW; bytes += PIECE) host.prints(1, PIECE - HEADER_BYTES);
			await expect.poll(() => read).toBe(round * (WINDOW / PIECE) * (PIECE - HEADER_BYTES));
		}
		expect(host.destroyed).toBe(false);
		stop.abort();
		await reading;
	});
});

describe("a list of another host", () => {
	const rows = (count: number, row: object) => Array.from({ length: count }, () => row as ListedSession);
	const piece = (sessions: readonly object[], isPart: boolean) => ({
		id: 1,
		more: { people: { version: 1, full: true, now: 1, sessions, removed: [] }, ...(isPart && { isPart }) },
	});
	const read = async () => {
		for await (const { sessions } of client.people({ signal: stop.signal })) return sessions.length;
		return null;
	};

	test("is put together from its pieces", async () => {
		const list = read();
		await asked("people");
		host.says(piece(rows(1000, { session: "a" }), true));
		host.says(piece(rows(10, { session: "b" }), false));
		expect(await list).toBe(1010);
	});

	test.each([
		["rows", 1000, {}],
		["bytes", 1, { name: "x".repeat(limits.frameBytes / 2) }],
	])("whose pieces do not end is given up when it has too many %s", async (_what, count, row) => {
		const list = read();
		list.catch(() => {});
		await asked("people");
		for (let sent = 0; sent < 100 && !host.destroyed; sent++) {
			host.says(piece(rows(count, row), true));
			await turn();
		}
		expect(host.destroyed).toBe(true);
		await expect(list).rejects.toMatchObject({ code: "host_unreachable", facts: { host: "evil" } });
	});
});

describe("a refusal of another host that cannot be read", () => {
	test.each([
		["with a code that does not exist", { fault: "none_such", facts: {} }],
		["with a code that every object has", { fault: "constructor", facts: {} }],
		["without facts", { fault: "session_not_found" }],
		["with facts of another kind", { fault: "session_not_found", facts: { id: 5 } }],
		["with a time that is none", { fault: "host_unreachable", facts: { host: "x", since: 1e300 } }],
		["in words that do not exist", { fault: "session_not_found", facts: { id: "x" }, words: "klingon" }],
		["in words that are none", { fault: "session_not_found", facts: { id: "x" }, words: {} }],
	])("%s ends its call", async (_what, fault) => {
		host.onAsked = ({ id }) => host.says({ id, fault });
		await expect(client.call("read", { session: "x" })).rejects.toMatchObject({ code: "internal" });
		expect(client.lost).toBe(false);
	});
});

test("text of another host has passed the filter of this machine, whatever that one did", async () => {
	const hidden = "a\u001b[2J\u202eb\u{e0041}\nc";
	host.onAsked = ({ id, ...question }) => {
		if (question.do === "call")
			host.says({ id, done: { answer: { text: hidden, facts: { text: hidden, stdout: hidden } } } });
		if (question.do === "act") host.says({ id, done: { person: { name: hidden } } });
		if (question.do === "snapshot")
			host.says({ id, done: { snapshot: { content: hidden, cols: 1, rows: 1, offset: 0 } } });
		if (question.do === "drivers") host.says({ id, more: { driver: { driver: { kind: "person", who: hidden } } } });
	};
	const shown = "a[2Jb\nc";
	expect(await client.call("read", { session: "s" })).toEqual({ text: shown, facts: { text: shown, stdout: shown } });
	// For programs, as it was written.
	expect((await client.call("run", { command: "x" })).facts).toEqual({ text: shown, stdout: hidden });
	expect(await client.act("s", { act: "share", who: "me" })).toEqual({ name: shown });
	expect((await client.snapshot("s")).content).toBe(hidden);
	for await (const { driver } of client.drivers("s", { signal: stop.signal })) {
		expect(driver).toEqual({ kind: "person", who: shown });
		break;
	}
});
