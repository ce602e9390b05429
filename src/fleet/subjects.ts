// The subjects of the fleet, made and read in one place. Whoever may publish on one is who its role and owner say:
// the server's permissions are written for these shapes.

import { createHash } from "node:crypto";
import { Fault } from "../protocol/fault.ts";
import { ROLES, type Role } from "../tools/client.ts";
import type { FleetIdentity } from "./identity.ts";

/** In place of an owner: all of them. No owner's name is encoded so. */
export const ALL_OWNERS = "_";
/** A subject with two of these is well below a server's line of 4096 bytes. */
const MAX_TOKEN_CHARS = 1000;
const MAX_HOST_CHARS = 63;
const HOST_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const LINK_ID = /^[0-9a-f]{32}$/;

export const isHostName = (text: string): boolean => HOST_NAME.test(text);

/** A machine's name, made to fit. */
export function hostNameOf(machine: string): string {
	const [first = ""] = machine.toLowerCase().split(".");
	const fitting = first.replaceAll(/[^a-z0-9-]+/g, "-").replace(/^-+/, "");
	return fitting.slice(0, MAX_HOST_CHARS) || "host";
}

/** Any text as one token of a subject: `[A-Za-z0-9_-]` is kept, the UTF-8 bytes of the rest are `=XX`. */
export function tokenOf(text: string): string {
	if (text === "") throw badName("is empty");
	const token = encoded(text);
	if (token === null) throw badName("is not valid text, or too long for a fleet");
	return token;
}

/** A name as a token of a key, for any text, also for none: what is not encoded has a digest. `==` is in no other token. */
export const keyToken = (text: string): string =>
	text === "" ? "==" : (encoded(text) ?? `==${createHash("sha256").update(text, "utf16le").digest("hex")}`);

/** Null where it would be too long, or could not be told apart. */
function encoded(text: string): string | null {
	if (/\p{Surrogate}/u.test(text)) return null;
	if (text === ALL_OWNERS) return "=5F";
	const token = text.replaceAll(/[^A-Za-z0-9_-]/gu, (character) =>
		[...Buffer.from(character)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
	);
	return token.length > MAX_TOKEN_CHARS ? null : token;
}

const badName = (what: string) => new Fault("bad_input", { problems: [`the owner's name ${what}`] });

/** The text of a token; null where `tokenOf` never makes it: one text has one token. */
export function textOf(token: string): string | null {
	if (!/^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/.test(token)) return null;
	const bytes = token.replaceAll(/=(..)|(.)/g, (_, hex: string | undefined, kept: string) =>
		hex === undefined ? Buffer.from(kept).toString("hex") : hex,
	);
	const text = Buffer.from(bytes, "hex").toString("utf8");
	try {
		return tokenOf(text) === token ? text : null;
	} catch {
		return null; // longer than any that is made
	}
}

const asker = ({ role, owner }: FleetIdentity) => `${role}.${owner === null ? ALL_OWNERS : tokenOf(owner)}`;

/** Requests to open a link. */
export const openSubject = (host: string, as: FleetIdentity) => `dt.open.${host}.${asker(as)}`;
export const allOpens = (host: string) => `dt.open.${host}.*.*`;
/** Frames from a client to a host. */
export const upSubject = (host: string, as: FleetIdentity, link: string) => `dt.up.${host}.${asker(as)}.${link}`;
export const allUps = (host: string) => `dt.up.${host}.*.*.*`;
/** Frames from a host to a client. */
export const downSubject = (as: FleetIdentity, link: string) => `dt.down.${asker(as)}.${link}`;

/** Who asks on this subject to open a link; null where nobody can be meant. */
export function askerIn(open: string): FleetIdentity | null {
	const [dt, kind, , role = "", owner = "", ...rest] = open.split(".");
	return dt === "dt" && kind === "open" && rest.length === 0 ? identityOf(role, owner) : null;
}

/** Whose frame this is, and of which link. */
export function linkIn(up: string): { readonly as: FleetIdentity; readonly link: string } | null {
	const [dt, kind, , role = "", owner = "", link = "", ...rest] = up.split(".");
	if (dt !== "dt" || kind !== "up" || rest.length > 0 || !LINK_ID.test(link)) return null;
	const as = identityOf(role, owner);
	return as && { as, link };
}

export const isLinkId = (text: unknown): text is string => typeof text === "string" && LINK_ID.test(text);

function identityOf(role: string, token: string): FleetIdentity | null {
	if (!isRole(role)) return null;
	const owner = token === ALL_OWNERS ? null : textOf(token);
	return owner === null && token !== ALL_OWNERS ? null : { role, owner };
}

const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text);
