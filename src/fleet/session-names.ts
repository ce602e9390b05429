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

/** The host in a key, and the rest of it; null where it is no key of a session. */
export function splitKey(key: string): { readonly host: string; readonly rest: string; readonly id: string } | null {
	const first = key.indexOf(".");
	const last = key.lastIndexOf(".");
	if (first < 1 || last <= first) return null;
	return { host: key.slice(0, first), rest: key.slice(first + 1), id: key.slice(last + 1) };
}
