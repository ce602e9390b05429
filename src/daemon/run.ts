// The daemon: takes the lock, opens the sessions, listens, and shuts down in order.
// It holds no state that is not on disk or in a holder, so a crash loses nothing either.

import { once } from "node:events";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import { deferred } from "../pty/deferred.ts";
import { type Condition, wait, within } from "../pty/wait.ts";
import type { Options } from "../session/options.ts";
import type { Client } from "../tools/client.ts";
import { type DaemonPlaces, mustBeBesideSessions, rememberPlace } from "./beside-sessions.ts";
import type { Callers } from "./callers.ts";
import {
	acquireLock,
	type DaemonLock,
	isElsewhere,
	isHeld,
	lastNumber,
	newestLock,
	releaseLock,
	removeLocksBefore,
} from "./daemon-lock.ts";
import type { FleetControl } from "./fleet-control.ts";
import type { HttpControl } from "./http-control.ts";
import { type DaemonServer, listen } from "./server.ts";

// A daemon that has just taken its lock listens within milliseconds; one that does not in 10 s never will.
const LISTEN_TIMEOUT_MS = 10_000;
const DEATH_CHECK_MS = 50;
/** What each step of stopping may take; the next daemon adopts what was not released. */
const STEP_MS = 5000;
/** Ending sessions has deadlines of its own; this one is for a mistake in them. */
const END_ALL_MS = 90_000;
/** A daemon that has been replaced is gone after this, whatever it is doing. */
const REPLACED_MS = 500;
// One that loses a race finds the winner's lock next time; two losses in a row are rare.
const LOCK_ATTEMPTS = 50;

export interface DaemonParts extends DaemonPlaces {
	readonly version: string;
	readonly log: DaemonLog;
	/** 0: never stops by itself. */
	readonly idleMs: number;
	/** Opens the sessions under this lock's epoch. */
	readonly open: (lock: DaemonLock, onFenced: () => void) => Promise<DaemonSessions>;
}

/** The part of a logger that the daemon uses. */
export interface DaemonLog {
	info(facts: object, message: string): void;
	error(facts: object, message: string): void;
}

export interface DaemonSessions {
	readonly client: Client;
	readonly callers: Callers;
	readonly limits: Pick<Options, "connections" | "callsPerConnection">;
	readonly runningSessions: () => number;
	/** Called when the number of running sessions changes. */
	readonly onSessions: (listener: () => void) => () => void;
	/** Absent where this process serves no HTTP. */
	readonly http?: HttpControl;
	/** Absent where this process can be no member of a fleet. */
	readonly fleet?: FleetControl;
	/** Ends every session; returns the names of those that could not be ended. */
	readonly endAll: () => Promise<readonly string[]>;
	/** Ends the calls that have not been answered, and detaches from the sessions; they keep running. */
	readonly close: () => Promise<void>;
}

export interface Daemon extends Pick<DaemonServer, "serve"> {
	readonly lock: DaemonLock;
	readonly client: Client;
	/** Settles when the daemon has stopped, for whatever reason; never rejects. */
	readonly stopped: Promise<void>;
	/** Always settles: what fails or takes too long is logged and left to the next daemon. Returns the sessions that could not be ended. */
	stop(options: StopOptions): Promise<readonly string[]>;
}

export interface StopOptions {
	readonly sessions: boolean;
	/** Another daemon follows at once: clients reconnect. */
	readonly replace?: boolean;
}

