import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Backoff } from "./backoff.ts";
import { type Socket, TerminalSocket, type TerminalViewer } from "./terminal-socket.ts";

type Listener = (event: { data?: unknown; code?: number }) => void;

class FakeSocket implements Socket {
	binaryType = "blob";
	readyState = 0;
	readonly sent: Record<string, unknown>[] = [];
	readonly #listeners = new Map<string, Listener>();

	addEventListener(type: string, listener: Listener): void {
		this.#listeners.set(type, listener);
	}

	send(text: string): void {
		this.sent.push(JSON.parse(text));
	}

	close(): void {
		this.drop();
	}

	open(): void {
		this.readyState = 1;
		this.#listeners.get("open")?.({});
	}

	drop(): void {
		this.readyState = 3;
		this.#listeners.get("close")?.({ code: 1006 });
	}

	says(message: object): void {
		this.#listeners.get("message")?.({ data: JSON.stringify(message) });
	}

	prints(offset: number, text: string): void {
		const bytes = new TextEncoder().encode(text);
		const frame = new Uint8Array(8 + bytes.length);
		new DataView(frame.buffer).setBigUint64(0, BigInt(offset), true);
		frame.set(bytes, 8);
		this.#listeners.get("message")?.({ data: frame.buffer });
	}
}

/** Draws at once, or when told to. */
class FakeViewer implements TerminalViewer {
	readonly calls: string[] = [];
	readonly pending: (() => void)[] = [];
	isSlow = false;

	reset({ cols, rows }: { cols: number; rows: number }, content: string, drawn: () => void): void {
		this.calls.push(`reset ${cols}×${rows} ${content}`);
		this.#draw(drawn);
	}
	write(bytes: Uint8Array, drawn: () => void): void {
		this.calls.push(`write ${new TextDecoder().decode(bytes)}`);
		this.#draw(drawn);
	}
	resize({ cols, rows }: { cols: number; rows: number }): void {
		this.calls.push(`resize ${cols}×${rows}`);
	}
	gap(from: number, to: number): void {
		this.calls.push(`gap ${from} ${to}`);
	}
	driver(driver: { kind: string }, mine: boolean): void {
		this.calls.push(`driver ${driver.kind} ${mine}`);
	}
	ended(): void {
		this.calls.push("ended");
	}
	refused(to: string): void {
		this.calls.push(`refused ${to}`);
	}
	connected(isLive: boolean): void {
		this.calls.push(`connected ${isLive}`);
	}
	#draw(drawn: () => void): void {
		if (this.isSlow) this.pending.push(drawn);
		else drawn();
	}
}

const sockets: FakeSocket[] = [];
let viewer: FakeViewer;
let connection: TerminalSocket;
const socket = () => sockets.at(-1)!;
const snapshot = { type: "snapshot", content: "$ ", cols: 80, rows: 24, offset: 100 };
const person = { kind: "person", who: "ada", since: 1, epoch: 1 };

beforeEach(() => {
	vi.useFakeTimers();
	sockets.length = 0;
	viewer = new FakeViewer();
	const open = () => {
		const made = new FakeSocket();
		sockets.push(made);
		return made;
	};
	connection = new TerminalSocket(open, viewer, new Backoff(() => 1));
	connection.connect();
	socket().open();
});

afterEach(() => {
	connection.close();
	vi.useRealTimers();
});

test("a snapshot is drawn, then the output after it, in order with changes of size", () => {
	socket().says(snapshot);
	socket().prints(100, "ls");
	socket().says({ type: "resized", cols: 90, rows: 30, offset: 102 });
	socket().prints(102, "\r\n");
	expect(viewer.calls).toEqual(["connected true", "reset 80×24 $ ", "write ls", "resize 90×30", "write \r\n"]);
});

test("what is given is settled by the daemon's word for it, or by the end of the connection", async () => {
	const sent = () => socket().sent.at(-1)!;
	const typed = connection.secret("hidden");
	expect(sent()).toMatchObject({ type: "secret", text: "hidden", id: expect.stringMatching(/^[0-9a-f]{32}$/) });
	const { id } = sent();
	const declined = connection.decline();
	socket().says({ type: "refused", to: "answer", id: sent().id, fault: { fault: "not_asked", message: "No." } });
	socket().says({ type: "typed", id });
	expect(await typed).toBeNull();
	expect(await declined).toMatchObject({ fault: "not_asked" });
	expect(viewer.calls).not.toContain("refused answer");
	const lost = connection.answer("yes");
	socket().drop();
	expect(await lost).toMatchObject({ message: expect.stringContaining("connection broke") });
	expect(await connection.answer("yes")).toMatchObject({ message: expect.stringContaining("nothing was sent") });
});

test("only what was drawn is acknowledged", () => {
	viewer.isSlow = true;
	socket().says(snapshot);
	socket().prints(100, "x".repeat(70_000));
	vi.advanceTimersByTime(1_000);
	expect(socket().sent).toEqual([]);
	for (const drawn of viewer.pending) drawn();
	expect(socket().sent).toEqual([
		{ type: "took", offset: 100 },
		{ type: "took", offset: 70_100 },
	]);
});

