// What happened to a session beside its output and must not go unseen: output that could not be logged or waits for the
// disk, input that was dropped or cannot be typed; and what has changed of its ports and commands. Each caller is told
// once, with its next answer.

import type { HolderEvent } from "../protocol/frames.ts";

/** Callers come and go under new names; one that was forgotten is told again, which is safe. */
const MAX_OWNERS = 64;

type InputRefused = Extract<HolderEvent, { event: "input_refused" }>;

export interface Notices {
	/** Bytes of output that the disk did not take. */
	readonly lostOutput: number;
	/** Bytes of input that were typed ahead and dropped by an interrupt. */
	readonly droppedInput: number;
	/** Bytes of input that wait behind a line which is too long for the mode that the terminal is in now. */
	readonly heldInput: number;
	/** The last write of which only a part was typed: a line of it is too long for the program that reads it. */
	readonly refused: InputRefused | null;
	/** How many times the disk stopped answering, so that output had to wait for it. */
	readonly diskStalls: number;
	/** Commands of `run` that were stopped at their timeout after the call had returned. */
	readonly stoppedCommands: number;
}

const NONE: Notices = {
	lostOutput: 0,
	droppedInput: 0,
	heldInput: 0,
	refused: null,
	diskStalls: 0,
	stoppedCommands: 0,
};

/** What stays true for a while and is worth saying when it changes. */
export type StandingFact = "ports" | "command" | "sandbox" | "place";

export class NoticeBoard {
	#total = NONE;
	#stopping: readonly (() => boolean)[] = [];
	readonly #told = new Map<string, Notices>();
	readonly #standing = new Map<string, Partial<Record<StandingFact, string>>>();

	take(event: HolderEvent): void {
		const total = this.#total;
		if (event.event === "log_lost") this.#total = { ...total, lostOutput: total.lostOutput + event.to - event.from };
		if (event.event === "input_dropped") this.#total = { ...total, droppedInput: total.droppedInput + event.bytes };
		if (event.event === "input_held") this.#total = { ...total, heldInput: total.heldInput + event.bytes };
		if (event.event === "input_refused") this.#total = { ...total, refused: event };
		if (event.event === "disk_stalled") this.#total = { ...total, diskStalls: total.diskStalls + 1 };
	}

	/** A command is being stopped: told when it has ended. */
	commandStopping(isOver: () => boolean): void {
		this.#stopping = [...this.#stopping, isOver];
	}

	/** What this caller has not been told yet; null when there is nothing. A command's stop is told with its end, if at all. */
	takeFor(owner: string, { tellsEnds }: { tellsEnds: boolean }): Notices | null {
		const stopped = this.#stopping.filter((isOver) => isOver());
		if (stopped.length > 0) {
			this.#stopping = this.#stopping.filter((isOver) => !stopped.includes(isOver));
			this.#total = { ...this.#total, stoppedCommands: this.#total.stoppedCommands + stopped.length };
		}
		const told = this.#told.get(owner) ?? NONE;
		if (told === this.#total) return null;
		const stoppedCommands = tellsEnds ? this.#total.stoppedCommands : told.stoppedCommands;
		setNewest(this.#told, owner, tellsEnds ? this.#total : { ...this.#total, stoppedCommands });
		return {
			lostOutput: this.#total.lostOutput - told.lostOutput,
			droppedInput: this.#total.droppedInput - told.droppedInput,
			heldInput: this.#total.heldInput - told.heldInput,
			refused: this.#total.refused === told.refused ? null : this.#total.refused,
			diskStalls: this.#total.diskStalls - told.diskStalls,
			stoppedCommands: stoppedCommands - told.stoppedCommands,
		};
	}

	/** Whether this caller was told otherwise, or not at all where it is not empty; it counts as told. */
	tellStanding(owner: string, fact: StandingFact, value: string): boolean {
		const told = this.#standing.get(owner) ?? {};
		if ((told[fact] ?? "") === value) return false;
		setNewest(this.#standing, owner, { ...told, [fact]: value });
		return true;
	}
}

/** The newest is last; the first one is forgotten. */
function setNewest<T>(byOwner: Map<string, T>, owner: string, value: T): void {
	byOwner.delete(owner);
	byOwner.set(owner, value);
	const [oldest] = byOwner.keys();
	if (byOwner.size > MAX_OWNERS && oldest !== undefined) byOwner.delete(oldest);
}
