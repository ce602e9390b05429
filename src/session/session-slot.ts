// One session's entry in the registry: being opened, in memory, or on disk only,
// and the one way to get the session from it.
//
// Each state is an object with its own promise, timer and subscriptions; moving
// goes through the table in lifecycle.ts, and leaving a state disposes of what it had.
// What may be alive is waited for and adopted, never read from disk as if it had ended.

import { RecordFile, type SessionRecord } from "../journal/records.ts";
import { logBounds } from "../journal/segments.ts";
import { takeOut } from "../journal/session-directories.ts";
import type { Attention } from "../protocol/answer.ts";
import type { DriverFacts } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import type { HolderEvent } from "../protocol/frames.ts";
import { identityOf } from "../pty/process-stat.ts";
import type { Survivor } from "../pty/pty.ts";
import { within } from "../pty/wait.ts";
import { IdleTimer } from "./idle-timer.ts";
import { firstSlotState, hasEnded, type SlotEvent, type SlotState, slotAfter, statusAfter } from "./lifecycle.ts";
import type { Session } from "./session.ts";
import { describeEnd } from "./terminal-faults.ts";

/** A launch that takes longer than this while the daemon stops is adopted by the next one. */
const DETACH_TIMEOUT_MS = 3000;
/** A terminal closes with its last process; one that is still open after this has background processes. */
const CLOSE_TIMEOUT_MS = 1000;

type Survivors = readonly { pid: number; command: string }[];

export interface SlotParts {
	readonly record: SessionRecord;
	readonly directory: string;
	readonly idleMs: number;
	readonly evictMs: number;
	readonly endGraceMs: number;
	/** Creates the session of a slot that is not in memory, from what is left of it. */
	readonly adopt: (slot: SessionSlot) => Promise<Session>;
	readonly revive: (slot: SessionSlot) => Promise<Session>;
	/** Ends what lives of a session that cannot be reached; returns what could not be ended, null where nothing lives. */
	readonly endUnreached: (slot: SessionSlot, graceMs: number) => Promise<Survivors | null>;
	readonly events: SlotListener;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/** Slot events, for the code that tracks all slots. */
export interface SlotListener {
	/** In memory with its program running; `isNew` unless an earlier daemon had started it. */
	opened(slot: SessionSlot, isNew: boolean): void;
	attention(slot: SessionSlot, attention: Attention): void;
	driver(slot: SessionSlot, driver: DriverFacts): void;
	fenced(slot: SessionSlot): void;
	/** What its holder reports beside output. */
	reported(slot: SessionSlot, event: HolderEvent): void;
	/** The main program has ended; the record is final. */
	ended(slot: SessionSlot, session: Session | null): void;
	/** Nothing of it runs any more. */
	closed(slot: SessionSlot): void;
	/** Nothing of it is in memory or being written: it can be made again from disk. */
	rested(slot: SessionSlot): void;
}

interface Opening {
	readonly name: "starting" | "reviving";
	readonly session: Promise<Session>;
}
interface Live {
	readonly name: "live";
	readonly session: Session;
	readonly subscriptions: (() => void)[];
	/** Ends what runs of it when it is idle; once nothing does, evicts it. Set by #setTimer alone. */
	timer: IdleTimer | null;
}
interface Unreached {
	readonly name: "unreached";
	/** Why it could not be adopted; null before the first try. It passes with this state, so it is not part of the record. */
	readonly problem: string | null;
}
interface Ended {
	readonly name: "ended";
	/** Settles when everything is written; null once it is. */
	released: Promise<void> | null;
}
interface Removing {
	readonly name: "removing";
	/** Rejects where it could not be taken out: then it stays. */
	readonly done: Promise<void>;
}
interface Final {
	readonly name: "removed" | "detached";
}
type State = Opening | Live | Unreached | Ended | Removing | Final;

export class SessionSlot {
	readonly directory: string;
	readonly #parts: SlotParts;
	readonly #file: RecordFile;
	#touchedAt: number;
	#record: SessionRecord;
	#state: State;

	/** Opens by `launch`; without it, the slot of a session that is on disk. */
	constructor(parts: SlotParts, launch?: (slot: SessionSlot) => Promise<Session>) {
		this.#parts = parts;
		this.#record = parts.record;
		this.directory = parts.directory;
		this.#touchedAt = performance.now() - Math.max(0, Date.now() - parts.record.updatedAt);
		this.#file = new RecordFile(parts.directory);
		if (launch === undefined) {
			const name = firstSlotState({ terminalOpen: parts.record.terminalOpen });
			this.#state = name === "ended" ? { name, released: null } : { name, problem: null };
		} else {
			this.#state = { name: "starting", session: this.#opening(launch, (error) => this.#launchFailed(error)) };
		}
	}

