// What a person and the daemon say to each other of a fleet: how to join one, and what is known of it.

/** How to join. Paths are absolute. */
export interface FleetWish {
	/** Of NATS: `nats://host:port`, `tls://host:port`. None: those in the credentials. */
	readonly servers: readonly string[];
	/** The file with the key, as `dialtone fleet init` writes it, or one of NATS. */
	readonly credentials?: string;
	/** What this host is called there. Without it: as the credentials say, or as the machine. */
	readonly host?: string;
	readonly labels: Readonly<Record<string, string>>;
}

/** Of the problems of a member, those that a person has to put right. */
export const REFUSED = "its servers refuse the credentials";

export const UNHEARD = "its servers answer, and keep nothing: they have no majority, or no room on their disks";
export const TAKEN =
	"another machine or user is in the fleet under this name, and its sessions are the ones that others reach";

export interface FleetHostStatus {
	readonly host: string;
	readonly reachable: boolean;
	/** Since when it is reachable, or not heard of. Ms since 1970; null where that is not known. */
	readonly since: number | null;
	readonly version: string | null;
	/** The version of the machine that tells it, where that is another one: what it has cannot be used from there. */
	readonly ours?: string;
	readonly labels: Readonly<Record<string, string>>;
	/** Sessions that run, and how many it takes; null where it has not said so. */
	readonly running: number | null;
	readonly capacity: number | null;
	/** Processes that want to run, for each of its processors. */
	readonly load: number | null;
}

export interface FleetStatus {
	/** This host's name; null where it is in the credentials, and they cannot be read. */
	readonly host: string | null;
	readonly servers: readonly string[];
	/** Null where the credentials cannot be read. */
	readonly role: string | null;
	/** Null: all owners. */
	readonly owner: string | null;
	/** Whether it is a host of the fleet: one that only asks is none. */
	readonly serves: boolean;
	readonly labels: Readonly<Record<string, string>>;
	readonly connected: boolean;
	/** Why it is not connected, where that is known, or what is wrong though it is. */
	readonly problem: string | null;
	/** Since when it is connected, or away. */
	readonly since: number;
	readonly hosts: readonly FleetHostStatus[];
}
