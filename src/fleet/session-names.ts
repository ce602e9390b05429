// The names of hosts and of their sessions: `host/name` and `host/id`, and the keys under which the broker keeps them.

import { isHostName, keyToken } from "./subjects.ts";

export interface HostReference {
	readonly host: string;
	/** The session's name or id there. */
	readonly session: string;
}

/** A reference to a session of a host that `isKnown`; null where it means a local one. Also as headers write it. */
export function splitReference(reference: string, isKnown: (host: string) => boolean): HostReference | null {
	const plain = reference.trim().replace(/^\[(.+)\]$/, "$1");
	const at = plain.indexOf("/");
	if (at < 1 || at === plain.length - 1) return null;
	const host = plain.slice(0, at).toLowerCase();
	return isHostName(host) && isKnown(host) ? { host, session: plain.slice(at + 1) } : null;
}

export const joinReference = (host: string, session: string): string => `${host}/${session}`;

export const sessionKey = (host: string, owner: string | null, id: string): string =>
	`${host}.${keyToken(owner ?? "")}.${id}`;

/** As `sessionKey` makes it: in a place of its own anything could be written. */
const KEY = /^([^.]+)\.([A-Za-z0-9_=-]+\.([A-Za-z0-9_-]{1,100}))$/;

/** The host in a key, and the rest of it; null where it is no key of a session. */
export function splitKey(key: string): { readonly host: string; readonly rest: string; readonly id: string } | null {
	const [, host = "", rest = "", id = ""] = KEY.exec(key) ?? [];
	return isHostName(host) ? { host, rest, id } : null;
}