	/** With the reason for which it cannot be reached at the moment. */
	get record(): SessionRecord {
		const problem = this.#state.name === "unreached" ? this.#state.problem : null;
		return problem === null ? this.#record : { ...this.#record, reason: problem };
	}

	get state(): SlotState {
		return this.#state.name;
	}

	/** The session while it is in memory. */
	get inMemory(): Session | null {
		return this.#state.name === "live" ? this.#state.session : null;
	}

	get isRunning(): boolean {
		return !hasEnded(this.#record.state);
	}

	/** Its program runs, or something that it started; also where that is not known. */
	get hasProcesses(): boolean {
		if (this.isRunning) return true;
		return this.#record.terminalOpen && this.inMemory?.left().length !== 0;
	}

	/** Nothing of it is in memory or being written. */
	get isAtRest(): boolean {
		return this.#state.name === "ended" && this.#state.released === null;
	}

	/** When a call last asked for it, by performance.now(). */
	get touchedAt(): number {
		return this.#touchedAt;
	}

	/** The session: waits for a start or an adoption, adopts what may be alive, reads what has ended from disk. */
	session(): Promise<Session> {
		const state = this.#state;
		switch (state.name) {
			case "live":
				return Promise.resolve(state.session);
			case "starting":
			case "reviving":
				return state.session;
			case "unreached":
				return this.#open("retried", this.#parts.adopt, (error) => this.#unreachable(error));
			case "ended":
				return this.#open(
					"recalled",
					async (slot) => {
						await state.released;
						return this.#parts.revive(slot);
					},
					() => this.#rest("failed"),
				);
			case "removing":
				return this.#after(state);
			case "removed":
				return Promise.reject(new Fault("session_not_found", { id: this.#record.name, open: [] }));
			case "detached":
				return Promise.reject(stopping());
		}
	}

	async #after(removing: Removing): Promise<Session> {
		await removing.done.catch(() => {}); // reported to the caller that removes it
		if (this.#state === removing) throw new Error(`${this.#record.id} is still being removed`);
		return this.session();
	}

	touch(): void {
		this.#touchedAt = performance.now();
	}

	/** Changes the record and writes it. */
	update(change: Partial<SessionRecord>): void {
		this.#change({ ...change, updatedAt: Date.now() });
	}

	/** Gives it another name, in memory and on record. */
	rename(name: string): void {
		this.inMemory?.renamed(name);
		this.update({ name });
	}

	/** The lines of earlier output have been counted. */
	counted(session: Session): void {
		const { linesOut } = session.journal.stats;
		if (session === this.inMemory && !this.isRunning && linesOut !== this.#record.linesOut) this.#change({ linesOut });
	}

	#change(change: Partial<SessionRecord>): void {
		this.#record = { ...this.#record, ...change };
		this.writeRecord().catch((error) => {
			if (this.state !== "detached" && this.state !== "removed")
				this.#parts.onProblem(error, `recording ${this.#record.name}`);
		});
	}

	/** Settles when the record is on disk. */
	writeRecord(): Promise<void> {
		return this.#file.write(this.#record);
	}

	/** Ends the session and its whole tree; returns what could not be ended. */
	async end(graceMs: number): Promise<readonly Survivor[]> {
		const { session, survivors } = await this.toEnd(graceMs);
		return [...survivors, ...(await session.close(graceMs))];
	}

	/** The session, to be ended. One whose holder lives and cannot be reached is ended by its process: no other way is left. */
	async toEnd(graceMs: number): Promise<{ readonly session: Session; readonly survivors: Survivors }> {
		try {
			return { session: await this.session(), survivors: [] };
		} catch (error) {
			const survivors = this.#state.name === "unreached" ? await this.#parts.endUnreached(this, graceMs) : null;
			if (survivors === null) throw error;
			return { session: await this.session(), survivors };
		}
	}

	/** Takes the session out of the directory of all: done as a whole or not at all. Refused while anything of it may run. */
	async remove(): Promise<void> {
		await this.#closing();
		while (this.#state.name === "starting" || this.#state.name === "reviving") {
			await this.#state.session.catch(() => {}); // reported to the caller that opened it
		}
		if (this.#state.name === "removing") return this.#state.done;
		if (this.#state.name === "removed") return;
		if (this.#state.name === "detached") throw stopping();
		if (this.#record.terminalOpen) {
			const what = this.isRunning ? "program" : "background";
			const processes = this.inMemory?.left().map(({ pid, command }) => ({ pid, command })) ?? [];
			throw new Fault("still_running", { id: this.#record.name, sessionId: this.#record.id, what, processes });
		}
		const before = this.#state;
		const done = Promise.resolve().then(() => this.#takeOut(before));
		this.#enter("withdrawn", { name: "removing", done });
		return done;
	}

	/** What it left running, once what ends with its program has ended. */
	async left(): Promise<readonly Survivor[]> {
		const session = await this.session();
		await this.#closing();
		return this.#record.terminalOpen ? session.left() : [];
	}

	async #closing(): Promise<void> {
		const closed = this.inMemory?.closed;
		if (closed === undefined || this.isRunning || !this.#record.terminalOpen) return;
		await within(CLOSE_TIMEOUT_MS, "closing", closed).catch(() => {}); // it is still open
	}

	/** Leaves `removing`, whatever fails. */
	async #takeOut(before: State): Promise<void> {
		try {
			if (before.name === "live") await before.session[Symbol.asyncDispose]();
			if (before.name === "ended") await before.released;
			await this.#file.settled();
			await takeOut(this.directory);
		} catch (error) {
			if (this.#state.name === "removing") this.#rest("kept");
			const facts = { id: this.#record.name, sessionId: this.#record.id, problem: messageOf(error), isOut: false };
			throw new Fault("not_removed", facts, { cause: error });
		}
		if (this.#state.name === "removing") this.#enter("removed", { name: "removed" });
		await this.#file.close();
	}

	/** Detaches; the program keeps running. */
	async detach(): Promise<void> {
		const before = this.#state;
		this.#enter("detached", { name: this.#state.name === "removed" ? "removed" : "detached" });
		if (before.name === "live") await before.session[Symbol.asyncDispose]();
		if (before.name === "ended") await before.released;
		if (before.name === "starting" || before.name === "reviving") {
			// If it opens later, #opened releases it.
			await within(DETACH_TIMEOUT_MS, "opening", before.session).catch(() => {});
		}
		if (before.name === "removing") await before.done.catch(() => {}); // reported to the caller that removes it
		await this.#file.close();
	}

	#enter(event: SlotEvent, state: State): void {
		if (slotAfter(this.#state.name, event) !== state.name) throw new Error(`${event} does not lead to ${state.name}`);
		if (this.#state.name === "live") {
			this.#setTimer(this.#state, null);
			for (const unsubscribe of this.#state.subscriptions) unsubscribe();
		}
		this.#state = state;
	}

	/** On disk only, once `work` is done and the record is written. */
	#rest(event: "evicted" | "failed" | "kept", work: Promise<void> = Promise.resolve()): void {
		const released = work
			.catch((error) => this.#parts.onProblem(error, `releasing ${this.#record.name}`))
			.then(() => this.#file.settled());
		const ended: Ended = { name: "ended", released };
		this.#enter(event, ended);
		void released.then(() => {
			ended.released = null;
			if (this.#state === ended) this.#parts.events.rested(this); // unless a call is reading it again
		});
	}

	#open(
		event: "retried" | "recalled",
		open: (slot: SessionSlot) => Promise<Session>,
		failed: (error: unknown) => void,
	): Promise<Session> {
		const session = this.#opening(open, failed);
		this.#enter(event, { name: event === "retried" ? "starting" : "reviving", session });
		return session;
	}

	/** `failed` makes the next transition, and may throw a more specific error. */
	#opening(open: (slot: SessionSlot) => Promise<Session>, failed: (error: unknown) => void): Promise<Session> {
		const session = Promise.resolve()
			.then(() => open(this))
			.then(
				(opened) => this.#opened(opened),
				(error) => {
					if (this.#state.name !== "detached") failed(error);
					throw error;
				},
			);
		session.catch(() => {}); // reported to each caller of `session`
		return session;
	}

	async #opened(session: Session): Promise<Session> {
		if (this.#state.name === "detached") {
			await session[Symbol.asyncDispose]();
			return this.session();
		}
		const live: Live = { name: "live", session, subscriptions: [], timer: null };
		this.#enter("opened", live);
		if (!this.#record.terminalOpen) {
			this.counted(session);
			this.#evictWhenIdle(live);
		} else if (this.isRunning) {
			if (session.ended) this.#ended(live);
			else this.#running(live);
		} else this.#endWhenIdle(live);
		if (this.#record.terminalOpen) void session.closed.then(() => this.#closed(live));
		return session;
	}

	#launchFailed(error: unknown): void {
		const state = statusAfter(this.#record.state, "launch_failed");
		this.update({ state, reason: messageOf(error), resolvedAt: Date.now(), terminalOpen: false });
		this.#rest("failed");
		this.#parts.events.ended(this, null);
		this.#parts.events.closed(this);
	}

	/** Its holder may be alive: the state is kept with the reason, and the next call retries. */
	#unreachable(error: unknown): never {
		this.#enter("unreachable", { name: "unreached", problem: `its holder is unreachable: ${messageOf(error)}` });
		throw new Fault(
			"session_unreachable",
			{ id: this.#record.name, sessionId: this.#record.id, problem: messageOf(error) },
			{ cause: error },
		);
	}

	#running(live: Live): void {
		const { session, subscriptions } = live;
		const { events } = this.#parts;
		const state = statusAfter(this.#record.state, "launched");
		const isNew = this.#record.state !== state;
		const before = this.#record;
		// What is on record stays: of a process that has ended since, the start time is not known any more.
		const holder = before.holder?.pid === session.holderPid ? before.holder : identityOf(session.holderPid);
		const program = before.pid === session.pid ? { pid: session.pid, born: before.born } : identityOf(session.pid);
		const moved = before.pid !== program.pid || before.holder !== holder;
		// Not `update`: to be found by another daemon is nothing that the session did.
		if (isNew || moved || before.reason !== null) this.#change({ state, ...program, holder, reason: null });
		let last = "";
		subscriptions.push(
			session.onEnded(() => this.#ended(live)),
			session.onFenced(() => events.fenced(this)),
			session.onReported((event) => events.reported(this, event)),
			session.driving.onChange(({ driver }) => {
				if (!session.ended) events.driver(this, driver);
			}),
			session.onDecided((attention) => {
				const verdict = `${attention.activity} ${attention.waitingFor}`;
				// Of what it left running facts may still come, but its end is the last that is told of its turn.
				if (this.isRunning && verdict !== last) events.attention(this, attention);
				last = verdict;
			}),
		);
		this.touch();
		this.#endWhenIdle(live);
		events.opened(this, isNew);
	}

	#ended(live: Live): void {
		const { status, exit, endedBecause, ptyExit, journal } = live.session;
		this.#endWhenIdle(live); // what it left running
		this.update({
			state: status,
			exit,
			reason: endedBecause ?? (status === "stream_lost" ? describeEnd(status, null) : null),
			resolvedAt: ptyExit?.endedAt ?? Date.now(),
			...journal.stats,
		});
		this.#parts.events.ended(this, live.session);
	}

	#closed(live: Live): void {
		if (this.#state !== live) return; // released before it closed
		// Background processes may have written, too.
		const { bytesOut, linesOut, lastLine, truncated } = live.session.journal.stats;
		const reason = live.session.endedBecause ?? this.#record.reason;
		this.update({ terminalOpen: false, reason, bytesOut, linesOut, lastLine, truncated });
		this.#evictWhenIdle(live);
		this.#parts.events.closed(this);
	}

	#endWhenIdle(live: Live): void {
		const { idleMs, endGraceMs, onProblem } = this.#parts;
		this.#setTimer(live, null);
		if (idleMs === 0 || this.#record.keep) return;
		// A program that prints is not idle.
		const usedAt = () => Math.max(this.#usedAt(live), live.session.printedAt);
		const arm = (logged: number) => {
			// Its program may end, or it may be removed, in every wait.
			const isDue = () => this.#state === live && live.timer === timer;
			const end = async () => {
				// Of a session that nobody looks at, output may stay in the log without being received.
				const { to } = await logBounds(this.directory);
				if (!isDue() || live.session.leftAway) return;
				if (to > Math.max(logged, live.session.journal.end) || usedAt() + idleMs > performance.now()) return arm(to);
				await live.session.close(endGraceMs, `idle for ${Math.round(idleMs / 1000)} s`);
			};
			const failed = (error: unknown) => {
				onProblem(error, `ending the idle session ${this.#record.name}`);
				if (!isDue()) return;
				this.touch();
				arm(logged);
			};
			const timer = new IdleTimer({ idleMs, usedAt, onIdle: () => void end().catch(failed) });
			this.#setTimer(live, timer);
		};
		arm(0);
	}

	#setTimer(live: Live, timer: IdleTimer | null): void {
		live.timer?.[Symbol.dispose]();
		live.timer = timer;
	}

	#usedAt({ session }: Live): number {
		return Math.max(this.#touchedAt, session.usedAt);
	}

	#evictWhenIdle(live: Live): void {
		const evict = () => this.#rest("evicted", live.session[Symbol.asyncDispose]());
		this.#setTimer(
			live,
			new IdleTimer({ idleMs: this.#parts.evictMs, usedAt: () => this.#usedAt(live), onIdle: evict }),
		);
	}
}

const stopping = () => new Fault("no_daemon", { problem: "it is stopping" });
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
