// The daemon: takes the seat, opens the engine, listens, and leaves in order.
// It holds no truth that is not on disk or in a holder, so leaving in disorder
// loses nothing either.

import { watch } from "node:fs";
import { createConnection } from "node:net";
import { Fault } from "../protocol/fault.ts";
import type { Exchange } from "../tools/exchange.ts";
import { clearSeatsBefore, isTaken, leaveSeat, newestSeat, type Seat, takeSeat } from "./seat.ts";
import { listen } from "./server.ts";

// A daemon that has just taken its seat listens within milliseconds; one that does not in 10 s never will.
const SEATED_BUT_SILENT_MS = 10_000;
const DEATH_LOOK_MS = 50;

export interface DaemonParts {
	readonly run: string;
	readonly version: string;
	readonly log: DaemonLog;
	/** 0: never leave by itself. */
	readonly idleMs: number;
	/** Opens the engine under this seat's epoch. */
	readonly open: (seat: Seat, onFenced: () => void) => Promise<DaemonEngine>;
}

/** The part of a logger that the daemon uses. */
export interface DaemonLog {
	info(facts: object, message: string): void;
	error(facts: object, message: string): void;
}

export interface DaemonEngine {
	readonly exchange: Exchange;
	readonly runningSessions: () => number;
	/** Told when the number of running sessions changes. */
	readonly onSessions: (listener: () => void) => () => void;
	/** Ends every session. */
	readonly endAll: () => Promise<void>;
	/** Lets go; sessions go on. */
	readonly close: () => Promise<void>;
}

export interface Daemon {
	readonly seat: Seat;
	readonly exchange: Exchange;
	/** Settles when the daemon has left, whoever asked for it. */
	readonly left: Promise<void>;
	leave(options: { sessions: boolean }): Promise<void>;
}

/** Becomes the daemon, or says that there is one (null). */
export async function becomeDaemon(parts: DaemonParts): Promise<Daemon | null> {
	const { run, version, log } = parts;
	const seat = await findSeat(run, version);
	if (seat === null) return null;
	let stopListening: (() => Promise<void>) | null = null;
	let engine: DaemonEngine | null = null;
	let clients = 0;
	let idle: NodeJS.Timeout | null = null;
	let leaving: Promise<void> | null = null;
	let hasLeft = () => {};
	const left = new Promise<void>((resolve) => {
		hasLeft = resolve;
	});

	const leave = ({ sessions }: { sessions: boolean }): Promise<void> => {
		leaving ??= (async () => {
			log.info({ sessions }, "leaving");
			if (idle !== null) clearTimeout(idle);
			if (sessions) await engine?.endAll();
			// New clients find no seat and start the next daemon; old ones see their connection end.
			leaveSeat(run, seat);
			await engine?.close();
			await stopListening?.();
			log.info({ epoch: seat.epoch }, "left");
			hasLeft();
		})();
		return leaving;
	};
	const considerIdleness = () => {
		if (idle !== null) clearTimeout(idle);
		idle = null;
		if (parts.idleMs === 0 || clients > 0 || (engine?.runningSessions() ?? 0) > 0) return;
		idle = setTimeout(() => void leave({ sessions: false }), parts.idleMs);
		idle.unref();
	};

	try {
		engine = await parts.open(seat, () => void leave({ sessions: false }));
		stopListening = await listen(seat.socket, {
			exchange: engine.exchange,
			version,
			onStop: (options) => setImmediate(() => void leave(options)), // the answer goes out first
			onClients: (count) => {
				clients = count;
				considerIdleness();
			},
			onProblem: (problem) => log.error({ err: problem }, "a call failed"),
		});
	} catch (error) {
		leaveSeat(run, seat);
		throw error;
	}
	clearSeatsBefore(run, seat.epoch);
	engine.onSessions(considerIdleness);
	considerIdleness();
	log.info({ epoch: seat.epoch, socket: seat.socket, sessions: engine.runningSessions() }, "listening");
	return { seat, exchange: engine.exchange, left, leave };
}

/** A seat of our own, or null once the daemon that has it listens. */
async function findSeat(run: string, version: string): Promise<Seat | null> {
	for (;;) {
		const newest = newestSeat(run);
		if (newest !== null && isTaken(newest)) {
			if (await listens(run, newest)) return null;
			if (isTaken(newest)) {
				throw new Fault("no_daemon", { problem: `process ${newest.pid} has the seat but does not answer` });
			}
		}
		const mine = takeSeat(run, newest, version);
		if (mine !== null) return mine;
	}
}

/** Settles when the seat's daemon listens, or has gone, or has been silent for too long. */
async function listens(run: string, seat: Seat): Promise<boolean> {
	const connects = () =>
		new Promise<boolean>((resolve) => {
			const socket = createConnection(seat.socket);
			socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
			socket.on("connect", () => socket.destroy());
		});
	if (await connects()) return true;
	return new Promise<boolean>((resolve) => {
		const finish = (answer: boolean) => {
			watcher.close();
			clearInterval(deathWatch);
			clearTimeout(timer);
			resolve(answer);
		};
		const look = async () => {
			if (await connects()) finish(true);
			else if (!isTaken(seat) || newestSeat(run)?.epoch !== seat.epoch) finish(false);
		};
		const watcher = watch(run, () => void look());
		// No event tells of the death of a process that is not our child.
		const deathWatch = setInterval(() => void look(), DEATH_LOOK_MS);
		const timer = setTimeout(() => finish(false), SEATED_BUT_SILENT_MS);
		void look();
	});
}
