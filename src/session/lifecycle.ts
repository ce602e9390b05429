// The lifecycle of a session: two tables of states × events, and their only
// transition functions. The status is what callers see (R4.5);
// the slot's state is where the session is right now: being opened, in memory,
// on disk only. The same event twice changes nothing; any other event that is
// not in the table is a bug and throws.

import type { Status } from "../protocol/answer.ts";
import type { PtyExit } from "../pty/pty.ts";

export const LIFECYCLE_EVENTS = [
	"launched",
	"launch_failed",
	"exited_well",
	"exited_badly",
	"cancelled",
	"lost",
] as const;
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

type Table<S extends string, E extends string> = Readonly<Record<S, Readonly<Partial<Record<E, S>>>>>;

const statuses: Table<Status, LifecycleEvent> = {
	starting: { launched: "running", launch_failed: "failed", cancelled: "cancelled", lost: "stream_lost" },
	running: {
		launched: "running",
		exited_well: "succeeded",
		exited_badly: "failed",
		cancelled: "cancelled",
		lost: "stream_lost",
	},
	succeeded: { exited_well: "succeeded" },
	failed: { launch_failed: "failed", exited_badly: "failed" },
	cancelled: { cancelled: "cancelled" },
	stream_lost: { lost: "stream_lost" },
};

/** The status after this event. */
export function statusAfter(status: Status, event: LifecycleEvent): Status {
	return next(statuses, status, event);
}

/** What an exit means; `requested`: a caller asked for it. */
export function endEvent(exit: Pick<PtyExit, "code" | "reason">, requested = false): LifecycleEvent {
	if (exit.reason === "lost") return "lost";
	// The holder says so where the daemon that was asked has died since.
	if (requested || exit.reason === "end") return "cancelled";
	return exit.code === 0 ? "exited_well" : "exited_badly";
}

export function hasEnded(status: Status): boolean {
	return status !== "starting" && status !== "running";
}

/**
 * `starting`: being launched or adopted · `live`: in memory · `unreached`: its holder may be alive but is not
 * connected · `ended`: on disk only · `reviving`: being read from disk · `removing`: being taken out · `removed`:
 * nothing knows of it any more · `detached`: this daemon has released it.
 */
export const SLOT_STATES = [
	"starting",
	"live",
	"unreached",
	"ended",
	"reviving",
	"removing",
	"removed",
	"detached",
] as const;
export type SlotState = (typeof SLOT_STATES)[number];

export const SLOT_EVENTS = [
	"opened",
	"failed",
	"unreachable",
	"retried",
	"evicted",
	"recalled",
	"withdrawn",
	"kept",
	"removed",
	"detached",
] as const;
export type SlotEvent = (typeof SLOT_EVENTS)[number];

const slots: Table<SlotState, SlotEvent> = {
	starting: { opened: "live", failed: "ended", unreachable: "unreached", retried: "starting", detached: "detached" },
	live: { opened: "live", evicted: "ended", withdrawn: "removing", detached: "detached" },
	unreached: { retried: "starting", unreachable: "unreached", detached: "detached" },
	ended: {
		failed: "ended",
		evicted: "ended",
		kept: "ended",
		recalled: "reviving",
		withdrawn: "removing",
		detached: "detached",
	},
	reviving: { opened: "live", failed: "ended", recalled: "reviving", detached: "detached" },
	removing: { withdrawn: "removing", removed: "removed", kept: "ended", detached: "detached" },
	removed: { removed: "removed", detached: "removed" },
	detached: { detached: "detached" },
};

/** Where the slot of a recorded session begins; the slot of a new one begins as `starting`. */
export function firstSlotState({ terminalOpen }: { readonly terminalOpen: boolean }): "unreached" | "ended" {
	return terminalOpen ? "unreached" : "ended";
}

/** The slot's state after this event. */
export function slotAfter(state: SlotState, event: SlotEvent): SlotState {
	return next(slots, state, event);
}

function next<S extends string, E extends string>(table: Table<S, E>, state: S, event: E): S {
	const to = table[state][event];
	if (to === undefined) throw new Error(`A session that is ${state} cannot have ${event}.`);
	return to;
}
