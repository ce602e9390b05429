// A daemon runs where the sessions were started that it finds running: in the same namespaces, and no less free. One that
// a confined caller has started, because none ran, would otherwise give it all of them.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { Fault } from "../protocol/fault.ts";
import { bootId } from "../pty/boot-id.ts";
import { NAMESPACES, ownNamespace } from "../pty/peer.ts";
import { privilegesOf } from "../pty/process-stat.ts";
import { within } from "../pty/wait.ts";
import { holderSockets, type LockPlaces } from "./daemon-lock.ts";
import { readPrivate } from "./private-file.ts";

const FILE = "daemon-place";
const MAX_BYTES = 4096;
const CONNECT_MS = 1000;

/** Where the last daemon ran. */
interface Place {
	readonly boot: string;
	/** By their short names; null where the system does not tell. */
	readonly namespaces: Readonly<Record<string, string | null>>;
	readonly noNewPrivileges: boolean;
}

export interface DaemonPlaces extends LockPlaces {
	/** The policy lets callers of other namespaces in: then a daemon may be there, too. */
	readonly mayBeElsewhere?: () => boolean;
}

/** Throws `caller_confined` where sessions run that another place's daemon had. */
export async function mustBeBesideSessions({ run, state, mayBeElsewhere }: DaemonPlaces): Promise<void> {
	const before = lastPlace(state);
	const why = before === null ? null : difference(before, ownPlace());
	if (why === null || mayBeElsewhere?.() || !(await anyHolderListens(run))) return;
	throw new Fault("caller_confined", { why });
}

export function rememberPlace(state: string): void {
	const draft = join(state, `.${FILE}.${process.pid}`);
	try {
		const text = JSON.stringify(ownPlace());
		writeFileSync(draft, `${sumOf(text)}\n${text}`, { mode: 0o600 });
		renameSync(draft, join(state, FILE));
	} catch {
		rmSync(draft, { force: true }); // a full disk: the next daemon is compared with the one before
	}
}

function ownPlace(): Place {
	const namespaces = Object.fromEntries(Object.keys(NAMESPACES).map((name) => [name, ownNamespace(name)]));
	return { boot: bootId(), namespaces, noNewPrivileges: privilegesOf(process.pid)?.noNew === true };
}

/** A damaged file must not look like another place, in which no daemon would start. */
const sumOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** Null where there is none (an earlier version wrote none), or where it is damaged. */
function lastPlace(state: string): Place | null {
	try {
		const [sum, text = ""] = readPrivate(join(state, FILE), MAX_BYTES).split("\n", 2);
		return sum === sumOf(text) ? (JSON.parse(text) as Place) : null;
	} catch {
		return null;
	}
}

/** How this process is confined compared to there; null where it is not, or where the machine was started anew. */
function difference(there: Place, here: Place): string | null {
	if (there.boot !== here.boot) return null;
	for (const [name, called] of Object.entries(NAMESPACES)) {
		const [theirs, ours] = [there.namespaces[name] ?? null, here.namespaces[name] ?? null];
		if (theirs !== null && ours !== null && theirs !== ours) return `you are in another ${called} namespace`;
	}
	return here.noNewPrivileges && !there.noNewPrivileges ? "no_new_privs is set for you" : null;
}

/** Sockets of holders that were killed stay behind. */
export async function anyHolderListens(run: string): Promise<boolean> {
	for (const path of holderSockets(run)) {
		const socket = createConnection(path);
		try {
			await within(CONNECT_MS, "connecting", once(socket, "connect"));
			return true;
		} catch {
			// nobody listens there
		} finally {
			socket.destroy();
		}
	}
	return false;
}
