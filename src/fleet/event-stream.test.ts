import { expect, test } from "vitest";
import { eventIn } from "./event-stream.ts";

const event = {
	seq: 1,
	at: 2,
	event: "ended",
	session: "s",
	name: "n",
	status: "failed",
	offset: 3,
	because: "it ended",
};
const dropped = { seq: 1, at: 2, event: "dropped", dropped: 3 };
const read = (value: unknown) => eventIn(Buffer.from(JSON.stringify(value)));

test("an event of another host is taken as it was told, also one that a newer version says more of", () => {
	expect(read(event)).toEqual(event);
	expect(read(dropped)).toEqual(dropped);
	expect(read({ ...event, exit: { code: 1, signal: null }, news: [] })).toEqual({
		...event,
		exit: { code: 1, signal: null },
	});
});

test("its texts may be shown, whatever that host wrote", () => {
	const hidden = "a\u001b[2J\u202e\nb";
	const shown = "a[2J↵b";
	const exit = { code: null, signal: hidden };
	const told = read({ ...event, name: hidden, session: hidden, because: hidden, exit });
	expect(told).toEqual({ ...event, name: shown, session: shown, because: shown, exit: { code: null, signal: shown } });
});

test.each([
	["a time that is none", { ...event, at: 1e300 }],
	["a time that no date has", { ...dropped, at: Number.MAX_SAFE_INTEGER }],
	["a status that is none", { ...event, status: "\u001b[2J" }],
	["a name that is no text", { ...event, name: {} }],
	["more text than an event has", { ...event, because: "x".repeat(100_000) }],
	["nothing", null],
])("one with %s is none", (_what, value) => {
	expect(read(value)).toBeNull();
});
