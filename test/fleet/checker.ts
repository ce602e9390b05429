// What happened in a fleet that is harmed, and whether what callers were told of it is true: of calls here, of lists in
// row-check.ts.
//
// The harms are known (harms.ts), so are the sessions and what was typed into them. Times are used only to say that
// something was told too late, generously, or of a time at which nothing was harmed.

import type { ListFacts } from "../../src/protocol/answer.ts";
import { noticesIn } from "../../src/protocol/answer.ts";
import { Fault } from "../../src/protocol/fault.ts";
import type { Harms } from "./harms.ts";
import { CUTS_OFF, doneBy, mayComeOf, type Typed } from "./refusals.ts";
import { type Ended, type Known, RowCheck } from "./row-check.ts";

/** A daemon that is started or goes on answers by then, to callers on its machine. */
const RESUMED_MS = 10_000;
/** No call of this machine's own takes longer for what happens to others. */
const LOCAL_MS = 5000;
/**
 * A call to another machine, beyond the time that it may wait by itself: it is refused 10 s after that was last heard of. The
 * rest is a busy machine's.
 */
const REMOTE_MS = 14_000;

interface Call {
	readonly what: string;
	readonly by: string;
	/** One machine, or all that it may be made on. */
	readonly on: readonly string[];
	/** How long it may wait by itself. */
	readonly waitMs?: number;
}

/** How much was judged: in all, and of that while nothing had been harmed for longer than things take to settle. */
interface Judged {
	all: number;
	calm: number;
}

export class Checker {
	readonly problems: string[] = [];
	readonly faults: Record<string, number> = {};
	/** Of calls to a machine's own daemon that nothing was done to: while all was well, and while something else was harmed. */
	readonly local: { calm: number[]; harmed: number[] } = { calm: [], harmed: [] };
	/** Of calls to other machines, beyond what they may wait by themselves; of each tool, and of each with the code of a refusal. */
	readonly slowestMs: Record<string, number> = {};
	readonly calls: Judged = { all: 0, calm: 0 };
	/** Of lists; `lost`: of machines that were cut off for so long that they must be told as unreachable. */
	readonly rows: Judged & { lost: number } = { all: 0, calm: 0, lost: 0 };
	lists = 0;
	startsLost = 0;
	/** Lines and commands by what was told of them. */
	readonly told: Record<Typed, number> = { yes: 0, no: 0, maybe: 0 };
	/** How long after a harm was over something was last told or refused that it alone excuses, by what and by the harm. */
	readonly settledMs: Record<string, number> = {};
	/** How long after it was cut off a machine was last listed as reachable. */
	toldMs = 0;
	/** Each kind of problem once: of a list there is one every moment. */
	readonly #seen = new Set<string>();
	readonly #harms: Harms;
	readonly #known = new Map<string, Known>();
	readonly #typed = new Map<string, Map<string, Typed>>();

	constructor(harms: Harms) {
		this.#harms = harms;
	}

