import type { FleetHostStatus } from "../protocol/fleet.ts";
import type { HostView } from "./view.ts";

/** Whether a host's daemon is of another version than this one, `ours`: they do not talk to each other. */
export const isOfOtherVersion = ({ lease }: Pick<HostView, "lease">, ours: string): boolean =>
	lease !== null && lease.version !== ours;

/** What people are told of a host. `lostSince`: of the servers, without which nothing is known of it now. */
export const hostStatus = (view: HostView, ours: string, lostSince: number | null = null): FleetHostStatus => {
	const { host, lease, reachable, since } = view;
	return {
		host,
		reachable: reachable && lostSince === null,
		since: reachable && lostSince !== null ? lostSince : since,
		version: lease?.version ?? null,
		...(isOfOtherVersion(view, ours) && { ours }),
		labels: lease?.labels ?? {},
		running: lease?.running ?? null,
		capacity: lease?.capacity.sessions ?? null,
		load: lease?.load ?? null,
	};
};
