// One session's entry in the registry: being opened, in memory, or on disk only,
// and the one way to get the session from it.
//
// Each state is an object with its own promise, timer and subscriptions; moving
// goes through the table in lifecycle.ts, and leaving a state disposes of what it had.
// What may be alive is waited for and adopted, never read from disk as if it had ended.

import { rm } from "node:fs/promises";
import { RecordFile, type SessionRecord } from "../journal/records.ts";
import { logBounds } from "../journal/segments.ts";
import type { Attention } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { HolderEvent } from "../protocol/frames.ts";
import { identityOf } from "../pty/process-stat.ts";
import { within } from "../pty/wait.ts";
import { IdleTimer } from "./idle-timer.ts";
import { firstSlotState, hasEnded, type SlotEvent, type SlotState, slotAfter, statusAfter } from "./lifecycle.ts";
import type { Session } from "./session.ts";
import { describeEnd } from "./terminal-faults.ts";

/** A launch that takes longer than this while the daemon stops is adopted by the next one. */
const DETACH_TIMEOUT_MS = 3000;
/** A terminal closes with its last process; one that is still open after this has background processes. */
const CLOSE_TIMEOUT_MS = 1000;

export interface SlotParts {
	readonly record: SessionRecord;
	readonly directory: string;
	readonly idleMs: number;
	readonly evictMs: number;
	readonly endGraceMs: number;
	/** Creates the session of a slot that is not in memory, from what is left of it. */
	readonly adopt: (slot: SessionSlot) => Promise<Session>;
	readonly revive: (slot: SessionSlot) => Promise<Session>;
	readonly events: SlotListener;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/** Slot events, for the code that tracks all slots. */
export interface SlotListener {
	/** In memory with its program running; `isNew` unless an earlier daemon had started it. */
	opened(slot: SessionSlot, isNew: boolean): void;
	attention(slot: SessionSlot, attention: Attention): void;
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
	/** Ends it when it is idle; once it has ended, evicts it. */
	timer: IdleTimer | null;
}
interface Unreached {
	readonly name: "unreached";
}
interface Ended {
	readonly name: "ended";
	/** Settles when everything is written; null once it is. */
	released: Promise<void> | null;
}
interface Final {
	readonly name: "removed" | "detached";
}
type State = Opening | Live | Unreached | Ended | Final;

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
		this.#touchedAt = parts.record.updatedAt;
		this.#file = new RecordFile(parts.directory);
		if (launch === undefined) {
			const name = firstSlotState({ terminalOpen: parts.record.terminalOpen });
			this.#state = name === "ended" ? { name, released: null } : { name };
		} else {
			this.#state = { name: "starting", session: this.#opening(launch, (error) => this.#launchFailed(error)) };
		}
	}

	get record(): SessionRecord {
		return this.#record;
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

	/** Nothing of it is in memory or being written. */
	get isAtRest(): boolean {
		return this.#state.name === "ended" && this.#state.released === null;
	}

	/** When a call last asked for it, in ms since 1970. */
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
			case "removed":
				return Promise.reject(new Fault("session_not_found", { id: this.#record.name, open: [] }));
			case "detached":
				return Promise.reject(stopping());
		}
	}

	touch(): void {
		this.#touchedAt = Date.now();
	}

	/** Changes the record and writes it. */
	update(change: Partial<SessionRecord>): void {
		this.#change({ ...change, updatedAt: Date.now() });
	}

	/** The lines of earlier output have been counted. */
	counted(session: Session): void {
		const { linesOut } = session.journal.stats;
		if (session === this.inMemory && !this.isRunning && linesOut !== this.#record.linesOut) this.#change({ linesOut });
	}

	#change(change: Partial<SessionRecord>): void {
		this.#record = { ...this.#record, ...change };
		this.writeRecord().catch((error) => {
			if (this.state !== "detached") this.#parts.onProblem(error, `recording ${this.#record.name}`);
		});
	}

	/** Settles when the record is on disk. */
	writeRecord(): Promise<void> {
		return this.#file.write(this.#record);
	}

	/** Ends the session and its whole tree; returns what could not be ended. */
	async end(graceMs: number): Promise<readonly { pid: number; command: string }[]> {
		return (await this.session()).close(graceMs);
	}

	/** Deletes the session with everything it has on disk; refused while anything of it may run. */
	async remove(): Promise<void> {
		const closed = this.inMemory?.closed;
		if (closed !== undefined && !this.isRunning && this.#record.terminalOpen) {
			await within(CLOSE_TIMEOUT_MS, "closing", closed).catch(() => {}); // checked below
		}
		while (this.#state.name === "starting" || this.#state.name === "reviving") {
			await this.#state.session.catch(() => {}); // reported to the caller that opened it
		}
		if (this.#state.name === "removed") return;
		if (this.#state.name === "detached") throw stopping();
		if (this.#record.terminalOpen) {
			const what = this.isRunning ? "program" : "background";
			throw new Fault("still_running", { id: this.#record.name, sessionId: this.#record.id, what });
		}
		const before = this.#state;
		this.#enter("removed", { name: "removed" });
		if (before.name === "live") await before.session[Symbol.asyncDispose]();
		if (before.name === "ended") await before.released;
		await this.#file.close();
		await rm(this.directory, { recursive: true, force: true, maxRetries: 3 });
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
		await this.#file.close();
	}

	#enter(event: SlotEvent, state: State): void {
		if (slotAfter(this.#state.name, event) !== state.name) throw new Error(`${event} does not lead to ${state.name}`);
		if (this.#state.name === "live") {
			this.#state.timer?.[Symbol.dispose]();
			for (const unsubscribe of this.#state.subscriptions) unsubscribe();
		}
		this.#state = state;
	}

	/** On disk only, once `work` is done and the record is written. */
	#rest(event: "evicted" | "failed", work: Promise<void> = Promise.resolve()): void {
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
		}
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
		this.#enter("unreachable", { name: "unreached" });
		this.#record = { ...this.#record, reason: `its holder is unreachable: ${messageOf(error)}` };
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
		const holder = identityOf(session.holderPid);
		const moved = this.#record.pid !== session.pid || this.#record.holder?.pid !== holder.pid;
		if (isNew || moved || this.#record.reason !== null) this.update({ state, pid: session.pid, holder, reason: null });
		let last = "";
		subscriptions.push(
			session.onEnded(() => this.#ended(live)),
			session.onFenced(() => events.fenced(this)),
			session.onReported((event) => events.reported(this, event)),
			session.onDecided((attention) => {
				const verdict = `${attention.activity} ${attention.waitingFor}`;
				if (verdict !== last) events.attention(this, attention);
				last = verdict;
			}),
		);
		this.touch();
		this.#endWhenIdle(live);
		events.opened(this, isNew);
	}

	#ended(live: Live): void {
		const { status, exit, ptyExit, journal } = live.session;
		live.timer?.[Symbol.dispose]();
		this.update({
			state: status,
			exit,
			reason: status === "stream_lost" ? this.#howItWasLost() : live.session.endedBecause,
			resolvedAt: ptyExit?.endedAt ?? Date.now(),
			...journal.stats,
		});
		this.#parts.events.ended(this, live.session);
	}

	#howItWasLost(): string {
		if (this.#record.state === "starting") return "the daemon died while it was being started";
		return describeEnd("stream_lost", null);
	}

	#closed(live: Live): void {
		if (this.#state !== live) return; // released before it closed
		// Background processes may have written, too.
		const { bytesOut, linesOut, lastLine, truncated } = live.session.journal.stats;
		this.update({ terminalOpen: false, bytesOut, linesOut, lastLine, truncated });
		this.#evictWhenIdle(live);
		this.#parts.events.closed(this);
	}

	#endWhenIdle(live: Live): void {
		const { idleMs, endGraceMs, onProblem } = this.#parts;
		if (idleMs === 0 || this.#record.keep) return;
		// A program that prints is not idle.
		const usedAt = () => Math.max(this.#usedAt(live), live.session.lastOutputAt);
		const onIdle = async (logged: number) => {
			// Of a session that nobody looks at, output may stay in the log without being received.
			const { to } = await logBounds(this.directory);
			if (this.#state !== live) return;
			if (to > Math.max(logged, live.session.journal.end) || usedAt() + idleMs > Date.now()) return arm(to);
			await live.session.close(endGraceMs, `idle for ${Math.round(idleMs / 1000)} s`);
		};
		const arm = (logged: number) => {
			const failed = (error: unknown) => {
				onProblem(error, `ending the idle session ${this.#record.name}`);
				if (this.#state !== live) return;
				this.touch();
				arm(logged);
			};
			live.timer = new IdleTimer({
				idleMs,
				usedAt,
				onIdle: () => void onIdle(logged).catch(failed),
			});
		};
		arm(0);
	}

	#usedAt({ session }: Live): number {
		return Math.max(this.#touchedAt, session.usedAt);
	}

	#evictWhenIdle(live: Live): void {
		live.timer = new IdleTimer({
			idleMs: this.#parts.evictMs,
			usedAt: () => this.#usedAt(live),
			onIdle: () => this.#rest("evicted", live.session[Symbol.asyncDispose]()),
		});
	}
}

const stopping = () => new Fault("no_daemon", { problem: "it is stopping" });
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
