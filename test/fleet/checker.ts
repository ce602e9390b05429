// What happened in a fleet that is harmed, and whether what callers were told of it is true.
//
// The harms are known (harms.ts), so are the sessions and what was typed into them. Times are used only to say that
// something was told too late, generously, or of a time at which nothing was harmed.

import type { ListedSession, ListFacts } from "../../src/protocol/answer.ts";
import { noticesIn } from "../../src/protocol/answer.ts";
import { Fault, type FaultCode, isFault } from "../../src/protocol/fault.ts";
import { hasEnded } from "../../src/session/lifecycle.ts";
import type { Harms } from "./harms.ts";

/** What is lost is told by the end of a lease (10 s); later where the server of who tells it is lost, too, on a busy machine. */
const TOLD_MS = 25_000;
/** A lease is refreshed every 3 s: its host was last heard of so long before the harm, or a slow machine's some longer. */
const HEARD_MS = 12_000;
/** After a harm: servers elect, daemons reconnect, leases are written again. */
export const GRACE_MS = 40_000;
/** By then the servers that are left have elected who keeps what: 12 s was the longest seen, beside other tests. */
const ELECTED_MS = 15_000;
/** No call of this machine's own takes longer for what happens to others. */
const LOCAL_MS = 5000;
/**
 * A call to another machine, beyond the time that it may wait by itself: it is refused 10 s after that was last heard of. The
 * rest is a busy machine's.
 */
const REMOTE_MS = 14_000;

export type Typed = "yes" | "no" | "maybe";

/** What callers may be told, and whether what they asked for was done then. */
const TOLD: Partial<Readonly<Record<FaultCode, (fault: Fault) => Typed>>> = {
	fleet_unreachable: () => "no",
	host_unreachable: (fault) => (isFault(fault, "host_unreachable") && fault.facts.maybeDone ? "maybe" : "no"),
	daemon_replaced: (fault) => (isFault(fault, "daemon_replaced") && fault.facts.repeatable ? "no" : "maybe"),
	taken_over: (fault) => (isFault(fault, "taken_over") && fault.facts.maybeTyped ? "maybe" : "no"),
	unresponsive: (fault) => (isFault(fault, "unresponsive") && fault.facts.maybeTyped ? "maybe" : "no"),
	no_daemon: () => "no",
	session_unreachable: () => "no",
	unknown_host: () => "no",
	no_host_fits: () => "no",
};

interface Known {
	readonly host: string;
	/** Since when it is there, when its end was asked for and when that was answered: ms since 1970. */
	readonly since: number;
	/** Every machine has listed it. */
	readonly isTold: boolean;
	closedAt: number;
	endedAt: number;
}

interface Call {
	readonly what: string;
	readonly by: string;
	/** One machine, or all that it may be made on. */
	readonly on: readonly string[];
	/** How long it may wait by itself. */
	readonly waitMs?: number;
}

export class Checker {
	readonly problems: string[] = [];
	readonly faults: Record<string, number> = {};
	/** Of calls to a machine's own daemon that nothing was done to: while all was well, and while something else was harmed. */
	readonly local: { calm: number[]; harmed: number[] } = { calm: [], harmed: [] };
	/** Of calls to other machines, beyond what they may wait by themselves; of each tool, and of each with the code of a refusal. */
	readonly slowestMs: Record<string, number> = {};
	lists = 0;
	/** How long after it was cut off a machine was last listed as reachable. */
	toldMs = 0;
	/** Each kind of problem once: of a list there is one every moment. */
	readonly #told = new Set<string>();
	readonly #harms: Harms;
	readonly #known = new Map<string, Known>();
	readonly #typed = new Map<string, Map<string, Typed>>();

	constructor(harms: Harms) {
		this.#harms = harms;
	}

