import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../test/condition.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { onAbort, until as untilHolds } from "../pty/wait.ts";
import { EventLog } from "../session/event-log.ts";
import type { EventsOptions } from "../tools/client.ts";
import type { FleetEvent } from "./event-stream.ts";
import { MergedEvents } from "./merged-events.ts";

/** What somebody tells, and who listens to it. */
class Source {
	readonly log = new EventLog(100);

	tell(session: string): void {
		this.log.emit({ event: "started", session, name: session, status: "running", offset: 0 });
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		for (let at = afterSeq ?? this.log.seq; !signal.aborted; ) {
			const next = this.log.after(at);
			if (next === null)
				await untilHolds(
					() => signal.aborted || this.log.seq > at,
					onAbort(signal),
					(listener) => this.log.onEvent(listener),
				);
			else {
				at = next.seq;
				yield next;
			}
		}
	}

	/** As a fleet tells it of this one. */
	async *asHost(host: string, signal: AbortSignal): AsyncGenerator<FleetEvent> {
		for await (const event of this.events({ signal })) yield { host, owner: "anna", seen: [event.seq, 0n], event };
	}
}

let here: Source;
let beta: Source;
let merged: MergedEvents;
let over: AbortController;
const followed: Promise<void>[] = [];

beforeEach(() => {
	here = new Source();
	beta = new Source();
	over = new AbortController();
	here.tell("first");
	merged = new MergedEvents(here, 4);
});
afterEach(async () => {
	over.abort();
	await Promise.all(followed.splice(0));
	await merged[Symbol.asyncDispose]();
});

/** A fleet that tells of beta, until it is left. */
function join(host = "beta"): () => void {
	const stop = new AbortController();
	over.signal.addEventListener("abort", () => stop.abort());
	followed.push(merged.follow(beta.asHost(host, stop.signal), () => {}));
	return () => stop.abort();
}

/** One who listens, and all that they heard: `number session`. */
function listen(afterSeq?: number): readonly string[] {
	const heard: string[] = [];
	const listening = async () => {
		for await (const event of merged.events({ ...(afterSeq !== undefined && { afterSeq }), signal: over.signal }))
			heard.push(`${event.seq} ${event.event === "dropped" ? `${event.dropped} dropped` : event.session}`);
	};
	followed.push(listening());
	return heard;
}
const hears = (heard: readonly string[], ...expected: string[]) =>
	until(`${expected.at(-1)} is heard`, () => heard.at(-1) === expected.at(-1)).then(() =>
		expect(heard).toEqual(expected),
	);

test("issue 15: who listens goes on when a fleet is joined, joined again and left, and numbers go on", async () => {
	const heard = listen(0);
	const leave = join();
	beta.tell("a");
	await hears(heard, "1 first", "2 beta/a");
	leave();
	join();
	beta.tell("b");
	here.tell("second");
	await until("both are heard", () => heard.length === 4);
	expect(heard.map((one) => one.split(" ")[0])).toEqual(["1", "2", "3", "4"]);
	expect(heard.slice(2).map((one) => one.split(" ")[1])).toEqual(expect.arrayContaining(["beta/b", "second"]));
	await hears(listen(2), ...heard.slice(2));
});

test("issue 15: what the fleet before and the one that follows it both tell is told once", async () => {
	const heard = listen();
	const leave = join();
	join();
	beta.tell("a");
	beta.tell("b");
	await hears(heard, "2 beta/a", "3 beta/b");
	leave();
	beta.tell("c");
	await hears(heard, "2 beta/a", "3 beta/b", "4 beta/c");
});

test("issue 15: what this host has told itself does not come back under another name that it had", async () => {
	const heard = listen();
	followed.push(merged.follow(here.asHost("renamed", over.signal), () => {}));
	join();
	here.tell("own");
	beta.tell("a");
	await until("both are heard", () => heard.length === 2);
	expect(heard.map((one) => one.split(" ")[1]).toSorted()).toEqual(["beta/a", "own"]);
});

test("who comes back with a number that is no longer kept is told how many were dropped", async () => {
	const all = listen(0);
	for (let i = 0; i < 9; i++) here.tell(`s${i}`);
	await until("all are kept", () => all.at(-1) === "10 s8");
	await hears(listen(0), "5 5 dropped", "6 s4", "7 s5", "8 s6", "9 s7", "10 s8");
});
