// Combines everything that lives as long as the daemon: slots, their names, the
// quota, events. Starts sessions, finds them again, adopts those that an earlier
// daemon left running, and ends them.

import { basename, join } from "node:path";
import type { JournalStats } from "../journal/journal.ts";
import type { SessionRecord } from "../journal/records.ts";
import type { Decision } from "../protocol/approval.ts";
import { clean } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { bootId } from "../pty/boot-id.ts";
import type { Places } from "../pty/places.ts";
import type { ProcessIdentity } from "../pty/process-stat.ts";
import type { Survivor } from "../pty/pty.ts";
import { within } from "../pty/wait.ts";
import { Approvals } from "./approvals.ts";
import { Archive } from "./archive.ts";
import { AttentionRefresh } from "./attention-refresh.ts";
import { confined, forcedOn, mustBeConfined } from "./confinement.ts";
import type { Drawing } from "./display.ts";
import { DrawScheduler } from "./draw-scheduler.ts";
import type { Writer } from "./driver-lease.ts";
import { EventLog } from "./event-log.ts";
import { livingHolder } from "./find-record.ts";
import { Floods } from "./giving-way.ts";
import { distinctNames } from "./identity.ts";
import { inParallel } from "./in-parallel.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { Launcher } from "./launcher.ts";
import { LEARNT_FILE, Learnt } from "./learnt.ts";
import { hasEnded, statusAfter } from "./lifecycle.ts";
import { NetworkProxies } from "./network-proxies.ts";
import { limits, namesIn, type Options } from "./options.ts";
import { Policy, type SandboxChoice } from "./policy.ts";
import type { Registry } from "./registry.ts";
import { RenderQueue } from "./render-queue.ts";
import { adoptSession, reviveSession } from "./revive.ts";
import { ScreenCache } from "./screen-cache.ts";
import { Secrets } from "./secrets.ts";
import type { Session } from "./session.ts";
import { SessionSlot, type SlotListener } from "./session-slot.ts";
import type { Caller, StartSpec } from "./start-spec.ts";
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
	/** Sessions end with this process: their home is not one in which they would be found again. */
	readonly endsWithOwner?: boolean | undefined;
	/** The variables that secrets are taken from; this process's own by default. */
	readonly secretValues?: Readonly<Record<string, string | undefined>> | undefined;
	/** Where terminals come from; real holders except in tests. */
	readonly terminals?: Terminals;
}

export interface ListedSession {
	readonly record: SessionRecord;
	/** Null while it is not in memory. */
	readonly session: Session | null;
}

/** A session that is to be ended; or, ended by now, what is known of one whose record cannot be read. */
export type ToEnd =
	| Awaited<ReturnType<SessionSlot["toEnd"]>>
	| { readonly session: null; readonly record: SessionRecord; readonly survivors: readonly Survivor[] };

