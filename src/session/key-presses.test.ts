import { expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import { KeyPresses } from "./key-presses.ts";

const parts = ["q", "x", "y"].map((key) => () => Buffer.from(key));

/** A program that ends after so many writes. */
function endingAfter(writes: number, facts: { maybeTyped?: boolean } = {}) {
	const typed: string[] = [];
	const presses = new KeyPresses({
		type: async (input) => {
			if (typed.length === writes) throw new Fault("session_ended", { id: "s1", how: "exit code 0", ...facts });
			typed.push(Buffer.from(input()).toString());
			return { repeated: false };
		},
		taken: { start: ({ settle }) => settle(true) },
		escapePending: false,
	});
	return { presses, typed };
}

test("T6 keys for a program that the first of them ended are left out; its end is the answer", async () => {
	const { presses, typed } = endingAfter(1);
	await expect(presses.press(parts, { as: { agent: "test" }, pacedMs: 1000 })).resolves.toEqual({ repeated: false });
	expect(typed).toEqual(["q"]);
});

test("T6 when the program has ended before the first key, nothing is typed and the call is refused", async () => {
	const { presses, typed } = endingAfter(0);
	await expect(presses.press(parts, { as: { agent: "test" }, pacedMs: 1000 })).rejects.toMatchObject({
		code: "session_ended",
	});
	expect(typed).toEqual([]);
});

test("T6 the end of a program that may have taken the first key is the answer, too", async () => {
	const { presses } = endingAfter(0, { maybeTyped: true });
	await expect(presses.press(parts, { as: { agent: "test" }, pacedMs: 1000 })).resolves.toEqual({ repeated: false });
});
