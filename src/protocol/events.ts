// Session events, as listeners receive them: one compact JSON object each, the
// same over the daemon's socket, SSE and WebSocket.

import type { Activity, ExitFacts, Status, WaitingFor } from "./answer.ts";
import type { DriverFacts } from "./driver.ts";

export const EVENTS = [
	"started",
	"attention",
	"ended",
	"closed",
	"resized",
	"driver",
	"renamed",
	"lost_output",
	"input_dropped",
	"approval",
] as const;

/** Something that happened to a session. */
export interface SessionEvent {
	/** Increases within one daemon, whichever fleet it joins or leaves; a reconnecting listener sends the last one it has seen. */
	readonly seq: number;
	readonly at: number;
	/** `approval`: a person is asked or has decided, see `because`; without a session where it would start one. `attention` is emitted only while a caller waits on the session: idle sessions are not probed. */
	readonly event: (typeof EVENTS)[number];
	readonly session: string;
	readonly name: string;
	/** Of another machine of the fleet: which, and whose the session is. */
	readonly host?: string;
	readonly owner?: string | null;
	readonly status: Status;
	readonly activity?: Activity | null;
	readonly waitingFor?: WaitingFor | null;
	readonly because?: string;
	readonly exit?: ExitFacts | null;
	/** With `driver`: who may type from now on. */
	readonly driver?: DriverFacts;
	readonly offset: number;
	/** With `lost_output`: that the disk did not take. With `input_dropped`: typed ahead, and dropped by an interrupt. */
	readonly bytes?: number;
	/** With `ended`: the last lines, so that a listener need not read. */
	readonly lastLines?: string;
}

/** In place of events that a subscriber was too slow to get: `list` shows how things are now. */
export interface EventsDropped {
	/** Of the last one that was dropped. */
	readonly seq: number;
	readonly at: number;
	readonly event: "dropped";
	readonly dropped: number;
}
