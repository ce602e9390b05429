// Combines everything that lives as long as the daemon: slots, their names, the
// quota, events. Starts sessions, finds them again, adopts those that an earlier
// daemon left running, and ends them.

import { basename, join } from "node:path";
import type { JournalStats } from "../journal/journal.ts";
import type { SessionRecord } from "../journal/records.ts";
import { clean } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { bootId } from "../pty/boot-id.ts";
import type { Places } from "../pty/places.ts";
import { within } from "../pty/wait.ts";
import { Archive } from "./archive.ts";
import { AttentionRefresh } from "./attention-refresh.ts";
import type { Drawing } from "./display.ts";
import { DrawScheduler } from "./draw-scheduler.ts";
import { EventLog } from "./event-log.ts";
import { inParallel } from "./in-parallel.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { Launcher } from "./launcher.ts";
import { LEARNT_FILE, Learnt } from "./learnt.ts";
import { hasEnded } from "./lifecycle.ts";
import { limits, namesIn, type Options } from "./options.ts";
import type { Registry } from "./registry.ts";
import { RenderQueue } from "./render-queue.ts";
import { adoptSession, reviveSession } from "./revive.ts";
import { ScreenCache } from "./screen-cache.ts";
import type { Session } from "./session.ts";
import { SessionSlot, type SlotListener } from "./session-slot.ts";
import type { StartSpec } from "./start-spec.ts";
import { holderTerminals, type Terminals } from "./terminals.ts";

/** What a holder needs beyond the grace to report that all are gone. */
const END_MARGIN_MS = 3000;
/** In the event of its end. */
const LAST_LINES = 5;
/** Sessions adopted at a time in the background; one that is requested is adopted at once. */
const PARALLEL_ADOPTIONS = 32;

export interface SessionsParts {
	readonly places: Places;
	readonly options: Options;
	/** Fences an older daemon at the holders. */
	readonly epoch: number;
	/** Errors that have no caller. */
	readonly onProblem: (problem: unknown, doing: string) => void;
	/** A newer daemon has taken over: this one no longer owns any session. */
	readonly onFenced: () => void;
	/** Many screens were put away, and what they took is garbage. */
	readonly onManyHibernated?: (() => void) | undefined;
	/** Where terminals come from; real holders except in tests. */
	readonly terminals?: Terminals;
}

export interface ListedSession {
	readonly record: SessionRecord;
	/** Null while it is not in memory. */
	readonly session: Session | null;
}