	problem(text: string): void {
		const kind = text.replace(/[\d.:TZ-]+/g, "");
		if (this.#told.has(kind)) return;
		this.#told.add(kind);
		this.problems.push(`${new Date().toISOString().slice(11, 23)} ${text}`);
	}

	/** One that runs from now on, by its name. */
	runs(host: string, name: string, { isTold = false } = {}): void {
		const never = Number.POSITIVE_INFINITY;
		this.#known.set(`${host}/${name}`, { host, since: Date.now(), isTold, closedAt: never, endedAt: never });
	}

	/** It is to end, and `close` does it. */
	async ends(host: string, name: string, close: () => Promise<unknown>): Promise<void> {
		const known = this.#known.get(`${host}/${name}`)!;
		known.closedAt = Date.now();
		await close();
		known.endedAt = Date.now();
	}

	/** Makes a call and judges how it ended; null where it was refused as it may be. */
	async call<T>(
		{ what, by, on, waitMs = 0 }: Call,
		act: () => Promise<T>,
	): Promise<{ answer: T } | { refused: Fault; done: Typed }> {
		const from = Date.now();
		try {
			const answer = await act();
			this.#timed({ what, by, on, waitMs }, from, null);
			return { answer };
		} catch (error) {
			const outcome = error instanceof Fault ? TOLD[error.code as FaultCode] : undefined;
			if (!(error instanceof Fault) || outcome === undefined) {
				this.problem(
					`${what} by ${by} on ${on}: ${error instanceof Fault ? error.code : "no fault"}: ${String(error)}`,
				);
				return { refused: new Fault("internal", { problem: String(error) } as never), done: "maybe" };
			}
			const code: FaultCode = error.code;
			this.faults[code] = (this.faults[code] ?? 0) + 1;
			this.#timed({ what, by, on, waitMs }, from, error);
			if (!this.#harms.touched([from, Date.now()], [by, ...on], GRACE_MS))
				this.problem(`${what} by ${by} on ${on} was refused, and nothing was harmed: ${error.message}`);
			return { refused: error, done: outcome(error) };
		}
	}

	#timed({ what, by, on, waitMs }: Required<Call>, from: number, refusal: Fault | null): void {
		const ms = Date.now() - from;
		if (on.some((name) => name !== by)) {
			// One whose own daemon is killed or stopped waits for that; a stream lasts as long as it is of use.
			if (waitMs === Number.POSITIVE_INFINITY || this.#isOwnHarmed(by, from)) return;
			// Whoever was heard of again meanwhile, and cut off once more, was heard of last then.
			const sinceMs = Date.now() - Math.max(from, this.#harms.lastLost([by, ...on]));
			const slowest = refusal === null ? what : `${what}: ${refusal.code}`;
			this.slowestMs[slowest] = Math.max(this.slowestMs[slowest] ?? 0, sinceMs - waitMs);
			if (sinceMs > waitMs + REMOTE_MS) this.problem(`${what} by ${by} on ${on} took ${ms} ms`);
			return;
		}
		if (this.#isOwnHarmed(by, from)) return;
		if (refusal !== null) this.problem(`${what} on ${on} itself was refused for what happens to others`);
		if (ms > waitMs + LOCAL_MS) this.problem(`${what} on ${on} itself took ${ms} ms`);
		if (what !== "read") return;
		const isCalm = !this.#harms.touched([from, Date.now()], [by], 0);
		this.local[isCalm ? "calm" : "harmed"].push(ms);
	}

	/** One that was started since then has the times of the records, where it has not heard of a host itself. */
	#isStartedSince(name: string, since: number): boolean {
		return this.#harms.all.some(({ what, on, to }) => what === "kill daemon" && on.includes(name) && to >= since);
	}

	/** Its daemon was killed or stopped since then, or shortly before. */
	#isOwnHarmed(name: string, from: number): boolean {
		return this.#harms.all.some(
			(harm) => harm.lost === "daemon" && harm.on.includes(name) && harm.to + GRACE_MS / 4 >= from,
		);
	}

	typed(session: string, line: string, done: Typed): void {
		const lines = this.#typed.get(session) ?? new Map<string, Typed>();
		this.#typed.set(session, lines.set(line, done));
	}

	/** The lines that a session's program has printed, against what was told of each. */
	printed(session: string, output: string): number {
		const counts = new Map<string, number>();
		for (const line of output.split("\r\n")) counts.set(line, (counts.get(line) ?? 0) + 1);
		for (const [line, done] of this.#typed.get(session) ?? []) {
			const count = counts.get(line) ?? 0;
			if (count > 1) this.problem(`"${line}" was typed ${count} times in ${session}`);
			if (count === 0 && done === "yes") this.problem(`"${line}" was answered as typed and is not in ${session}`);
			if (count > 0 && done === "no") this.problem(`"${line}" was refused as not done and is in ${session}`);
		}
		return this.#typed.get(session)?.size ?? 0;
	}

	/** What one machine was told of all sessions; asked for at `from`, told at `at`. */
	listed(by: string, facts: ListFacts, { from, at }: { from: number; at: number }): void {
		this.lists++;
		const notices = noticesIn(facts);
		const byName = new Map<string, ListedSession[]>();
		for (const one of facts.sessions) {
			const name = one.host === undefined ? `${by}/${one.name}` : String(one.name);
			byName.set(name, [...(byName.get(name) ?? []), one]);
		}
		for (const [name, known] of this.#known) {
			const found = byName.get(name) ?? [];
			const why = this.#untrue(by, known, found, { from, at, isNoticed: notices.length > 0 });
			if (why !== null)
				this.problem(`${by} lists ${name}: ${why}${notices.length === 0 ? "" : ` (${notices.join(" · ")})`}`);
		}
	}

	#untrue(
		by: string,
		{ host, since: startedAt, isTold, closedAt, endedAt }: Known,
		found: readonly ListedSession[],
		{ from, at, isNoticed }: { from: number; at: number; isNoticed: boolean },
	): string | null {
		const pair = [by, host];
		const isTouched = this.#harms.touched([from, at], pair, GRACE_MS);
		if (at >= closedAt) {
			const isRunning = found.some((one) => !hasEnded(one.status) && one.unreachableSince === undefined);
			return isRunning && !isTouched && from > endedAt + TOLD_MS ? "as running, and it has ended" : null;
		}
		const ended = found.find((one) => hasEnded(one.status));
		if (ended !== undefined) return `as ${ended.status}, and it runs`;
		const [one] = found;
		if (one === undefined) {
			const isNew = by !== host && !isTold && (isTouched || from < startedAt + TOLD_MS);
			return isNoticed || isNew ? null : "not at all, without a word";
		}
		if (by === host) return one.unreachableSince === undefined ? null : "as unreachable, and it is its own";
		// One whose own daemon was stopped answers when it goes on, and what it says is so then.
		const cutOff = this.#isOwnHarmed(by, from) ? null : this.#harms.cutOff(from, pair);
		const { unreachableSince } = one;
		if (unreachableSince === undefined) {
			if (cutOff === null || isNoticed) return null;
			this.toldMs = Math.max(this.toldMs, from - cutOff);
			return from - cutOff > TOLD_MS ? `as reachable ${from - cutOff} ms after it was cut off` : null;
		}
		const since = this.#harms.since(at, pair, GRACE_MS);
		// Servers of which one was killed may tell nothing of any host for longer than a lease lasts.
		if (since === null && isNoticed && this.#harms.touched([at - ELECTED_MS, at], pair, 0)) return null;
		if (since === null) return "as unreachable, and nothing was harmed";
		if (unreachableSince === null) return null; // a daemon that has begun since
		if (unreachableSince < since - HEARD_MS && !this.#isStartedSince(by, unreachableSince))
			return `as unreachable for ${since - unreachableSince} ms before it was`;
		return unreachableSince > at ? "as unreachable since a time to come" : null;
	}
}
