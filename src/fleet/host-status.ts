import type { FleetHostStatus } from "../protocol/fleet.ts";
import type { HostView } from "./view.ts";

/** What people are told of a host. */
export const hostStatus = ({ host, lease, reachable, since }: HostView): FleetHostStatus => ({
	host,
	reachable,
	since,
	version: lease?.version ?? null,
	labels: lease?.labels ?? {},
	running: lease?.running ?? null,
	capacity: lease?.capacity.sessions ?? null,
	load: lease?.load ?? null,
});