export class Sessions implements AsyncDisposable {
	readonly options: Options;
	readonly events: EventLog;
	/** What the owner of this machine has decided. */
	readonly policy: Policy;
	/** What can be typed by name. */
	readonly secrets: Secrets;
	/** Calls that wait for a person. */
	readonly approvals = new Approvals();
	/** Calls that take turns in a shell instead of being refused while it is busy, by shell and owner. */
	readonly shellTurns = new KeyedQueue();
	readonly #parts: SessionsParts;
	readonly #terminals: Terminals;
	readonly #drawing: Drawing;
	// Set once, by `open`: they need the other parts, or a file.
	#archive!: Archive;
	#launcher!: Launcher;
	#learnt!: Learnt;
	readonly #proxies: NetworkProxies;
	readonly #attention = new AttentionRefresh();
	readonly #counting = new KeyedQueue();
	readonly #counts = new Listeners<void>("session count");
	readonly #listener: SlotListener = {
		opened: (slot, isNew) => {
			if (isNew) this.#emit(slot, "started");
			this.#counts.emit();
		},
		driver: (slot, driver) => this.#emit(slot, "driver", { driver }),
		attention: (slot, { activity, waitingFor, because }) => {
			slot.inMemory?.turns.state({ activity, waitingFor });
			this.#emit(slot, "attention", { activity, waitingFor, because });
		},
		fenced: () => this.#parts.onFenced(),
		reported: (slot, event) => {
			if (event.event === "log_lost") this.#emit(slot, "lost_output", { bytes: event.to - event.from });
			if (event.event === "input_dropped") this.#emit(slot, "input_dropped", { bytes: event.bytes });
		},
		ended: (slot, session) => {
			this.#registry.freeName(slot);
			this.#counts.emit();
			if (session === null) {
				const { reason } = slot.record;
				return this.#emit(slot, "ended", { exit: null, ...(reason !== null && { because: reason }) }); // it never started
			}
			const lines = session.screen.lines(LAST_LINES, limits).map((line) => line.slice(-limits.lineChars));
			this.#emit(slot, "ended", { exit: slot.record.exit, lastLines: clean(lines.join("\n")).text });
		},
		closed: (slot) => {
			this.#counts.emit();
			this.#proxies.close(slot.record.id).catch((error) => this.#parts.onProblem(error, "closing a proxy"));
			void this.#archive.add(slot);
		},
		rested: (slot) => this.#registry.release(slot),
	};
	#disposed = false;

	private constructor(parts: SessionsParts) {
		this.#parts = parts;
		this.options = parts.options;
		const { awakeScreens, hibernateMs, eventsKept } = parts.options;
		this.events = new EventLog(eventsKept);
		this.policy = new Policy(parts.places.state);
		this.secrets = new Secrets(this.policy, parts.secretValues ?? process.env);
		this.#drawing = {
			scheduler: new DrawScheduler(),
			floods: new Floods(),
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
		this.#proxies = new NetworkProxies(parts.places);
	}

	/** With a slot for every session that is on disk. Adoption continues in the background: each slot waits for its own. */
	static async open(parts: SessionsParts): Promise<Sessions> {
		const sessions = new Sessions(parts);
		sessions.#learnt = await Learnt.load(join(parts.places.state, LEARNT_FILE));
		sessions.#archive = await Archive.open({
			places: parts.places,
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
			secrets: sessions.secrets,
			proxies: sessions.#proxies,
			confine: (spec) => confined(spec, sessions.policy.current()),
		});
		sessions.#adopt(sessions.#registry.open());
		return sessions;
	}

	/** Starts a program on its own terminal. */
	async start(spec: StartSpec): Promise<Session> {
		await this.reread();
		return this.#launcher.start(spec);
	}

	/** Throws where this caller is confined, or asks for that, and could do more in this session. */
	async mustBeConfined(record: SessionRecord, caller: Caller, asked?: SandboxChoice): Promise<void> {
		const policy = this.policy.current();
		const spec = { caller, sandbox: asked, cwd: record.sandbox?.workspace };
		const by =
			asked === undefined || asked === false
				? await forcedOn(caller, record, policy)
				: (await confined(spec, policy)).confinedBy;
		if (by !== null) mustBeConfined(record, by);
	}

	/** The session that this holder holds; null where it is none of ours. Waits for what is being started. */
	async heldBy(holder: ProcessIdentity): Promise<SessionRecord | null> {
		const isIt = (one: ProcessIdentity | null) => one?.pid === holder.pid && (one.born ?? holder.born) === holder.born;
		const find = () => [...this.#registry.open().map(({ record }) => record), ...this.#registry.unread()];
		const known = find().find((record) => isIt(record.holder));
		if (known !== undefined) return known;
		const starting = this.#registry.open().filter(({ state }) => state === "starting");
		await Promise.allSettled(starting.map((slot) => slot.session()));
		return find().find((record) => isIt(record.holder)) ?? null;
	}

	/** Tries again what could not be read when the daemon started. */
	async reread(): Promise<void> {
		if (this.#registry.unread().length > 0) this.#adopt(await this.#archive.reread());
	}

	#adopt(slots: readonly SessionSlot[]): void {
		void inParallel(PARALLEL_ADOPTIONS, slots, (slot) =>
			slot.session().catch((error) => {
				if (!this.#disposed) this.#parts.onProblem(error, `adopting ${slot.record.name} (${slot.record.id})`);
			}),
		);
	}

	/** The session that this owner means, in memory and marked as used. */
	async find(reference: string, by: { readonly owner?: string | undefined } = {}): Promise<Session> {
		await this.reread();
		const find = async (slot: SessionSlot) => {
			slot.touch();
			const session = await slot.session();
			await session.catchUp();
			return session;
		};
		return this.#registry.use(reference, find, by);
	}

	/** What runs and what ended last, the newest first; then what cannot be read now. */
	list(): readonly ListedSession[] {
		const unread = this.#registry.unread().map((record) => ({ record, session: null }));
		return [...this.#registry.all().map(listed), ...unread];
	}

	/** Refreshes the attention of running sessions, within a short timeout. */
	async refresh(): Promise<void> {
		await this.reread();
		await this.#attention.freshen(this.#registry.running());
	}

	/** This owner's shells that `run` knows by that name, the newest first; else the one that runs as a session of that name. */
	shells(owner: string, name: string): readonly ListedSession[] {
		const own = this.#registry.all().filter(({ record }) => record.owner === owner && record.shell !== null);
		const known = own.filter(({ record }) => record.shell === name);
		const called = known[0]?.isRunning ? [] : own.filter((slot) => slot.isRunning && slot.record.name === name);
		return (called.length > 0 ? called : known).map(listed);
	}

	/** Who started it; null where that is not known. */
	ownerOf(session: Session): string | null {
		return this.#registry.atHand(session.id)?.record.owner ?? null;
	}

	/** The record of a session, also of one that ended long ago. */
	recordOf(session: Session): Promise<SessionRecord> {
		return this.recordNamed(session.id);
	}

	/** The record of the session that this owner means; without one, whoever's. */
	recordNamed(reference: string, by: { readonly owner?: string | undefined } = {}): Promise<SessionRecord> {
		return this.#registry.use(reference, ({ record }) => record, by);
	}

	/** What is on disk of a session, alive or ended: nothing of it is opened for that. */
	async recorded(reference: string): Promise<{ readonly record: SessionRecord; readonly directory: string }> {
		await this.reread();
		return this.#registry.use(reference, ({ record, directory }) => ({ record, directory }));
	}

	/** The record of a session that has ended, to be started again. */
	endedRecord(reference: string, by: { readonly owner: string }): Promise<SessionRecord> {
		const ended = ({ isRunning, record }: SessionSlot) => {
			if (isRunning) throw new Fault("name_taken", { name: record.name, again: true });
			return record;
		};
		return this.#registry.use(reference, ended, by);
	}

	/** The same to be ended: also one that cannot be reached, which is ended by its process then. */
	async findToEnd(
		reference: string,
		{ owner, force }: { readonly owner: string; readonly force: boolean },
	): Promise<ToEnd> {
		await this.reread();
		const toEnd = (slot: SessionSlot) => slot.toEnd(force ? 0 : this.options.endGraceMs);
		const unread = this.#registry.unreadMeant(reference, { owner });
		if (unread === null) return this.#registry.use(reference, toEnd, { owner });
		const survivors = await this.#endUnread(unread, force);
		// Its end may be all that was missing for its record to be read.
		return this.#registry.use(unread.id, toEnd).catch((error: unknown) => {
			if (survivors === null && unread.terminalOpen) throw error;
			const state = hasEnded(unread.state) ? unread.state : statusAfter(unread.state, "cancelled");
			return { session: null, record: { ...unread, state }, survivors: survivors ?? [] };
		});
	}

	/** Ends a session and its whole tree; returns what could not be ended. */
	async close(session: Session, { force, keep }: { force: boolean; keep: boolean }): Promise<readonly Survivor[]> {
		if (!force) session.driving.refuseWhileDriven();
		const graceMs = force ? 0 : this.options.endGraceMs;
		if (!keep) return session.close(graceMs);
		// Whoever keeps it has no other way to say that it is needed.
		this.#registry.atHand(session.id)?.update({ keep: true });
		await session.closeMain(graceMs);
		return [];
	}

	/** Sends a signal to the foreground, if the options allow it (R3.5). */
	async signal(session: Session, name: string, as: Writer): Promise<void> {
		const allowed = namesIn(this.options.signals);
		if (!allowed.includes(name))
			throw new Fault("not_allowed", { what: `Sending ${name} (allowed: ${allowed.join(", ")})` });
		await session.signal(`SIG${name}`, as);
		session.turns.signalled(name, "agent" in as ? (as.agent ?? "") : "");
	}

	/** A person has decided about a call to this session; recorded if it is at hand, as one that a call waits for is. */
	decided(id: string, decision: Decision): void {
		this.#registry.atHand(id)?.inMemory?.turns.decided(decision);
	}

	async resize(
		session: Session,
		{ cols, rows }: { readonly cols: number; readonly rows: number },
		options: { readonly as: Writer; readonly signal: AbortSignal },
	): Promise<void> {
		await session.resize(cols, rows, options);
		const slot = this.#registry.atHand(session.id);
		if (slot === undefined) return; // already removed
		slot.update({ cols, rows });
		this.#emit(slot, "resized");
	}

	/** Gives the session that this owner means another name; returns its id. */
	async rename(reference: string, name: string, by: { readonly owner?: string | undefined } = {}): Promise<string> {
		await this.reread();
		return this.#registry.use(
			reference,
			(slot) => {
				this.#registry.rename(slot, name);
				this.#emit(slot, "renamed");
				return slot.record.id;
			},
			by,
		);
	}

	/** Deletes an ended session with its output, also one whose record cannot be read. */
	async remove(id: string): Promise<void> {
		await this.reread();
		const unread = this.#registry.unread().find((one) => one.id === id && !one.terminalOpen);
		if (unread !== undefined) return this.#archive.removeUnread(unread);
		await this.#registry.use(id, async (slot) => {
			await this.#archive.takeOut(slot);
			this.#emit(slot, "closed");
			await this.#archive.deleteFiles(slot.record);
		});
	}

	/** Refuses further starts and ends every session (R2.7); returns the names of those that could not be ended in time. */
	async endAll({ exceptAway = false } = {}): Promise<readonly string[]> {
		// What is being started already has a slot, and its end waits for the start.
		this.#launcher.stop();
		await this.reread();
		const graceMs = this.options.endGraceMs;
		const left: SessionRecord[] = [];
		const end = async (record: SessionRecord, ending: Promise<readonly unknown[] | null>) => {
			try {
				const survivors = await within(graceMs + END_MARGIN_MS, `ending ${record.name}`, ending);
				if (survivors !== null && survivors.length > 0) left.push(record);
			} catch (error) {
				left.push(record);
				this.#parts.onProblem(error, `ending ${record.name}`);
			}
		};
		const slots = this.#registry.open().filter((slot) => !exceptAway || slot.inMemory?.leftAway !== true);
		await Promise.all([
			...slots.map((slot) => end(slot.record, slot.end(graceMs))),
			...this.#registry.unread().map((record) => end(record, this.#endUnread(record, false))),
		]);
		return distinctNames(left);
	}

	/** How many sessions have processes, also those whose program has ended. */
	runningCount(): number {
		return this.#registry.withProcesses().length;
	}

	onCount(listener: () => void): () => void {
		return this.#counts.add(listener);
	}

	/** Detaches from everything; the programs keep running. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		this.#launcher.stop();
		this.#attention[Symbol.dispose]();
		await this.#archive.stopRemoving();
		await Promise.all((await this.#registry.close()).map((slot) => slot.detach()));
		await this.#proxies[Symbol.asyncDispose]();
		await this.#archive[Symbol.asyncDispose]();
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

	/** By the process of its holder, if that lives; null where nothing does. */
	async #endUnread(record: SessionRecord, force: boolean): ReturnType<Terminals["endHolder"]> {
		const { places } = this.#parts;
		const holder = await livingHolder(places, record);
		return holder && this.#terminals.endHolder(holder, { directory: join(places.sessions, record.id), force });
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
				adopt: async (slot) => {
					await this.#proxies.open(slot.record).catch((error) => onProblem(error, "opening a proxy"));
					return adoptSession(slot, context, (from) => {
						// Pids are meaningless after the next boot.
						const { pid, born, holder } = slot.record;
						const processes = { mainProcess: pid === null ? null : { pid, born }, holderProcess: holder };
						return this.#terminals.adopt({ ...connection, ...(slot.record.bootId === bootId() && processes), from });
					});
				},
				revive: (slot) => reviveSession(slot, context),
				endUnreached: (slot, graceMs) => this.#endUnread(slot.record, graceMs === 0),
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
	const stats = session?.journal.stats ?? (hasEnded(record.state) ? record : { ...record, linesOut: null });
	// The end of what draws a full screen is no line.
	return session?.showsFullScreen === true ? { ...stats, lastLine: "" } : stats;
}

const listed = ({ record, inMemory }: SessionSlot): ListedSession => ({ record, session: inMemory });
