// What happens to sessions, as it is told to whoever listens: one compact JSON
// object an event, the same over the daemon's socket, SSE and WebSocket.

import type { Activity, ExitFacts, Status, WaitingFor } from "./answer.ts";

/** Something that happened to a session. */
export interface SessionEvent {
	/** Counts up within one daemon; a listener that comes back says the last it has seen. */
	readonly seq: number;
	readonly at: number;
	/** `attention` is told only while somebody waits on the session: nobody probes an idle one. */
	readonly event: "started" | "attention" | "ended" | "closed" | "resized" | "driver" | "lost_output";
	readonly session: string;
	readonly name: string;
	readonly status: Status;
	readonly activity?: Activity | null;
	readonly waitingFor?: WaitingFor | null;
	readonly because?: string;
	readonly exit?: ExitFacts | null;
	readonly offset: number;
	/** With `ended`: the last lines, so that a listener need not ask. */
	readonly lastLines?: string;
}
