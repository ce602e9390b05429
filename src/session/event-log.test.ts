import { expect, test } from "vitest";
import type { SessionEvent } from "../protocol/events.ts";
import { EventLog } from "./event-log.ts";

const happened = { event: "resized", session: "s", name: "n", status: "running", offset: 0 } as const;

/** What a subscriber reads from here to the end. */
function readFrom(log: EventLog, seq: number): string[] {
	const read: string[] = [];
	for (let at = seq, next = log.after(at); next !== null; next = log.after(at)) {
		at = next.seq;
		read.push(next.event === "dropped" ? `dropped ${next.dropped}` : `${next.seq}`);
	}
	return read;
}

test("a subscriber gets every event once, in order, from where it was", () => {
	const log = new EventLog(10);
	for (let i = 0; i < 5; i++) log.emit(happened);
	expect(readFrom(log, 0)).toEqual(["1", "2", "3", "4", "5"]);
	expect(readFrom(log, 3)).toEqual(["4", "5"]);
	expect(readFrom(log, 5)).toEqual([]);
});

test("S6 a subscriber that lags is told how many events it missed, and costs no memory", () => {
	const log = new EventLog(10);
	for (let i = 0; i < 1000; i++) log.emit(happened);
	const [first, ...rest] = readFrom(log, 0);
	expect(first).toMatch(/^dropped 9[89]\d$/);
	expect(rest.length).toBeLessThanOrEqual(20);
	expect(rest.at(-1)).toBe("1000");
	expect(Number(first!.slice(8)) + rest.length).toBe(1000);
});

test("an empty log has nothing after any number", () => {
	const log = new EventLog(10);
	expect(log.after(0)).toBeNull();
	expect(log.after(7)).toBeNull();
	log.emit(happened);
	expect((log.after(0) as SessionEvent).seq).toBe(1);
});
