// Who asks over the fleet: known by the subject on which it may publish, never by what a message says.

import type { Role } from "../tools/client.ts";

export interface FleetIdentity {
	readonly role: Role;
	/** Null: all owners. */
	readonly owner: string | null;
	/** The host from which it asks, if it said so; for words only. */
	readonly from?: string;
}
