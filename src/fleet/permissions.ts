// What each user of the fleet may publish and subscribe: the one declaration, from which the server's configuration
// is made and against which the tests try every subject with a real server.
//
// A tenant has two accounts. In `<tenant>` are all its users and the subjects `dt.>`; in `<tenant>_store`, which has no
// users, are the buckets and the event stream, reached through imports. The reason: a server sends the answer to a
// JetStream request to whatever reply subject the asker names, unchecked. In one account, whoever may read a key could
// delete a stream or write another's record that way; across an import the answer does not enter the store again.

import { ABILITIES } from "../tools/abilities.ts";
import type { Role } from "../tools/client.ts";
import { ALL_OWNERS, tokenOf } from "./subjects.ts";

/** `host` serves sessions and asks nothing; the others ask. One that asks may be a host, too (`FleetUser.host`). */
export const FLEET_ROLES = ["host", "admin", "drive", "view", "approve"] as const satisfies readonly (Role | "host")[];
export type FleetRole = (typeof FLEET_ROLES)[number];

/** Whom a credential is for. */
export interface FleetGrant {
	readonly role: FleetRole;
	/** Whose sessions; null: all owners'. */
	readonly owner: string | null;
	/** The host as which it may serve, `*`: any; null: none. */
	readonly host: string | null;
}

export interface Permissions {
	readonly publish: readonly string[];
	readonly subscribe: readonly string[];
}

/** The JetStream streams of a tenant: three buckets, and the events. */
export const STREAMS = {
	hosts: "KV_dt_hosts",
	sessions: "KV_dt_sessions",
	pins: "KV_dt_pins",
	events: "DT_EVENTS",
} as const;

/** What the store offers to the tenant's users, each within its permissions. */
export const STORE_SERVICES = [
	"$JS.API.>",
	"$JS.FC.>",
	"$KV.dt_hosts.>",
	"$KV.dt_sessions.>",
	"$KV.dt_pins.>",
	"dt.event.>",
] as const;
/** Where it delivers what they watch. */
export const STORE_DELIVERIES = "_INBOX.>";

/** Where a user's answers arrive: nobody else may subscribe to it. The connection has to be made with it. */
export const inboxPrefix = (publicKey: string): string => `_INBOX.${publicKey}`;

/**
 * Where hosts answer that a link is open, and nothing else arrives. They may not publish to the other inboxes of a user: there
 * the client library takes some messages for the server's own, and answers them with its user's rights, where they say.
 */
const OPENED_INBOXES = "_INBOX.*.opened.*";
export const openedInbox = (prefix: string, id: string): string => `${prefix}.opened.${id}`;
export const isOpenedInbox = (subject: string): boolean => /^_INBOX\.[^.*>\s]+\.opened\.[^.*>\s]+$/.test(subject);

/** What is not in these lists is refused. */
export function permissionsOf(grant: FleetGrant, publicKey: string): Permissions {
	const parts = [
		{ publish: [], subscribe: [`${inboxPrefix(publicKey)}.>`] },
		READING_HOSTS,
		...(grant.role === "host" ? [] : [asking(grant.role, grant.owner)]),
		...(grant.role === "admin" ? [ADMINISTERING] : []),
		...(grant.host === null ? [] : [serving(grant.host)]),
	];
	const all = (kind: keyof Permissions) => [...new Set(parts.flatMap((part) => part[kind]))];
	return { publish: all("publish"), subscribe: all("subscribe") };
}

/**
 * A key by its name, and a consumer of exactly this filter: the server compares it with that of the request. Never
 * `STREAM.MSG.GET` or `DIRECT.GET` without a key, which take any sequence number. Consumers have random names and are listed to
 * admins only, so to have asked about one is to have made it.
 */
const reading = (stream: string, ...subjects: readonly string[]): readonly string[] => [
	...subjects.flatMap((subject) => [
		`$JS.API.CONSUMER.CREATE.${stream}.*.${subject}`,
		...(stream === STREAMS.events ? [] : [`$JS.API.DIRECT.GET.${stream}.${subject}`]),
	]),
	`$JS.API.CONSUMER.INFO.${stream}.*`,
	`$JS.API.CONSUMER.DELETE.${stream}.*`,
	`$JS.FC.${stream}.>`,
];

const READING_HOSTS: Permissions = { publish: reading(STREAMS.hosts, "$KV.dt_hosts.>"), subscribe: [] };

function asking(role: Role, owner: string | null): Permissions {
	const asked = `${role}.${owner === null ? ALL_OWNERS : tokenOf(owner)}`;
	const read = owner === null ? "*" : tokenOf(owner);
	return {
		publish: [
			`dt.open.*.${asked}`,
			`dt.up.*.${asked}.*`,
			...reading(STREAMS.sessions, `$KV.dt_sessions.*.${read}.>`, ...(owner === null ? ["$KV.dt_sessions.>"] : [])),
			...reading(STREAMS.events, `dt.event.*.${read}.>`, ...(owner === null ? ["dt.event.>"] : [])),
			// Where its starts were placed: an owner's own.
			...(ABILITIES[role].includes("starts")
				? [`$KV.dt_pins.${read}.*.*`, `$JS.API.DIRECT.GET.${STREAMS.pins}.$KV.dt_pins.${read}.*.*`]
				: []),
		],
		subscribe: [`dt.down.${asked}.*`],
	};
}

function serving(host: string): Permissions {
	return {
		publish: [
			// Only there: what a client names as its reply is not to be written with the host's rights.
			OPENED_INBOXES,
			"dt.down.>",
			`dt.event.${host}.*.*`,
			`$KV.dt_hosts.${host}`,
			`$KV.dt_sessions.${host}.*.*`,
			...reading(STREAMS.sessions, `$KV.dt_sessions.${host}.>`),
			// Any host makes the buckets and the stream when it finds none.
			"$JS.API.INFO",
			...Object.values(STREAMS).flatMap((stream) => [
				`$JS.API.STREAM.INFO.${stream}`,
				`$JS.API.STREAM.CREATE.${stream}`,
			]),
		],
		subscribe: [`dt.open.${host}.*.*`, `dt.up.${host}.*.*.*`],
	};
}

/** An admin's machine also asks for those who have a token of it for one owner: on other hosts it is then no more than that owner's. */
const ADMINISTERING: Permissions = {
	publish: [
		"dt.open.*.drive.*",
		"dt.up.*.drive.*.*",
		// To remove what is kept of a host that is gone.
		"$KV.dt_hosts.*",
		"$KV.dt_sessions.*.*.*",
		"$JS.API.INFO",
		...Object.values(STREAMS).flatMap((stream) => [
			...["INFO", "CREATE", "UPDATE", "DELETE", "PURGE", "MSG.GET"].map((act) => `$JS.API.STREAM.${act}.${stream}`),
			...["LIST", "NAMES"].map((act) => `$JS.API.CONSUMER.${act}.${stream}`),
		]),
	],
	subscribe: ["dt.down.drive.*.*"],
};
