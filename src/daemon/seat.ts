// Who is the daemon: one seat per user and directory, numbered.
//
// A seat is the file `daemon.<epoch>` that says who sits there. It is made by
// link(2), so each number is taken once and with its content whole; a start that
// finds the newest seat empty takes the next number. Nothing is ever stolen, so
// two racing starts give one daemon. The number is also the epoch that fences an
// older daemon at the holders.

import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Seat {
	readonly epoch: number;
	readonly pid: number;
	/** The kernel's start time of that process, so that a reused pid is not taken for it; null where unknown. */
	readonly born: string | null;
	readonly socket: string;
	readonly version: string;
}

const NAME = /^daemon\.(\d+)$/;

/** The newest seat, whoever sits there or sat there; null when there never was one. */
export function newestSeat(run: string): Seat | null {
	const epochs = seatNumbers(run).sort((a, b) => b - a);
	for (const epoch of epochs) {
		try {
			return JSON.parse(readFileSync(join(run, `daemon.${epoch}`), "utf8")) as Seat;
		} catch {
			// Removed between the two calls: its daemon has just left.
		}
	}
	return null;
}

/** Takes the seat after `previous`; null when somebody else was quicker. */
export function takeSeat(run: string, previous: Seat | null, version: string): Seat | null {
	mkdirSync(run, { recursive: true, mode: 0o700 });
	const epoch = Math.max(lastEpoch(run), previous?.epoch ?? 0) + 1;
	const seat: Seat = {
		epoch,
		pid: process.pid,
		born: bornOf(process.pid),
		socket: join(run, `d${epoch}.sock`),
		version,
	};
	const draft = join(run, `.daemon.${process.pid}.${epoch}`);
	writeFileSync(draft, JSON.stringify(seat), { mode: 0o600 });
	try {
		linkSync(draft, join(run, `daemon.${epoch}`));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
		throw error;
	} finally {
		rmSync(draft, { force: true });
	}
	// The number outlives its daemon, or the holders' fence would refuse the next one.
	writeFileSync(join(run, "epoch"), String(epoch), { mode: 0o600 });
	return seat;
}

/** Whether the process that took this seat still lives. */
export function isTaken(seat: Seat): boolean {
	try {
		process.kill(seat.pid, 0);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
	return seat.born === null || seat.born === bornOf(seat.pid);
}

/** Leaves the seat and clears away those before it. */
export function leaveSeat(run: string, seat: Seat): void {
	rmSync(seat.socket, { force: true });
	rmSync(join(run, `daemon.${seat.epoch}`), { force: true });
}

/** Clears away the seats of daemons that died without leaving. */
export function clearSeatsBefore(run: string, epoch: number): void {
	for (const number of seatNumbers(run)) {
		if (number >= epoch) continue;
		rmSync(join(run, `daemon.${number}`), { force: true });
		rmSync(join(run, `d${number}.sock`), { force: true });
	}
}

function seatNumbers(run: string): number[] {
	try {
		return readdirSync(run).flatMap((name) => (NAME.test(name) ? [Number(name.slice("daemon.".length))] : []));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}

function lastEpoch(run: string): number {
	try {
		return Number(readFileSync(join(run, "epoch"), "utf8")) || 0;
	} catch {
		return 0; // the first daemon here
	}
}

function bornOf(pid: number): string | null {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		// A zombie still has a number, but nobody sits there.
		return state === "Z" || state === "X" ? "gone" : (fields[18] ?? null);
	} catch {
		return null; // no /proc: the pid alone must do
	}
}