	problem(text: string): void {
		const kind = text.replace(/[\d.:TZ-]+/g, "");
		if (this.#seen.has(kind)) return;
		this.#seen.add(kind);
		this.problems.push(`${new Date().toISOString().slice(11, 23)} ${text}`);
	}

	/** One that runs from now on, by its name. `isTold`: every machine has listed it. `does`: all that it ever does. */
	runs(
		host: string,
		name: string,
		{ isTold = false, does = null }: Partial<Pick<Known, "isTold" | "does">> = {},
	): void {
		const never = Number.POSITIVE_INFINITY;
		this.#known.set(`${host}/${name}`, {
			...{ host, name, since: Date.now(), isTold, does, closedAt: never, endedAt: never, end: null },
		});
	}

	/** A start was answered so: its daemon was killed while it launched the program, which its holder ended then. */
	lostAtStart(session: string, status: string): void {
		this.startsLost++;
		const [host = ""] = session.split("/");
		const isKilled = this.#harms.near([Date.now(), Date.now()], [host]).some(({ kind }) => kind === "kill daemon");
		if (status !== "stream_lost" || !isKilled) this.problem(`${session} was started, and answered as ${status}`);
	}

	/** It is to end like this, and `end` does it. */
	async ends(host: string, name: string, how: Ended, end: () => Promise<unknown>): Promise<void> {
		const known = this.#known.get(`${host}/${name}`)!;
		known.closedAt = Date.now();
		known.end = how;
		await end();
		known.endedAt = Date.now();
	}

	/** Makes a call and judges how it ended. */
	async call<T>(
		{ what, by, on, waitMs = 0 }: Call,
		act: () => Promise<T>,
	): Promise<{ answer: T } | { refused: Fault; done: Typed }> {
		const from = Date.now();
		const call = { what, by, on, waitMs };
		try {
			const answer = await act();
			this.#timed(call, from, null);
			return { answer };
		} catch (error) {
			const done = error instanceof Fault ? doneBy(error) : null;
			if (!(error instanceof Fault) || done === null) {
				const code = error instanceof Fault ? error.code : "no fault";
				this.problem(`${what} by ${by} on ${on}: ${code}: ${String(error)}`);
				return { refused: new Fault("internal", { problem: String(error) }), done: "maybe" };
			}
			this.faults[error.code] = (this.faults[error.code] ?? 0) + 1;
			this.#timed(call, from, error);
			this.#refused(call, from, error);
			return { refused: error, done };
		}
	}

	#refused({ what, by, on }: Call, from: number, { code, message }: Fault): void {
		const near = this.#harms.near([from, Date.now()], [by, ...on]);
		if (!mayComeOf(code, by, near)) {
			const harmed = near.length === 0 ? "nothing was harmed" : `only: ${near.map(({ kind }) => kind).join(", ")}`;
			this.problem(`${what} by ${by} on ${on} was refused as ${code}, and ${harmed}: ${message}`);
		}
		this.excused(`${what}: ${code}`, from, [by, ...on]);
	}

	/** Something that is right only because of a harm, at this time. */
	excused(what: string, at: number, on: readonly string[]): void {
		const last = this.#harms.lastOver(at, on, CUTS_OFF);
		if (last === null) return;
		const which = `${what} after ${last.kind}`;
		this.settledMs[which] = Math.max(this.settledMs[which] ?? 0, at - last.to);
	}

	#timed({ what, by, on, waitMs = 0 }: Call, from: number, refusal: Fault | null): void {
		const ms = Date.now() - from;
		this.calls.all++;
		if (this.#harms.near([from, Date.now()], [by, ...on]).length === 0) this.calls.calm++;
		if (on.some((name) => name !== by)) {
			// One whose own daemon is killed or stopped waits for that; a stream lasts as long as it is of use.
			if (waitMs === Number.POSITIVE_INFINITY || this.isOwnHarmed(by, from)) return;
			// Whoever was heard of again meanwhile, and cut off once more, was heard of last then.
			const sinceMs = Date.now() - Math.max(from, this.#harms.lastLost([by, ...on]));
			const slowest = refusal === null ? what : `${what}: ${refusal.code}`;
			this.slowestMs[slowest] = Math.max(this.slowestMs[slowest] ?? 0, sinceMs - waitMs);
			if (sinceMs > waitMs + REMOTE_MS) this.problem(`${what} by ${by} on ${on} took ${ms} ms`);
			return;
		}
		if (this.isOwnHarmed(by, from)) return;
		if (refusal !== null) this.problem(`${what} on ${on} itself was refused for what happens to others`);
		if (ms > waitMs + LOCAL_MS) this.problem(`${what} on ${on} itself took ${ms} ms`);
		if (what !== "read") return;
		const isCalm = !this.#harms.isDuring([from, Date.now()], [by]);
		this.local[isCalm ? "calm" : "harmed"].push(ms);
	}

	/** Its daemon was killed or stopped since then, or shortly before. */
	isOwnHarmed(name: string, from: number): boolean {
		const near = this.#harms.near([from, Date.now()], [name]);
		return near.some(({ lost, to }) => lost === "daemon" && from <= to + RESUMED_MS);
	}

	typed(session: string, line: string, done: Typed): void {
		this.told[done]++;
		const lines = this.#typed.get(session) ?? new Map<string, Typed>();
		this.#typed.set(session, lines.set(line, done));
	}

	/** The lines that are there in the end, against what was told of each. */
	printed(session: string, lines: readonly string[]): void {
		const counts = new Map<string, number>();
		for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
		for (const [line, done] of this.#typed.get(session) ?? []) {
			const count = counts.get(line) ?? 0;
			if (count > 1) this.problem(`"${line}" was typed ${count} times in ${session}`);
			if (count === 0 && done === "yes") this.problem(`"${line}" was answered as typed and is not in ${session}`);
			if (count > 0 && done === "no") this.problem(`"${line}" was refused as not done and is in ${session}`);
		}
	}

	/** What one machine was told of all sessions; asked for at `from`, told at `at`. */
	listed(by: string, facts: ListFacts, { from, at }: { from: number; at: number }): void {
		this.lists++;
		const notices = noticesIn(facts).map(String);
		const rows = new RowCheck({ by, from, at, harms: this.#harms, checker: this });
		for (const known of this.#known.values()) {
			const { host, name } = known;
			const found = facts.sessions.filter((one) =>
				host === by ? one.host === undefined && one.name === name : one.name === `${host}/${name}`,
			);
			const why = rows.untrue(known, found, notices);
			if (why !== null)
				this.problem(`${by} lists ${host}/${name}: ${why}${notices.length === 0 ? "" : ` (${notices.join(" · ")})`}`);
		}
	}
}
