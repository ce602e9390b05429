// Everything that lives as long as the daemon: starts sessions, finds them
// again, adopts those that an earlier daemon left running, ends the idle ones,
// and lets the ended ones leave memory.

import { rm } from "node:fs/promises";
import { keepWithin } from "../journal/quota.ts";
import { makeSessionDirectory, RecordFile, type SessionRecord, scanSessions } from "../journal/records.ts";
import { clean } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { environment } from "../pty/environment.ts";
import { PtyCreationError } from "../pty/errors.ts";
import { launch } from "../pty/launch.ts";
import type { Places } from "../pty/places.ts";
import { EventLog } from "./event-log.ts";
import { nameFor } from "./identity.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { Registry, type SessionSlot } from "./registry.ts";
import { adoptSession, reviveSession, sessionOf } from "./revive.ts";
import { describeEnd, type Session } from "./session.ts";
import { prepareShell, rememberedShell } from "./shell/prepare.ts";
import { newSlot, type StartSpec } from "./start-spec.ts";

export interface SessionsParts {
	readonly places: Places;
	readonly options: Options;
	/** Fences an older daemon at the holders. */
	readonly epoch: number;
	/** What went wrong without a caller to tell. */
	readonly onProblem: (problem: unknown, doing: string) => void;
	/** A newer daemon has taken over: this one has no sessions any more. */
	readonly onFenced: () => void;
}

export class Sessions implements AsyncDisposable {
	readonly options: Options;
	readonly events = new EventLog();
	readonly #parts: SessionsParts;
	readonly #registry: Registry;
	readonly #counts = new Listeners<void>("session count");
	#disposed = false;
	/** Ends since the quota was last slot to be kept; 0 while nobody looks. */
	#endsToCount = 0;

	private constructor(parts: SessionsParts) {
		this.#parts = parts;
		this.options = parts.options;
		this.#registry = new Registry(parts.options.rememberEnded);
	}

	/** An sessions with every session that is on disk: the running ones adopted, the others slot. */
	static async open(parts: SessionsParts): Promise<Sessions> {
		const sessions = new Sessions(parts);
		const found = await scanSessions(parts.places.sessions);
		await Promise.all(
			found.map(async ({ record, directory }) => {
				if (record === null) return; // half made by a daemon that died; the quota sweep clears it away
				try {
					await sessions.#adopt(record, directory);
				} catch (error) {
					parts.onProblem(error, `adopting ${record.name} (${record.id})`);
				}
			}),
		);
		sessions.#forgetSurplus();
		return sessions;
	}

