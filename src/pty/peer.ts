// The process at the other end of a unix socket, by the kernel's word: below which holder it runs, and
// whether it is confined in a way that this process is not. Looked at once for each connection.

import { readlinkSync } from "node:fs";
import { readlink } from "node:fs/promises";
import type { Socket } from "node:net";
import { connectedPid, isPeerAlive } from "./native.ts";
import { canBeRead, identityOf, type ProcessIdentity, privilegesOf, statusOf } from "./process-stat.ts";
import { isHolder } from "./process-tree.ts";

export interface Peer {
	/** The holders above it, the nearest first: of whatever home. */
	readonly holders: readonly ProcessIdentity[];
	/** How it is confined and this process is not; null where it is not, or where the system does not tell. */
	readonly confined: string | null;
}

/** Those that confine, with what people call them. */
export const NAMESPACES = { user: "user", pid: "PID", mnt: "mount", net: "network" } as const;
/** A chain of parents is seldom longer than ten; this only ends a loop that pids used twice could make. */
const MOST_PARENTS = 10_000;

/** Fails closed: what is gone or cannot be looked at counts as confined. */
export async function peerOf(socket: Socket): Promise<Peer> {
	const pid = connectedPid(socket);
	if (pid === null) return { holders: [], confined: null };
	// The kernel has no number for it that would mean anything here.
	if (pid === 0) return { holders: [], confined: "you are in another PID namespace" };
	const holders = holdersAbove(pid);
	const confined = (await canBeRead([pid])) ? await confinementOf(pid) : "your process cannot be looked at";
	// All of that was about the process that connected only if it still has its number.
	return isPeerAlive(socket) ? { holders, confined } : { holders, confined: "the process that connected is gone" };
}

function holdersAbove(pid: number): readonly ProcessIdentity[] {
	const found: ProcessIdentity[] = [];
	let at = pid;
	for (let i = 0; at > 1 && i < MOST_PARENTS; i++) {
		if (isHolder(at)) found.push(identityOf(at));
		at = statusOf(at)?.parent ?? 0;
	}
	return found;
}

async function confinementOf(pid: number): Promise<string | null> {
	for (const [name, called] of Object.entries(NAMESPACES)) {
		const [theirs, ours] = await Promise.all([namespaceOf(pid, name), namespaceOf("self", name)]);
		if (theirs === null) return "your process cannot be looked at";
		if (theirs !== ours) return `you are in another ${called} namespace`;
	}
	const isBound = (of: number) => privilegesOf(of)?.noNew !== false;
	return isBound(pid) && !isBound(process.pid) ? "no_new_privs is set for you" : null;
}

const namespaceOf = (pid: number | "self", name: string): Promise<string | null> =>
	readlink(`/proc/${pid}/ns/${name}`).catch(() => null);

/** One of this process's own; null where the system does not tell. */
export function ownNamespace(name: string): string | null {
	try {
		return readlinkSync(`/proc/self/ns/${name}`);
	} catch {
		return null; // not Linux, or no /proc
	}
}