/** Becomes the daemon; null when one already runs. */
export async function becomeDaemon(parts: DaemonParts): Promise<Daemon | null> {
	const { run, version, log } = parts;
	const lock = await acquireOrDefer(parts);
	if (lock === null) return null;
	let server: DaemonServer | null = null;
	let stopCounting: (() => void) | null = null;
	let open: DaemonSessions | null = null;
	let clients = 0;
	let idle: NodeJS.Timeout | null = null;
	const stopping = new AbortController();
	const stopped = deferred<void>();
	let left: readonly string[] = [];
	let requested = false;

	/** One step of stopping: it may fail or hang, and the next one follows. */
	const step = async (doing: string, ms: number, work: () => Promise<unknown> | undefined): Promise<void> => {
		try {
			await within(ms, doing, Promise.resolve(work()));
		} catch (err) {
			log.error({ err }, doing);
		}
	};
	const endSessions = async (): Promise<readonly string[]> => {
		await step("ending the sessions", END_ALL_MS, async () => {
			left = (await open?.endAll()) ?? [];
		});
		if (left.length > 0) log.error({ sessions: left }, "these sessions could not be ended");
		return left;
	};
	const stopInOrder = async ({ sessions, replace = false }: StopOptions): Promise<void> => {
		log.info({ sessions, replace }, "stopping");
		if (idle !== null) clearTimeout(idle);
		stopCounting?.();
		watcher?.close();
		if (sessions) await endSessions();
		// New clients find no lock and start the next daemon; old ones see their connection end.
		await step("releasing the lock", STEP_MS, async () => releaseLock(run, lock));
		stopping.abort(replace ? "replaced" : "stopped");
		const closing = step("detaching from the sessions", STEP_MS, () => open?.close());
		await step("closing the socket", 2 * STEP_MS, () => server?.stop(closing));
		await closing;
		log.info({ epoch: lock.epoch }, "stopped");
	};
	const stop = async (options: StopOptions): Promise<readonly string[]> => {
		if (!requested) void stopInOrder(options).finally(stopped.resolve);
		requested = true;
		await stopped.promise;
		return left;
	};
	const replaced = (why: string) => {
		if (isReplaced) return;
		isReplaced = true;
		log.info({ why }, "replaced by another daemon");
		// It must not stay beside the one that owns the sessions now, not even while it stops.
		void within(REPLACED_MS, "stopping", stop({ sessions: false, replace: true })).catch(() => stopped.resolve());
	};
	let isReplaced = false;
	const checkLock = guarded("looking at the lock", () => {
		if (requested) return;
		if (!existsSync(join(run, `daemon.${lock.epoch}`))) return replaced("its lock is gone");
		const newest = newestLock(run);
		if (newest !== null && newest.epoch > lock.epoch && isHeld(newest)) replaced(`epoch ${newest.epoch}`);
	});
	const watcher = watchLocks(run, checkLock);
	const restartIdleTimer = () => {
		if (idle !== null) clearTimeout(idle);
		idle = null;
		const used =
			clients > 0 ||
			(open?.runningSessions() ?? 0) > 0 ||
			(open?.http?.state ?? null) !== null ||
			(open?.fleet?.status() ?? null) !== null;
		if (requested || parts.idleMs === 0 || used) return;
		idle = setTimeout(
			guarded("stopping when idle", () => stop({ sessions: false })),
			parts.idleMs,
		);
		idle.unref();
	};

	try {
		open = await parts.open(lock, () => replaced("fenced by a holder"));
		server = await listen(lock.socket, {
			client: open.client,
			callers: open.callers,
			version,
			limits: open.limits,
			stopping: stopping.signal,
			http: open.http ?? null,
			fleet: open.fleet ?? null,
			onStop: async ({ sessions, replace }) => {
				const left = sessions ? await endSessions() : [];
				const http = open?.http?.state ?? null;
				setImmediate(() => void stop({ sessions: false, replace })); // the answer is sent first
				return { left, http };
			},
			onClients: (count) => {
				clients = count;
				checkLock();
				restartIdleTimer();
			},
			onDropped: (reason) => log.error({ reason }, "disconnected a client"),
		});
	} catch (error) {
		watcher?.close();
		releaseLock(run, lock);
		throw error;
	}
	removeLocksBefore(run, lock.epoch);
	stopCounting = open.onSessions(restartIdleTimer);
	restartIdleTimer();
	log.info({ epoch: lock.epoch, socket: lock.socket, sessions: open.runningSessions() }, "listening");
	return { lock, client: open.client, stopped: stopped.promise, stop, serve: server.serve };
}

/** Calls back when a lock appears or vanishes; null where the system cannot tell: then each connection is the occasion. */
function watchLocks(run: string, changed: () => void): FSWatcher | null {
	try {
		const check = guarded("a change of the locks", (_event: string, name: string | null) => {
			if (name === null || name.startsWith("daemon.")) changed();
		});
		return watch(run, check).on("error", () => {});
	} catch {
		return null;
	}
}

/** A lock of our own, or null once the daemon that has it listens. */
async function acquireOrDefer(parts: DaemonParts): Promise<DaemonLock | null> {
	const { run, version } = parts;
	for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
		const last = lastNumber(parts);
		const newest = newestLock(run);
		if (newest !== null && (isHeld(newest) || isElsewhere(newest))) {
			if (await listens(run, newest)) return null;
			if (isHeld(newest)) {
				throw new Fault("no_daemon", { problem: `process ${newest.pid} has the lock but does not answer` });
			}
		}
		await mustBeBesideSessions(parts);
		const mine = acquireLock(parts, last, version);
		if (mine === null) continue;
		rememberPlace(parts.state);
		return mine;
	}
	throw new Fault("no_daemon", { problem: `its lock in ${run} could not be taken in ${LOCK_ATTEMPTS} attempts` });
}

/** Settles when the lock's daemon listens, has died, or has not listened for too long. */
async function listens(run: string, lock: DaemonLock): Promise<boolean> {
	const connects = async () => {
		const socket = createConnection(lock.socket);
		return within(LISTEN_TIMEOUT_MS, "connecting", once(socket, "connect"))
			.then(
				() => true,
				() => false,
			)
			.finally(() => socket.destroy());
	};
	if (await connects()) return true;
	const decided: Condition<boolean> = {
		start(scope) {
			const probe = async () => {
				if (await connects()) scope.settle(true);
				else if (!isHeld(lock) || newestLock(run)?.epoch !== lock.epoch) scope.settle(false);
			};
			const check = guarded("waiting for another daemon", probe, () => scope.settle(false));
			const watcher = watch(run, check);
			scope.own(() => watcher.close());
			// There is no event for the death of a process that is not our child.
			const deathWatch = setInterval(check, DEATH_CHECK_MS);
			scope.own(() => clearInterval(deathWatch));
			scope.after(LISTEN_TIMEOUT_MS, () => scope.settle(false));
			check();
		},
	};
	return wait([decided]);
}
