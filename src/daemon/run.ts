// The daemon: takes the lock, opens the sessions, listens, and shuts down in order.
// It holds no state that is not on disk or in a holder, so a crash loses nothing either.

import { watch } from "node:fs";
import { createConnection } from "node:net";
import { Fault } from "../protocol/fault.ts";
import { type Condition, wait } from "../session/wait.ts";
import type { Client } from "../tools/client.ts";
import {
	acquireLock,
	type DaemonLock,
	isHeld,
	lastNumber,
	newestLock,
	releaseLock,
	removeLocksBefore,
} from "./daemon-lock.ts";
import { listen } from "./server.ts";

// A daemon that has just taken its lock listens within milliseconds; one that does not in 10 s never will.
const LISTEN_TIMEOUT_MS = 10_000;
const DEATH_CHECK_MS = 50;
// One that loses a race finds the winner's lock next time; two losses in a row are rare.
const LOCK_ATTEMPTS = 50;

export interface DaemonParts {
	readonly run: string;
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
	readonly runningSessions: () => number;
	/** Called when the number of running sessions changes. */
	readonly onSessions: (listener: () => void) => () => void;
	/** Ends every session; returns the names of those that could not be ended. */
	readonly endAll: () => Promise<readonly string[]>;
	/** Detaches from the sessions; they keep running. */
	readonly close: () => Promise<void>;
}

export interface Daemon {
	readonly lock: DaemonLock;
	readonly client: Client;
	/** Settles when the daemon has stopped, for whatever reason. */
	readonly stopped: Promise<void>;
	stop(options: { sessions: boolean }): Promise<void>;
}

/** Becomes the daemon; null when one already runs. */
export async function becomeDaemon(parts: DaemonParts): Promise<Daemon | null> {
	const { run, version, log } = parts;
	const lock = await acquireOrDefer(run, version);
	if (lock === null) return null;
	let stopListening: (() => Promise<void>) | null = null;
	let stopCounting: (() => void) | null = null;
	let open: DaemonSessions | null = null;
	let clients = 0;
	let idle: NodeJS.Timeout | null = null;
	let stopping: Promise<void> | null = null;
	let setStopped = () => {};
	const stopped = new Promise<void>((resolve) => {
		setStopped = resolve;
	});

	const endSessions = async (): Promise<readonly string[]> => {
		const left = (await open?.endAll()) ?? [];
		if (left.length > 0) log.error({ sessions: left }, "these sessions could not be ended");
		return left;
	};
	const stop = ({ sessions }: { sessions: boolean }): Promise<void> => {
		stopping ??= (async () => {
			log.info({ sessions }, "stopping");
			if (idle !== null) clearTimeout(idle);
			stopCounting?.();
			if (sessions) await endSessions();
			// New clients find no lock and start the next daemon; old ones see their connection end.
			releaseLock(run, lock);
			await open?.close();
			await stopListening?.();
			log.info({ epoch: lock.epoch }, "stopped");
			setStopped();
		})();
		return stopping;
	};
	const restartIdleTimer = () => {
		if (idle !== null) clearTimeout(idle);
		idle = null;
		if (stopping !== null || parts.idleMs === 0 || clients > 0 || (open?.runningSessions() ?? 0) > 0) return;
		idle = setTimeout(() => void stop({ sessions: false }), parts.idleMs);
		idle.unref();
	};

	try {
		open = await parts.open(lock, () => void stop({ sessions: false }));
		stopListening = await listen(lock.socket, {
			client: open.client,
			version,
			onStop: async ({ sessions }) => {
				const left = sessions ? await endSessions() : [];
				setImmediate(() => void stop({ sessions: false })); // the answer is sent first
				return left;
			},
			onClients: (count) => {
				clients = count;
				restartIdleTimer();
			},
			onProblem: (problem) => log.error({ err: problem }, "a call failed"),
		});
	} catch (error) {
		releaseLock(run, lock);
		throw error;
	}
	removeLocksBefore(run, lock.epoch);
	stopCounting = open.onSessions(restartIdleTimer);
	restartIdleTimer();
	log.info({ epoch: lock.epoch, socket: lock.socket, sessions: open.runningSessions() }, "listening");
	return { lock, client: open.client, stopped, stop };
}

/** A lock of our own, or null once the daemon that has it listens. */
async function acquireOrDefer(run: string, version: string): Promise<DaemonLock | null> {
	for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
		const last = lastNumber(run);
		const newest = newestLock(run);
		if (newest !== null && isHeld(newest)) {
			if (await listens(run, newest)) return null;
			if (isHeld(newest)) {
				throw new Fault("no_daemon", { problem: `process ${newest.pid} has the lock but does not answer` });
			}
		}
		const mine = acquireLock(run, last, version);
		if (mine !== null) return mine;
	}
	throw new Fault("no_daemon", { problem: `its lock in ${run} could not be taken in ${LOCK_ATTEMPTS} attempts` });
}

/** Settles when the lock's daemon listens, has died, or has not listened for too long. */
async function listens(run: string, lock: DaemonLock): Promise<boolean> {
	const connects = () =>
		new Promise<boolean>((resolve) => {
			const socket = createConnection(lock.socket);
			socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
			socket.on("connect", () => socket.destroy());
		});
	if (await connects()) return true;
	const decided: Condition<boolean> = {
		start(scope) {
			const check = async () => {
				if (await connects()) scope.settle(true);
				else if (!isHeld(lock) || newestLock(run)?.epoch !== lock.epoch) scope.settle(false);
			};
			const watcher = watch(run, () => void check());
			scope.own(() => watcher.close());
			// There is no event for the death of a process that is not our child.
			const deathWatch = setInterval(() => void check(), DEATH_CHECK_MS);
			scope.own(() => clearInterval(deathWatch));
			scope.after(LISTEN_TIMEOUT_MS, () => scope.settle(false));
			void check();
		},
	};
	return wait([decided]);
}
