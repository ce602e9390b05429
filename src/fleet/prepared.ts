// How to join as a person has asked for it: their words, and what the credentials say.

import { hostname } from "node:os";
import { Fault } from "../protocol/fault.ts";
import type { FleetWish } from "../protocol/fleet.ts";
import { authenticatorOf } from "./authenticator.ts";
import type { FleetOptions } from "./connection.ts";
import { readCredentials } from "./credentials.ts";
import { hostNameOf, isHostName } from "./subjects.ts";

/** What the credentials say. */
export interface Prepared {
	readonly options: FleetOptions;
	/** Whether it is a host of the fleet. */
	readonly serves: boolean;
	/** Whether it may ask of other hosts. */
	readonly asks: boolean;
	/** Whether it may make what the servers are to keep. */
	readonly makes: boolean;
}

/** Throws where the credentials cannot be used, or say something else. */
export function prepared(wish: FleetWish): Prepared {
	const credentials = wish.credentials === undefined ? null : readCredentials(wish.credentials);
	const member = credentials?.member ?? null;
	const bad = (problem: string) => new Fault("bad_input", { problems: [problem] });
	const servers = wish.servers.length > 0 ? wish.servers : (member?.servers ?? []);
	if (servers.length === 0) throw bad("the credentials name no server: give one, such as nats://127.0.0.1:4222");
	const only = member === null || member.host === "*" ? null : member.host;
	const host = wish.host ?? only ?? hostNameOf(hostname());
	if (!isHostName(host)) throw bad(`"${host}" is no name of a host: letters a-z, digits and -, at most 63`);
	if (only !== null && host !== only) throw bad(`these credentials are for the host "${only}"`);
	const role = member?.role ?? "admin";
	return {
		options: {
			servers,
			...(credentials !== null && {
				authenticator: authenticatorOf(credentials),
				inboxPrefix: credentials.inboxPrefix,
			}),
			...(member?.ca !== undefined && { tls: { ca: member.ca } }),
			host,
			labels: wish.labels,
			as: { role: role === "host" ? "view" : role, owner: member?.owner ?? null },
		},
		// Without credentials of ours the server decides.
		serves: member === null || member.host !== null,
		asks: role !== "host",
		makes: member === null || member.host !== null || role === "admin",
	};
}
