// The machines of a fleet as the page shows them: which there are, whether they are heard of, and what of it concerns a
// session. Pure; drawing is in view/.

import type { FleetHostStatus } from "../../src/protocol/fleet.ts";
import type { FleetSeen } from "../../src/protocol/session-list.ts";
import type { Lost } from "./lost.ts";
import { isOver, type PersonSession } from "./person-session.ts";

export interface Machine {
	readonly name: string;
	/** The page's own. */
	readonly isThis: boolean;
	/** Null: it is reachable. */
	readonly lost: Lost | null;
	/** Of its sessions: those that are open. */
	readonly open: number;
	/** More about it, for who asks. */
	readonly details: string;
}

/** Its own machine first, then by name; none where there is no fleet. */
export function machinesOf(fleet: FleetSeen | null, sessions: Iterable<PersonSession>): readonly Machine[] {
	if (fleet === null) return [];
	const open = new Map<string, number>();
	for (const session of sessions) {
		const host = session.host ?? fleet.host;
		if (!isOver(session)) open.set(host, (open.get(host) ?? 0) + 1);
	}
	const machine = (status: FleetHostStatus): Machine => ({
		name: status.host,
		isThis: status.host === fleet.host,
		lost: lostOf(fleet, status.host),
		open: open.get(status.host) ?? 0,
		details: detailsOf(status),
	});
	// Before its first lease it is not among those that are known.
	const isKnown = fleet.hosts.some(({ host }) => host === fleet.host);
	const own = isKnown ? [] : [{ ...UNTOLD, host: fleet.host }];
	return [...own, ...fleet.hosts].map(machine).toSorted((a, b) => Number(b.isThis) - Number(a.isThis));
}

const UNTOLD: Omit<FleetHostStatus, "host"> = {
	reachable: true,
	since: null,
	version: null,
	labels: {},
	running: null,
	capacity: null,
	load: null,
};

/** Why nothing can be done with a machine from here. With this one it always can. */
export function lostOf(fleet: FleetSeen | null, host: string | undefined): Lost | null {
	if (fleet === null || host === undefined || host === fleet.host) return null;
	const status = fleet.hosts.find((one) => one.host === host);
	if (status?.reachable === false) return { since: status.since };
	if (fleet.awaySince !== null) return { since: fleet.awaySince };
	const { version: theirs = null, ours } = status ?? {};
	return theirs === null || ours === undefined ? null : { theirs, ours };
}

function detailsOf({ running, capacity, load, version, labels }: FleetHostStatus): string {
	return [
		running !== null && `${running}${capacity === null ? "" : ` of ${capacity}`} sessions`,
		load !== null && `load ${load}`,
		...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
		version !== null && `Dialtone ${version}`,
	]
		.filter(Boolean)
		.join(" · ");
}
