import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { PtyIoError } from "./errors.ts";
import { InputQueue } from "./input-queue.ts";

/** A queue whose holder answers when the test says so. */
function queue() {
	const sent: { text: string; id: string; accept: () => void; refuse: (code: string) => void }[] = [];
	let offset = 0;
	const input = new InputQueue({
		send: (encode) =>
			new Promise((resolve, reject) => {
				const frame = Buffer.from(encode(1));
				sent.push({
					text: frame.subarray(40).toString(),
					id: frame.subarray(24, 40).toString("hex"),
					accept: () => {
						offset += frame.length - 40;
						resolve({ type: "done", request: 1, unsaved: false, value: offset });
					},
					refuse: (code) => reject(new PtyIoError(code, code)),
				});
			}),
	});
	return { input, sent };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("S22: one queue of writes", () => {
	test("a function is called when its turn has come, not before", async () => {
		const { input, sent } = queue();
		let mode = "old";
		const first = input.write(Buffer.from("1"), {});
		const second = input.write(() => Buffer.from(mode), {});
		await turn();
		expect(sent.map(({ text }) => text)).toEqual(["1"]);
		mode = "new";
		sent[0]!.accept();
		await first;
		await turn();
		expect(sent.map(({ text }) => text)).toEqual(["1", "new"]);
		sent[1]!.accept();
		await second;
		expect(input.accepted).toBe(4);
	});

	test("a function that throws refuses its own write: nothing is typed, and the next one proceeds", async () => {
		const { input, sent } = queue();
		const refused = input.write(() => {
			throw new Error("the screen has moved");
		}, {});
		const next = input.write(Buffer.from("next"), {});
		await expect(refused).rejects.toThrow("the screen has moved");
		await turn();
		expect(sent.map(({ text }) => text)).toEqual(["next"]);
		sent[0]!.accept();
		await next;
	});

	test("a priority write passes those that wait", async () => {
		const { input, sent } = queue();
		void input.write(Buffer.from("1"), {});
		void input.write(Buffer.from("2"), {});
		void input.write(Buffer.from("^C"), { priority: true });
		await turn();
		expect(sent.map(({ text }) => text)).toEqual(["1", "^C"]);
	});

	test("a write that waits for room is sent again with its id when there is some, also after a reconnection", async () => {
		const { input, sent } = queue();
		const signal = new AbortController().signal;
		const writing = input.write(Buffer.from("x"), { signal });
		await turn();
		sent[0]!.refuse("queue_full");
		await turn();
		expect(getEventListeners(signal, "abort")).toHaveLength(1);
		input.roomFreed();
		await turn();
		sent[1]!.refuse("queue_full");
		await turn();
		input.connected(0);
		await turn();
		sent[2]!.accept();
		await writing;
		expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
		// Nothing piles up on a signal that outlives the write.
		expect(getEventListeners(signal, "abort")).toHaveLength(0);
	});

	test("a caller that is gone when its write is refused does not wait for room, nor does the next one", async () => {
		const { input, sent } = queue();
		const gone = new AbortController();
		const writing = input.write(Buffer.from("x"), { signal: gone.signal });
		const next = input.write(Buffer.from("y"), {});
		await turn();
		gone.abort(new Error("the caller is gone"));
		sent[0]!.refuse("queue_full");
		await expect(writing).rejects.toThrow("the caller is gone");
		await turn();
		expect(sent.map(({ text }) => text)).toEqual(["x", "y"]);
		sent[1]!.accept();
		await next;
		expect(getEventListeners(gone.signal, "abort")).toHaveLength(0);
	});

	test("H5: a write is one frame, typed whole or refused whole; beyond 1 MiB nothing is sent", async () => {
		const { input, sent } = queue();
		const whole = input.write(Buffer.alloc(1 << 20, "x"), {});
		await turn();
		expect(sent).toHaveLength(1);
		sent[0]!.accept();
		await whole;
		const long = input.write(Buffer.alloc((1 << 20) + 1, "y"), {});
		const next = input.write(Buffer.from("z"), {});
		await expect(long).rejects.toMatchObject({ code: "input_too_long", facts: { limit: 1 << 20 } });
		await turn();
		expect(sent.slice(1)).toMatchObject([{ text: "z" }]);
		sent[1]!.accept();
		await next;
	});
});
