import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { faultAt, guarded } from "./boundary.ts";
import { Fault } from "./fault.ts";
import { reportListenerErrors } from "./listeners.ts";

describe("the boundary to the outside", () => {
	let reported: [unknown, string][] = [];
	let restore: Parameters<typeof reportListenerErrors>[0];
	beforeEach(() => {
		reported = [];
		restore = reportListenerErrors((error, origin) => reported.push([error, origin]));
	});
	afterEach(() => void reportListenerErrors(restore));

	test("what a handler throws is reported with its origin, and the other side is answered in words", () => {
		const error = new TypeError("cannot read null");
		const answers: string[] = [];
		const handle = guarded(
			"a message",
			(_line: string) => {
				throw error;
			},
			(fault, line) => answers.push(`${line}: ${fault.message}`),
		);
		handle("null");
		expect(reported).toEqual([[error, "a message"]]);
		expect(answers).toEqual(["null: Dialtone failed: cannot read null"]);
	});

	test("a promise that rejects is handled as one that throws", async () => {
		const error = new Error("later");
		const answered = new Promise<Fault>((resolve) => guarded("a timer", () => Promise.reject(error), resolve)());
		expect((await answered).code).toBe("internal");
		expect(reported).toEqual([[error, "a timer"]]);
	});

	test("a refusal that fails is reported, too, and harms nobody", () => {
		const [first, second] = [new Error("first"), new Error("second")];
		guarded(
			"an upgrade",
			() => {
				throw first;
			},
			() => {
				throw second;
			},
		)();
		expect(reported.map(([error]) => error)).toEqual([first, second]);
	});

	test("faults and aborts are not problems: they are only passed on", () => {
		const fault = new Fault("session_not_found", { id: "x", open: [] });
		expect(faultAt("a call", fault)).toBe(fault);
		faultAt("a call", new DOMException("gone", "AbortError"));
		expect(reported).toEqual([]);
	});
});