	/** Starts a program on a terminal of its own. */
	async start(spec: StartSpec): Promise<Session> {
		const existing = spec.name === undefined ? null : this.#registry.runningNamed(spec.name);
		if (existing !== null) {
			if (spec.ifExists === "use") return this.find(existing.record.id);
			if (spec.ifExists !== "replace") throw new Fault("name_taken", { name: existing.record.name });
			await this.close(await this.find(existing.record.id), { force: false, keep: false });
		}
		this.#registry.refuseTooMany(spec.caller.owner, {
			all: this.options.maxSessions,
			mine: spec.maxForOwner ?? this.options.maxSessions,
		});
		const { caller } = spec;
		const { options, places, epoch } = this.#parts;
		const slot = newSlot(spec, {
			places,
			options,
			nameIsTaken: (name) => this.#registry.nameIsTaken(name),
		});
		const { id, argv, cwd, cols, rows, command } = slot.record;
		// From here on the name is taken and the place is counted, also for a start at the same moment.
		this.#registry.add(slot);
		try {
			await makeSessionDirectory(places.sessions, id);
			await slot.file.write(slot.record);
			const env = environment({ caller: caller.env, explicit: spec.env ?? {} });
			const shell = spec.shell === undefined ? null : await prepareShell(slot.directory, spec.shell, env);
			slot.commands = shell?.commands ?? null;
			const pty = await launch({
				directory: slot.directory,
				socketPath: places.socketFor(id),
				argv: shell?.argv ?? argv,
				env: { ...env, ...shell?.env },
				cwd,
				cols,
				rows,
				epoch: BigInt(epoch),
				quotaBytes: options.quotaBytes,
				...(spec.limits === undefined ? {} : { limits: spec.limits }),
			});
			slot.session = sessionOf({ slot, pty, options });
			this.#update(slot, { state: "running", pid: pty.pid });
			this.#attend(slot, slot.session);
			this.#emit(slot, "started");
			return slot.session;
		} catch (error) {
			const reason = error instanceof Error ? error.message : String(error);
			this.#update(slot, { state: "failed", reason, resolvedAt: Date.now() });
			this.#countChanged();
			if (!(error instanceof PtyCreationError)) throw error;
			throw new Fault(
				"spawn_failed",
				{ stage: error.stage, code: error.code, message: error.message, command },
				{ cause: error },
			);
		}
	}

	/** The session that is meant, in memory and touched. */
	async find(reference: string): Promise<Session> {
		const slot = this.#registry.find(reference);
		slot.touchedAt = Date.now();
		return this.#inMemory(slot);
	}

	/** The records of all sessions, the newest first, with the sessions that are in memory. */
	list(): readonly Pick<SessionSlot, "record" | "session">[] {
		return this.#registry.all();
	}

	/** This owner's shells of that name, the newest first. */
	shells(owner: string, name: string): readonly Pick<SessionSlot, "record" | "session">[] {
		return this.#registry
			.all()
			.filter(({ record, commands }) => record.owner === owner && commands?.identity.name === name);
	}

	/** This name, or one like it that no running session has. */
	freeName(name: string): string {
		return nameFor(name, (it) => this.#registry.runningNamed(it) !== null);
	}

	/** The record of a session that has ended, to be started again. */
	endedRecord(reference: string): SessionRecord {
		const { record } = this.#registry.find(reference);
		if (!hasEnded(record.state)) throw new Fault("name_taken", { name: record.name });
		return record;
	}

	/** Ends a session and its whole tree; names what could not be ended. */
	async close(
		session: Session,
		{ force, keep }: { force: boolean; keep: boolean },
	): Promise<readonly { pid: number; command: string }[]> {
		const graceMs = force ? 0 : this.options.endGraceMs;
		if (!keep) return session.close(graceMs);
		await session.closeMain(graceMs);
		return [];
	}

	async resize(session: Session, cols: number, rows: number): Promise<void> {
		await session.resize(cols, rows);
		const slot = this.#registry.find(session.id);
		this.#update(slot, { cols, rows });
		this.#emit(slot, "resized");
	}

	/** Forgets an ended session and its output. */
	async remove(reference: string): Promise<void> {
		const slot = this.#registry.find(reference);
		if (!hasEnded(slot.record.state)) {
			throw new Fault("not_allowed", { what: `Removing the running session "${slot.record.name}"` });
		}
		await this.#leaveMemory(slot);
		this.#registry.forget(slot);
		await rm(slot.directory, { recursive: true, force: true });
		this.#emit(slot, "closed");
	}

	/** Ends every running session (R2.7). */
	async endAll(): Promise<void> {
		await Promise.all(
			this.#registry.running().map(async (slot) => {
				await (await this.#inMemory(slot)).close(this.options.endGraceMs);
			}),
		);
	}

	runningCount(): number {
		return this.#registry.running().length;
	}

	onCount(listener: () => void): () => void {
		return this.#counts.add(listener);
	}

	/** Lets go of everything; the programs go on. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		await Promise.all(
			this.#registry.all().map(async (slot) => {
				if (slot.timer !== null) clearTimeout(slot.timer);
				await slot.session?.[Symbol.asyncDispose]();
				await slot.file.write(slot.record).catch(() => {}); // its directory was removed meanwhile
			}),
		);
	}

	async #adopt(record: SessionRecord, directory: string): Promise<void> {
		const slot: SessionSlot = {
			record,
			directory,
			file: new RecordFile(directory),
			session: null,
			commands: null,
			reviving: null,
			timer: null,
			idleMs: this.options.idleMs,
			touchedAt: record.updatedAt,
		};
		this.#registry.add(slot);
		if (hasEnded(record.state)) return;
		slot.commands = await rememberedShell(directory);
		const { places, epoch } = this.#parts;
		const session = await adoptSession({
			slot,
			options: this.options,
			socketPath: places.socketFor(record.id),
			epoch: BigInt(epoch),
		});
		slot.session = session;
		slot.touchedAt = Date.now();
		this.#attend(slot, session);
	}

	/** What follows from a session's being in memory: its end is recorded and told, its idleness seen. */
	#attend(slot: SessionSlot, session: Session): void {
		if (session.ended) {
			this.#ended(slot, session);
			return;
		}
		session.onEnded(() => this.#ended(slot, session));
		session.onDecided((attention) => {
			const { activity, waitingFor } = attention;
			this.#tellAttention(slot, activity, waitingFor, attention.because);
		});
		session.onFenced(() => this.#parts.onFenced());
		this.#seeIdleness(slot);
		this.#countChanged();
	}

	readonly #lastTold = new WeakMap<SessionSlot, string>();
	#tellAttention(
		slot: SessionSlot,
		activity: NonNullable<Session["attention"]["activity"]>,
		waitingFor: Session["attention"]["waitingFor"],
		because: string,
	): void {
		const told = `${activity} ${waitingFor}`;
		if (this.#lastTold.get(slot) === told) return;
		this.#lastTold.set(slot, told);
		this.#emit(slot, "attention", { activity, waitingFor, because });
	}

	#ended(slot: SessionSlot, session: Session): void {
		const { status, exit, journal } = session;
		this.#update(slot, {
			state: status,
			exit,
			reason: status === "stream_lost" ? describeEnd(status, exit) : slot.record.reason,
			resolvedAt: session.ptyExit?.endedAt ?? Date.now(),
			...journal.stats,
		});
		this.#emit(slot, "ended", { exit, lastLines: clean(session.screen.lines(5).join("\n")).text });
		if (slot.timer !== null) clearTimeout(slot.timer);
		slot.timer = setTimeout(() => void this.#leaveMemory(slot), this.options.evictMs);
		slot.timer.unref();
		this.#countChanged();
		this.#forgetSurplus();
		void this.#keepWithinQuota();
	}

	/** One look at the disk at a time; whoever ends during it shares the next. Without that a thousand ends were a million looks. */
	async #keepWithinQuota(): Promise<void> {
		if (this.options.totalBytes === 0 || ++this.#endsToCount > 1) return;
		for (let counted = 0; counted !== this.#endsToCount && !this.#disposed; ) {
			counted = this.#endsToCount;
			try {
				const removed = await keepWithin(this.#parts.places.sessions, this.options.totalBytes);
				this.#forgetRemoved(removed.map(({ id }) => id));
			} catch (error) {
				this.#parts.onProblem(error, "keeping within the total quota");
			}
		}
		this.#endsToCount = 0;
	}

	/** One timer a session: it looks when the session could first be idle, and again from there. */
	#seeIdleness(slot: SessionSlot): void {
		if (slot.idleMs === 0 || slot.record.keep) return;
		const leftMs = slot.touchedAt + slot.idleMs - Date.now();
		if (leftMs > 0) {
			// setTimeout takes at most 2^31-1 ms.
			slot.timer = setTimeout(() => this.#seeIdleness(slot), Math.min(leftMs, 2 ** 31 - 1));
			slot.timer.unref();
			return;
		}
		this.#update(slot, { reason: `nobody touched it for ${Math.round(slot.idleMs / 1000)} s` });
		slot.session
			?.close(this.options.endGraceMs)
			.catch((error) => this.#parts.onProblem(error, "ending an idle session"));
	}

	async #inMemory(slot: SessionSlot): Promise<Session> {
		if (slot.session !== null) return slot.session;
		slot.reviving ??= reviveSession({ slot, options: this.options }).finally(() => {
			slot.reviving = null;
		});
		slot.session = await slot.reviving;
		if (slot.timer !== null) clearTimeout(slot.timer);
		slot.timer = setTimeout(() => void this.#leaveMemory(slot), this.options.evictMs);
		slot.timer.unref();
		return slot.session;
	}

	async #leaveMemory(slot: SessionSlot): Promise<void> {
		const { session } = slot;
		// What a background process may still write to the terminal must find its way to the screen.
		if (session === null || session.ptyExit?.closed === false) return;
		slot.session = null;
		await session[Symbol.asyncDispose]();
	}

	#forgetSurplus(): void {
		for (const slot of this.#registry.surplus()) {
			void this.#leaveMemory(slot);
			this.#registry.forget(slot);
		}
	}

	#forgetRemoved(ids: readonly string[]): void {
		for (const slot of this.#registry.all()) if (ids.includes(slot.record.id)) this.#registry.forget(slot);
	}

	#update(slot: SessionSlot, change: Partial<SessionRecord>): void {
		slot.record = { ...slot.record, ...change, updatedAt: Date.now() };
		slot.file.write(slot.record).catch((error) => {
			if (!this.#disposed) this.#parts.onProblem(error, `recording ${slot.record.name}`);
		});
	}

	#countChanged(): void {
		this.#counts.emit();
	}

	#emit(slot: SessionSlot, event: Parameters<EventLog["emit"]>[0]["event"], more: object = {}): void {
		const { id, name, state } = slot.record;
		this.events.emit({
			event,
			session: id,
			name,
			status: state,
			offset: slot.session?.journal.end ?? slot.record.bytesOut,
			...more,
		});
	}
}
