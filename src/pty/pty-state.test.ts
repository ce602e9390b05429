import { describe, expect, test } from "vitest";
import { PTY_EVENTS, PTY_STATES, type PtyEvent, type PtyState, refusals, stateAfter } from "./pty-state.ts";

// Every cell, written out a second time: rows are states, columns events.
const EXPECTED: Record<PtyState, Record<PtyEvent, PtyState>> = Object.fromEntries(
	`
	|               responded     silent        disconnected  fenced        exited    gone    closed    disposed
	| connecting    connected     unresponsive  connecting    fenced        exited    gone    closed    disposed
	| connected     connected     unresponsive  connecting    fenced        exited    gone    closed    disposed
	| unresponsive  connected     unresponsive  unresponsive  fenced        exited    gone    closed    disposed
	| fenced        fenced        fenced        fenced        fenced        exited    gone    closed    disposed
	| exited        exited        exited        exited        exited        exited    gone    closed    disposed
	| gone          gone          gone          gone          gone          gone      gone    closed    disposed
	| closed        closed        closed        closed        closed        closed    closed  closed    disposed
	| disposed      disposed      disposed      disposed      disposed      disposed  disposed disposed disposed
	`
		.trim()
		.split("\n")
		.map((line) =>
			line
				.replace(/^\s*\|/, "")
				.trim()
				.split(/\s+/),
		)
		.flatMap(([state, ...cells], row, rows) =>
			row === 0 ? [] : [[state, Object.fromEntries(cells.map((cell, i) => [rows[0]![i], cell]))]],
		),
);

describe("the states of a terminal", () => {
	test.each(PTY_STATES.flatMap((state) => PTY_EVENTS.map((event) => [state, event] as const)))(
		"%s after %s",
		(state, event) => expect(stateAfter(state, event)).toBe(EXPECTED[state][event]),
	);

	test("the same event twice changes nothing the second time", () => {
		for (const state of PTY_STATES)
			for (const event of PTY_EVENTS) {
				const once = stateAfter(state, event);
				expect(stateAfter(once, event)).toBe(once);
			}
	});

	test("from every state there is a way out, and every state can be reached", () => {
		const reached = new Set<PtyState>(["connecting"]);
		for (const state of reached) for (const event of PTY_EVENTS) reached.add(stateAfter(state, event));
		expect([...reached].sort()).toEqual([...PTY_STATES].sort());
		for (const state of PTY_STATES) expect(stateAfter(state, "disposed")).toBe("disposed");
	});

	test("only a terminal that is connected or will be takes requests", () => {
		expect(PTY_STATES.filter((state) => refusals[state] === null)).toEqual(["connecting", "connected"]);
	});
});
