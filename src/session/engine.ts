// Everything that lives as long as the daemon: starts sessions, finds them
// again, adopts those that an earlier daemon left running, ends the idle ones,
// and lets the ended ones leave memory.

import { rm } from "node:fs/promises";
import { keepWithin } from "../journal/quota.ts";
import { makeSessionDirectory, RecordFile, type SessionRecord, scanSessions } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { environment } from "../pty/environment.ts";
import { PtyCreationError } from "../pty/errors.ts";
import { launch } from "../pty/launch.ts";
import type { Places } from "../pty/places.ts";
import { clean } from "../terminal/clean.ts";
import { EventLog } from "./event-log.ts";
import { nameFor } from "./identity.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { type Known, Registry } from "./registry.ts";
import { adoptSession, reviveSession, sessionOf } from "./revive.ts";
import { describeEnd, type Session } from "./session.ts";
import { prepareShell, rememberedShell } from "./shell/prepare.ts";
import { newlyKnown, type StartSpec } from "./start-spec.ts";

export interface EngineParts {
	readonly places: Places;
	readonly options: Options;
	/** Fences an older daemon at the holders. */
	readonly epoch: number;
	/** What went wrong without a caller to tell. */
	readonly onProblem: (problem: unknown, doing: string) => void;
	/** A newer daemon has taken over: this one has no sessions any more. */
	readonly onFenced: () => void;
}

export class Engine implements AsyncDisposable {
	readonly options: Options;
	readonly events = new EventLog();
	readonly #parts: EngineParts;
	readonly #registry: Registry;
	readonly #countListeners = new Set<() => void>();
	#disposed = false;
	/** Ends since the quota was last known to be kept; 0 while nobody looks. */
	#endsToCount = 0;

	private constructor(parts: EngineParts) {
		this.#parts = parts;
		this.options = parts.options;
		this.#registry = new Registry(parts.options.rememberEnded);
	}