test("small outputs are acknowledged together, soon", () => {
	socket().says(snapshot);
	socket().sent.length = 0;
	for (let offset = 100; offset < 110; offset++) socket().prints(offset, "x");
	expect(socket().sent).toEqual([]);
	vi.advanceTimersByTime(50);
	expect(socket().sent).toEqual([{ type: "took", offset: 110 }]);
});

test("after a lost connection it connects again and continues the lease it had", () => {
	connection.take({ cols: 100, rows: 30 });
	expect(socket().sent).toEqual([{ type: "take", cols: 100, rows: 30 }]);
	socket().says({ type: "driver", driver: person, mine: true, lease: "L1" });
	socket().drop();
	expect(viewer.calls.at(-1)).toBe("connected false");
	vi.advanceTimersByTime(250);
	expect(sockets).toHaveLength(2);
	socket().open();
	expect(socket().sent).toEqual([{ type: "take", lease: "L1" }]);
});

test("the lease outlasts a connection that is lost before it was continued; who drives is told when that is refused", () => {
	const other = { ...person, who: "eve", epoch: 2 };
	socket().says({ type: "driver", driver: person, mine: true, lease: "L1" });
	const told = viewer.calls.length;
	for (const _ of [1, 2]) {
		socket().drop();
		vi.advanceTimersByTime(1_000);
		socket().open();
		socket().says({ type: "driver", driver: other, mine: false, lease: null });
		expect(socket().sent).toEqual([{ type: "take", lease: "L1" }]);
	}
	expect(viewer.calls.slice(told).filter((call) => !call.startsWith("connected"))).toEqual([]);
	socket().says({ type: "refused", to: "take", fault: { message: "eve drives" } });
	expect(viewer.calls.slice(told).some((call) => call.startsWith("driver"))).toBe(true);
	socket().drop();
	vi.advanceTimersByTime(5_000);
	socket().open();
	expect(socket().sent).toEqual([]);
});

test("when the daemon is known to be there, it does not wait to connect again", () => {
	for (const _ of [1, 2, 3, 4]) {
		socket().drop();
		vi.advanceTimersByTime(5_000);
	}
	socket().drop();
	const before = sockets.length;
	connection.retryNow();
	connection.retryNow();
	vi.advanceTimersByTime(0);
	connection.retryNow();
	vi.advanceTimersByTime(60_000);
	expect(sockets).toHaveLength(before + 1);
});

test("who has handed back, or lost the lease, does not take it again by reconnecting", () => {
	socket().says({ type: "driver", driver: person, mine: true, lease: "L1" });
	connection.handBack("done");
	expect(socket().sent.at(-1)).toEqual({ type: "hand-back", note: "done" });
	socket().drop();
	vi.advanceTimersByTime(250);
	socket().open();
	expect(socket().sent).toEqual([]);
	socket().says({ type: "driver", driver: person, mine: true, lease: "L2" });
	socket().says({ type: "driver", driver: person, mine: false, lease: null });
	socket().drop();
	vi.advanceTimersByTime(250);
	socket().open();
	expect(socket().sent).toEqual([]);
});

test("what is drawn after the connection was replaced acknowledges nothing on the new one", () => {
	viewer.isSlow = true;
	socket().says(snapshot);
	socket().drop();
	vi.advanceTimersByTime(250);
	socket().open();
	for (const drawn of viewer.pending) drawn();
	expect(socket().sent).toEqual([]);
});

test("a secret without a connection is not kept for later", async () => {
	socket().drop();
	expect(await connection.secret("hunter2")).not.toBeNull();
	vi.advanceTimersByTime(250);
	socket().open();
	expect(socket().sent).toEqual([]);
});

test("of a session that has ended everything was shown: the page does not connect again", () => {
	socket().says(snapshot);
	socket().says({ type: "ended", exit: { code: 0, signal: null }, status: "succeeded" });
	socket().drop();
	vi.advanceTimersByTime(60_000);
	expect(sockets).toHaveLength(1);
	expect(viewer.calls.at(-1)).toBe("ended");
});

test("a connection that is accepted and refused at once is tried again ever later", () => {
	for (const waitMs of [250, 500, 1_000]) {
		socket().drop();
		const before = sockets.length;
		vi.advanceTimersByTime(waitMs - 1);
		expect(sockets).toHaveLength(before);
		vi.advanceTimersByTime(1);
		expect(sockets).toHaveLength(before + 1);
		socket().open();
	}
});

test("each thing a person does is one message", () => {
	connection.input("l");
	connection.paste("two\nlines");
	void connection.secret("s");
	void connection.answer("yes");
	void connection.decline();
	connection.resize({ cols: 10, rows: 5 });
	connection.handBack("");
	const id = expect.stringMatching(/^[0-9a-f]{32}$/);
	expect(socket().sent).toEqual([
		{ type: "input", text: "l" },
		{ type: "paste", text: "two\nlines" },
		{ type: "secret", text: "s", id },
		{ type: "answer", text: "yes", id },
		{ type: "answer", declined: true, id },
		{ type: "resize", cols: 10, rows: 5 },
		{ type: "hand-back" },
	]);
});