export class Sessions implements AsyncDisposable {
	readonly options: Options;
	readonly events: EventLog;
	/** Calls that take turns in a shell instead of being refused while it is busy, by shell and owner. */
	readonly shellTurns = new KeyedQueue();
	readonly #parts: SessionsParts;
	readonly #terminals: Terminals;
	readonly #drawing: Drawing;
	// Set once, by `open`: they need the other parts, or a file.
	#archive!: Archive;
	#launcher!: Launcher;
	#learnt!: Learnt;
	readonly #attention = new AttentionRefresh();
	readonly #counting = new KeyedQueue();
	readonly #counts = new Listeners<void>("session count");
	readonly #listener: SlotListener = {
		opened: (slot, isNew) => {
			if (isNew) this.#emit(slot, "started");
			this.#counts.emit();
		},
		attention: (slot, { activity, waitingFor, because }) =>
			this.#emit(slot, "attention", { activity, waitingFor, because }),
		fenced: () => this.#parts.onFenced(),
		reported: (slot, event) => {
			if (event.event === "log_lost") this.#emit(slot, "lost_output", { bytes: event.to - event.from });
			if (event.event === "input_dropped") this.#emit(slot, "input_dropped", { bytes: event.bytes });
		},
		ended: (slot, session) => {
			this.#registry.freeName(slot);
			this.#counts.emit();
			if (session === null) return; // it never started
			const lines = session.screen.lines(LAST_LINES, limits).map((line) => line.slice(-limits.lineChars));
			this.#emit(slot, "ended", { exit: slot.record.exit, lastLines: clean(lines.join("\n")).text });
		},
		closed: (slot) => void this.#archive.add(slot),
		rested: (slot) => this.#registry.release(slot),
	};
	#disposed = false;

	private constructor(parts: SessionsParts) {
		this.#parts = parts;
		this.options = parts.options;
		const { awakeScreens, hibernateMs, eventsKept } = parts.options;
		this.events = new EventLog(eventsKept);
		this.#drawing = {
			scheduler: new DrawScheduler(),
			cache: new ScreenCache({
				maxScreens: awakeScreens,
				maxIdleMs: hibernateMs,
				onManyHibernated: parts.onManyHibernated,
			}),
			transcripts: {
				queue: new RenderQueue(),
				cache: new ScreenCache({ maxScreens: Math.ceil(awakeScreens / 4), maxIdleMs: hibernateMs }),
				maxBytes: parts.options.quotaBytes,
				onWritten: (directory) => void this.#archive.remeasure(basename(directory)),
			},
		};
		this.#terminals = parts.terminals ?? holderTerminals;
	}

	/** With a slot for every session that is on disk. Adoption continues in the background: each slot waits for its own. */
	static async open(parts: SessionsParts): Promise<Sessions> {
		const sessions = new Sessions(parts);
		sessions.#learnt = await Learnt.load(join(parts.places.state, LEARNT_FILE));
		sessions.#archive = await Archive.open({
			sessions: parts.places.sessions,
			options: parts.options,
			slotOf: (record, launch) => sessions.#slot(record, launch),
			onProblem: parts.onProblem,
		});
		sessions.#launcher = new Launcher({
			...parts,
			drawing: sessions.#drawing,
			learnt: sessions.#learnt,
			terminals: sessions.#terminals,
			registry: sessions.#registry,
		});
		void inParallel(PARALLEL_ADOPTIONS, sessions.#registry.open(), (slot) =>
			slot.session().catch((error) => {
				if (!sessions.#disposed) parts.onProblem(error, `adopting ${slot.record.name} (${slot.record.id})`);
			}),
		);
		return sessions;
	}

	/** Starts a program on its own terminal. */
	start(spec: StartSpec): Promise<Session> {
		return this.#launcher.start(spec);
	}

	/** The session that this owner means, in memory and marked as used. */
	find(reference: string, by: { readonly owner?: string | undefined } = {}): Promise<Session> {
		const find = async (slot: SessionSlot) => {
			slot.touch();
			const session = await slot.session();
			await session.catchUp();
			return session;
		};
		return this.#registry.use(reference, find, by);
	}

	/** What runs and what ended last, the newest first. */
	list(): readonly ListedSession[] {
		return this.#registry.all().map(listed);
	}

	/** Refreshes the attention of running sessions, within a short timeout. */
	async refresh(): Promise<void> {
		await this.#attention.freshen(this.#registry.running());
	}

	/** This owner's shells of that name, the newest first. */
	shells(owner: string, name: string): readonly ListedSession[] {
		return this.#registry
			.all()
			.filter(({ record }) => record.owner === owner && record.shell === name)
			.map(listed);
	}

	/** Who started it; null where that is not known. */
	ownerOf(session: Session): string | null {
		return this.#registry.atHand(session.id)?.record.owner ?? null;
	}

	/** The record of a session, also of one that ended long ago. */
	recordOf(session: Session): Promise<SessionRecord> {
		return this.#registry.use(session.id, ({ record }) => record);
	}

	/** The record of a session that has ended, to be started again. */
	endedRecord(reference: string, by: { readonly owner: string }): Promise<SessionRecord> {
		const ended = ({ isRunning, record }: SessionSlot) => {
			if (isRunning) throw new Fault("name_taken", { name: record.name });
			return record;
		};
		return this.#registry.use(reference, ended, by);
	}

	/** Ends a session and its whole tree; returns what could not be ended. */
	async close(
		session: Session,
		{ force, keep }: { force: boolean; keep: boolean },
	): Promise<readonly { pid: number; command: string }[]> {
		const graceMs = force ? 0 : this.options.endGraceMs;
		if (!keep) return session.close(graceMs);
		await session.closeMain(graceMs);
		return [];
	}

	/** Sends a signal to the foreground, if the options allow it (R3.5). */
	async signal(session: Session, name: string): Promise<void> {
		const allowed = namesIn(this.options.signals);
		if (!allowed.includes(name))
			throw new Fault("not_allowed", { what: `Sending ${name} (allowed: ${allowed.join(", ")})` });
		await session.signal(`SIG${name}`);
	}

	async resize(session: Session, cols: number, rows: number, signal: AbortSignal): Promise<void> {
		await session.resize(cols, rows, { signal });
		const slot = this.#registry.atHand(session.id);
		if (slot === undefined) return; // already removed
		slot.update({ cols, rows });
		this.#emit(slot, "resized");
	}

	/** Deletes an ended session with its output. */
	remove(reference: string): Promise<void> {
		return this.#registry.use(reference, async (slot) => {
			await slot.remove();
			this.#registry.forget(slot.record.id);
			this.#emit(slot, "closed");
		});
	}

	/** Refuses further starts and ends every session (R2.7); returns the names of those that could not be ended in time. */
	async endAll(): Promise<readonly string[]> {
		// What is being started already has a slot, and its end waits for the start.
		this.#launcher.stop();
		const graceMs = this.options.endGraceMs;
		const left: string[] = [];
		await Promise.all(
			this.#registry.open().map(async (slot) => {
				const { name } = slot.record;
				try {
					const survivors = await within(graceMs + END_MARGIN_MS, `ending ${name}`, slot.end(graceMs));
					if (survivors.length > 0) left.push(name);
				} catch (error) {
					left.push(name);
					this.#parts.onProblem(error, `ending ${name}`);
				}
			}),
		);
		return left;
	}

	runningCount(): number {
		return this.#registry.running().length;
	}

	onCount(listener: () => void): () => void {
		return this.#counts.add(listener);
	}

	/** Detaches from everything; the programs keep running. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		this.#launcher.stop();
		this.#attention[Symbol.dispose]();
		await Promise.all((await this.#registry.close()).map((slot) => slot.detach()));
		await this.#archive.settled();
		await this.#learnt[Symbol.asyncDispose]();
		this.#drawing.scheduler[Symbol.dispose]();
		this.#drawing.cache[Symbol.dispose]();
		this.#drawing.transcripts.queue[Symbol.dispose]();
		this.#drawing.transcripts.cache[Symbol.dispose]();
		this.#counts.clear();
	}

	get #registry(): Registry {
		return this.#archive.registry;
	}

	#slot(record: SessionRecord, launch?: (slot: SessionSlot) => Promise<Session>): SessionSlot {
		const { places, epoch, onProblem } = this.#parts;
		const { options } = this;
		const context = { options, drawing: this.#drawing, learnt: this.#learnt, counting: this.#counting };
		const directory = join(places.sessions, record.id);
		const connection = {
			directory,
			socketPath: places.socketFor(record.id),
			epoch: BigInt(epoch),
		};
		return new SessionSlot(
			{
				record,
				directory,
				idleMs: record.idleMs ?? options.idleMs,
				evictMs: options.evictMs,
				endGraceMs: options.endGraceMs,
				adopt: (slot) =>
					adoptSession(slot, context, (from) => {
						// Pids are meaningless after the next boot.
						const { pid, holder } = slot.record.bootId === bootId() ? slot.record : { pid: null, holder: null };
						return this.#terminals.adopt({ ...connection, pid, holderProcess: holder, from });
					}),
				revive: (slot) => reviveSession(slot, context),
				events: this.#listener,
				onProblem,
			},
			launch,
		);
	}

	#emit(slot: SessionSlot, event: Parameters<EventLog["emit"]>[0]["event"], more: object = {}): void {
		const { id, name, state, bytesOut } = slot.record;
		const offset = slot.inMemory?.journal.end ?? bytesOut;
		this.events.emit({ event, session: id, name, status: state, offset, ...more });
	}
}

/** Its figures, in memory or on record. Those of one that runs are on record only once it has ended. */
export function outputOf({ record, session }: ListedSession): JournalStats {
	return session?.journal.stats ?? (hasEnded(record.state) ? record : { ...record, linesOut: null });
}

const listed = ({ record, inMemory }: SessionSlot): ListedSession => ({ record, session: inMemory });
