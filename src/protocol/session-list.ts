// The list of sessions as people watch it: all of it first, then what has changed. The same over the daemon's socket and
// to the page.

import type { Approval } from "./approval.ts";
import type { FleetHostStatus } from "./fleet.ts";
import type { PersonSession } from "./person-session.ts";

export interface ListChange {
	/** Of the list, increasing. */
	readonly version: number;
	/** `sessions` are all; else those that differ from what this reader has. */
	readonly full: boolean;
	readonly now: number;
	readonly sessions: readonly PersonSession[];
	readonly removed: readonly string[];
	/** All calls that wait for a person, where these have changed and the reader may decide. */
	readonly approvals?: readonly Approval[];
	/** The fleet, where it has changed; a full list without it is that of a host in no fleet. */
	readonly fleet?: FleetSeen;
}

/** The machines of a fleet as one of them sees it. */
export interface FleetSeen {
	/** The host that tells it; `this machine` where it serves nobody, and so is none. */
	readonly host: string;
	/** Since when its servers are away, ms since 1970; null while they are there. */
	readonly awaySince: number | null;
	/** All that are known, by name. */
	readonly hosts: readonly FleetHostStatus[];
}

/** No host is called so. */
export const NO_HOST = "this machine";
