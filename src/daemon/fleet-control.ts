// What the daemon's socket can have done to its membership in a fleet. Whoever starts the daemon makes it.

import type { FleetStatus, FleetWish } from "../protocol/fleet.ts";

export interface FleetControl {
	/** Null where it is a member of none. */
	status(): FleetStatus | null;
	/** Joins, in the place of the fleet before. Throws where that fails; then everything is as it was. */
	join(wish: FleetWish): Promise<FleetStatus>;
	leave(): Promise<void>;
	/** Removes what is kept of a host that is gone for good; how many sessions that were. */
	forget(host: string): Promise<number>;
}