	/** An engine with every session that is on disk: the running ones adopted, the others known. */
	static async open(parts: EngineParts): Promise<Engine> {
		const engine = new Engine(parts);
		const found = await scanSessions(parts.places.sessions);
		await Promise.all(
			found.map(async ({ record, directory }) => {
				if (record === null) return; // half made by a daemon that died; the quota sweep clears it away
				try {
					await engine.#adopt(record, directory);
				} catch (error) {
					parts.onProblem(error, `adopting ${record.name} (${record.id})`);
				}
			}),
		);
		engine.#forgetSurplus();
		return engine;
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
		const known = newlyKnown(spec, {
			places,
			options,
			nameIsTaken: (name) => this.#registry.nameIsTaken(name),
		});
		const { id, argv, cwd, cols, rows, command } = known.record;
		// From here on the name is taken and the place is counted, also for a start at the same moment.
		this.#registry.add(known);
		try {
			await makeSessionDirectory(places.sessions, id);
			await known.file.write(known.record);
			const env = environment({ caller: caller.env, explicit: spec.env ?? {} });
			const shell = spec.shell === undefined ? null : await prepareShell(known.directory, spec.shell, env);
			known.commands = shell?.commands ?? null;
			const pty = await launch({
				directory: known.directory,
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
			known.session = sessionOf({ known, pty, options });
			this.#update(known, { state: "running", pid: pty.pid });
			this.#attend(known, known.session);
			this.#tell(known, "started");
			return known.session;
		} catch (error) {
			const reason = error instanceof Error ? error.message : String(error);
			this.#update(known, { state: "failed", reason, resolvedAt: Date.now() });
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
		const known = this.#registry.find(reference);
		known.touchedAt = Date.now();
		return this.#inMemory(known);
	}

	/** The records of all sessions, the newest first, with the sessions that are in memory. */
	list(): readonly Pick<Known, "record" | "session">[] {
		return this.#registry.all();
	}

	/** This owner's shells of that name, the newest first. */
	shells(owner: string, name: string): readonly Pick<Known, "record" | "session">[] {
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
		const known = this.#registry.find(session.id);
		this.#update(known, { cols, rows });
		this.#tell(known, "resized");
	}

	/** Forgets an ended session and its output. */
	async remove(reference: string): Promise<void> {
		const known = this.#registry.find(reference);
		if (!hasEnded(known.record.state)) {
			throw new Fault("not_allowed", { what: `Removing the running session "${known.record.name}"` });
		}
		await this.#leaveMemory(known);
		this.#registry.forget(known);
		await rm(known.directory, { recursive: true, force: true });
		this.#tell(known, "closed");
	}

	/** Ends every running session (R2.7). */
	async endAll(): Promise<void> {
		await Promise.all(
			this.#registry.running().map(async (known) => {
				await (await this.#inMemory(known)).close(this.options.endGraceMs);
			}),
		);
	}

	runningCount(): number {
		return this.#registry.running().length;
	}

	onCount(listener: () => void): () => void {
		this.#countListeners.add(listener);
		return () => this.#countListeners.delete(listener);
	}

	/** Lets go of everything; the programs go on. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		await Promise.all(
			this.#registry.all().map(async (known) => {
				if (known.timer !== null) clearTimeout(known.timer);
				await known.session?.[Symbol.asyncDispose]();
				await known.file.write(known.record).catch(() => {}); // its directory was removed meanwhile
			}),
		);
	}

	async #adopt(record: SessionRecord, directory: string): Promise<void> {
		const known: Known = {
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
		this.#registry.add(known);
		if (hasEnded(record.state)) return;
		known.commands = await rememberedShell(directory);
		const { places, epoch } = this.#parts;
		const session = await adoptSession({
			known,
			options: this.options,
			socketPath: places.socketFor(record.id),
			epoch: BigInt(epoch),
		});
		known.session = session;
		known.touchedAt = Date.now();
		this.#attend(known, session);
	}

	/** What follows from a session's being in memory: its end is recorded and told, its idleness seen. */
	#attend(known: Known, session: Session): void {
		if (session.ended) {
			this.#ended(known, session);
			return;
		}
		session.onEnded(() => this.#ended(known, session));
		session.onDecided((attention) => {
			const { activity, waitingFor } = attention;
			this.#tellAttention(known, activity, waitingFor, attention.because);
		});
		session.onFenced(() => this.#parts.onFenced());
		this.#seeIdleness(known);
		this.#countChanged();
	}

	readonly #lastTold = new WeakMap<Known, string>();
	#tellAttention(
		known: Known,
		activity: NonNullable<Session["attention"]["activity"]>,
		waitingFor: Session["attention"]["waitingFor"],
		because: string,
	): void {
		const told = `${activity} ${waitingFor}`;
		if (this.#lastTold.get(known) === told) return;
		this.#lastTold.set(known, told);
		this.#tell(known, "attention", { activity, waitingFor, because });
	}

	#ended(known: Known, session: Session): void {
		const { status, exit, journal } = session;
		this.#update(known, {
			state: status,
			exit,
			reason: status === "stream_lost" ? describeEnd(status, exit) : known.record.reason,
			resolvedAt: session.ptyExit?.endedAt ?? Date.now(),
			...journal.stats,
		});
		this.#tell(known, "ended", { exit, lastLines: clean(session.screen.lines(5).join("\n")).text });
		if (known.timer !== null) clearTimeout(known.timer);
		known.timer = setTimeout(() => void this.#leaveMemory(known), this.options.evictMs);
		known.timer.unref();
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
	#seeIdleness(known: Known): void {
		if (known.idleMs === 0 || known.record.keep) return;
		const leftMs = known.touchedAt + known.idleMs - Date.now();
		if (leftMs > 0) {
			// setTimeout takes at most 2^31-1 ms.
			known.timer = setTimeout(() => this.#seeIdleness(known), Math.min(leftMs, 2 ** 31 - 1));
			known.timer.unref();
			return;
		}
		this.#update(known, { reason: `nobody touched it for ${Math.round(known.idleMs / 1000)} s` });
		known.session
			?.close(this.options.endGraceMs)
			.catch((error) => this.#parts.onProblem(error, "ending an idle session"));
	}

	async #inMemory(known: Known): Promise<Session> {
		if (known.session !== null) return known.session;
		known.reviving ??= reviveSession({ known, options: this.options }).finally(() => {
			known.reviving = null;
		});
		known.session = await known.reviving;
		if (known.timer !== null) clearTimeout(known.timer);
		known.timer = setTimeout(() => void this.#leaveMemory(known), this.options.evictMs);
		known.timer.unref();
		return known.session;
	}

	async #leaveMemory(known: Known): Promise<void> {
		const { session } = known;
		// What a background process may still write to the terminal must find its way to the screen.
		if (session === null || session.ptyExit?.closed === false) return;
		known.session = null;
		await session[Symbol.asyncDispose]();
	}

	#forgetSurplus(): void {
		for (const known of this.#registry.surplus()) {
			void this.#leaveMemory(known);
			this.#registry.forget(known);
		}
	}

	#forgetRemoved(ids: readonly string[]): void {
		for (const known of this.#registry.all()) if (ids.includes(known.record.id)) this.#registry.forget(known);
	}

	#update(known: Known, change: Partial<SessionRecord>): void {
		known.record = { ...known.record, ...change, updatedAt: Date.now() };
		known.file.write(known.record).catch((error) => {
			if (!this.#disposed) this.#parts.onProblem(error, `recording ${known.record.name}`);
		});
	}

	#countChanged(): void {
		for (const listener of [...this.#countListeners]) listener();
	}

	#tell(known: Known, event: Parameters<EventLog["tell"]>[0]["event"], more: object = {}): void {
		const { id, name, state } = known.record;
		this.events.tell({
			event,
			session: id,
			name,
			status: state,
			offset: known.session?.journal.end ?? known.record.bytesOut,
			...more,
		});
	}
}
