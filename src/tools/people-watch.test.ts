import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SessionRecord } from "../journal/records.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { Approvals } from "../session/approvals.ts";
import { EventLog } from "../session/event-log.ts";
import type { ListedSession, Sessions } from "../session/sessions.ts";
import { PeopleWatch } from "./people-watch.ts";

/** Sessions that have ended: what a list tells of them is on record. */
class EndedSessions {
	readonly events = new EventLog(100);
	readonly approvals = new Approvals();
	readonly counts = new Listeners<void>("session count");
	readonly records = new Map<string, SessionRecord>();
	looks = 0;

	list(): readonly ListedSession[] {
		this.looks++;
		return [...this.records.values()].map((record) => ({ record, session: null }));
	}
	onCount(listener: () => void): () => void {
		return this.counts.add(listener);
	}
	put(id: string, more: Partial<SessionRecord> = {}): void {
		this.records.set(id, { ...RECORD, id, name: id, ...more });
		this.#happened(id);
	}
	remove(id: string): void {
		this.records.delete(id);
		this.#happened(id);
	}
	#happened(session: string): void {
		this.events.emit({ event: "ended", session, name: session, status: "succeeded", offset: 0 });
	}
}

const RECORD: SessionRecord = {
	id: "",
	name: "",
	command: "true",
	argv: ["true"],
	cwd: "/",
	state: "succeeded",
	pid: null,
	born: null,
	holder: null,
	exit: { code: 0, signal: null },
	reason: null,
	createdAt: 0,
	updatedAt: 0,
	resolvedAt: 0,
	bytesOut: 0,
	linesOut: 0,
	lastLine: "",
	truncated: false,
	parent: null,
	owner: "cli",
	bootId: "",
	protocol: 1,
	cols: 80,
	rows: 24,
	keep: false,
	idleMs: null,
	env: {},
	inherit: null,
	limits: {},
	shell: null,
	sandbox: null,
	place: null,
	within: [],
	terminalOpen: false,
};

let sessions: EndedSessions;
let watch: PeopleWatch;
let stop: AbortController;
beforeEach(() => {
	vi.useFakeTimers();
	sessions = new EndedSessions();
	watch = new PeopleWatch(sessions as unknown as Sessions);
	stop = new AbortController();
});
afterEach(() => vi.useRealTimers());

/** A reader, and what it has been told in short. */
function reader(only: string | null = null) {
	const changes = watch.changes({ signal: stop.signal, scope: only === null ? null : { session: only } });
	const next = async () => {
		const { value } = await changes.next();
		const { full, sessions: rows, removed } = value as ListChange;
		return { full, rows: rows.map((row) => `${row.name} ${row.lastLine}`.trim()), removed };
	};
	return { next, end: () => changes.return(undefined) };
}

test("a reader has all first, then what changed; many changes at once are one message", async () => {
	sessions.put("a");
	sessions.put("b");
	const { next, end } = reader();
	expect(await next()).toEqual({ full: true, rows: ["a", "b"], removed: [] });
	const second = next();
	for (let at = 0; at < 10; at++) {
		sessions.put("b", { lastLine: `line ${at}` });
		await vi.advanceTimersByTimeAsync(10);
	}
	await vi.advanceTimersByTimeAsync(250);
	expect(await second).toEqual({ full: false, rows: ["b line 9"], removed: [] });
	await end();
});

test("what did not change is not told, although something happened", async () => {
	sessions.put("a");
	const { next, end } = reader();
	await next();
	const second = next();
	sessions.put("a");
	await vi.advanceTimersByTimeAsync(1000);
	sessions.put("a", { lastLine: "news" });
	await vi.advanceTimersByTimeAsync(250);
	expect(await second).toMatchObject({ rows: ["a news"] });
	await end();
});

test("a slow reader gets the newest state of each, once, and what is gone", async () => {
	sessions.put("a");
	sessions.put("b");
	const [slow, quick] = [reader(), reader()];
	await slow.next();
	await quick.next();
	for (let at = 0; at < 5; at++) {
		const told = quick.next();
		sessions.put("a", { lastLine: `line ${at}` });
		await vi.advanceTimersByTimeAsync(250);
		expect(await told).toMatchObject({ rows: [`a line ${at}`] });
	}
	sessions.remove("b");
	await vi.advanceTimersByTimeAsync(250);
	expect(await slow.next()).toEqual({ full: false, rows: ["a line 4"], removed: ["b"] });
	await slow.end();
	await quick.end();
});

test("a reader that has missed more removals than are remembered gets the whole list", async () => {
	for (let at = 0; at < 1200; at++) sessions.put(`s${at}`);
	sessions.put("kept");
	const { next, end } = reader();
	await next();
	for (let at = 0; at < 1200; at++) {
		sessions.remove(`s${at}`);
		if (at % 300 === 299) await vi.advanceTimersByTimeAsync(250);
	}
	expect(await next()).toEqual({ full: true, rows: ["kept"], removed: [] });
	await end();
});

test("a viewer hears of its own session only", async () => {
	sessions.put("a");
	sessions.put("b");
	const { next, end } = reader("b");
	expect(await next()).toEqual({ full: true, rows: ["b"], removed: [] });
	const second = next();
	sessions.put("a", { lastLine: "not for you" });
	await vi.advanceTimersByTimeAsync(250);
	sessions.remove("a");
	await vi.advanceTimersByTimeAsync(250);
	sessions.put("b", { lastLine: "for you" });
	await vi.advanceTimersByTimeAsync(250);
	expect(await second).toEqual({ full: false, rows: ["b for you"], removed: [] });
	await end();
});

test("without a reader nothing is looked at, and the next one begins anew", async () => {
	sessions.put("a");
	const first = reader();
	await first.next();
	await first.end();
	const { looks } = sessions;
	sessions.put("b");
	await vi.advanceTimersByTimeAsync(60_000);
	expect(sessions.looks).toBe(looks);
	expect(vi.getTimerCount()).toBe(0);
	const second = reader();
	expect(await second.next()).toEqual({ full: true, rows: ["a", "b"], removed: [] });
	await second.end();
});
