// What may become of a session (R4.5): states × happenings, and the one
// function that moves. Final states are sinks; the same news twice changes
// nothing; any other news is a mistake of ours and is thrown.

import type { Status } from "../protocol/answer.ts";

export type LifecycleEvent = "launched" | "launch_failed" | "exited_well" | "exited_badly" | "cancelled" | "lost";

const table: Readonly<Record<Status, Readonly<Partial<Record<LifecycleEvent, Status>>>>> = {
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

/** The status after this happening. */
export function statusAfter(status: Status, happening: LifecycleEvent): Status {
	const next = table[status][happening];
	if (next === undefined) throw new Error(`A session that is ${status} cannot have ${happening}.`);
	return next;
}

export function hasEnded(status: Status): boolean {
	return status !== "starting" && status !== "running";
}
