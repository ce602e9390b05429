// A session's processes: descendants, working directories, listening ports. From
// /proc on Linux; empty elsewhere. A process may exit between two reads, so every
// read may find nothing.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** All processes below `pid`, without it, parents before children. */
export async function descendants(pid: number): Promise<number[]> {
	const found: number[] = [];
	const seen = new Set([pid]);
	for (let next = [pid]; next.length > 0; ) {
		const children = next.flatMap(childrenOf).filter((child) => !seen.has(child));
		for (const child of children) seen.add(child);
		found.push(...children);
		next = children;
	}
	return found;
}

function childrenOf(pid: number): number[] {
	const lines = list(`/proc/${pid}/task`).map((tid) => text(`/proc/${pid}/task/${tid}/children`));
	return lines.flatMap((line) => line.split(" ").filter(Boolean).map(Number));
}

/** A process's working directory; null when it is gone or not readable. */
export async function workingDirectory(pid: number): Promise<string | null> {
	return link(`/proc/${pid}/cwd`);
}

/** A process's command line; null when it is gone or a zombie. */
export async function commandLine(pid: number): Promise<string | null> {
	return text(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trimEnd() || null;
}

/** A process's group, and the group that has its terminal. */
export async function processGroups(pid: number): Promise<{ own: number; foreground: number } | null> {
	// The name in parentheses may contain anything, also parentheses.
	const [, , own, , , foreground] = text(`/proc/${pid}/stat`)
		.replace(/^.*\) /s, "")
		.split(" ");
	return own === undefined || foreground === undefined ? null : { own: Number(own), foreground: Number(foreground) };
}

/** Whether any of these processes is in this group and has not ended. */
export const hasLiving = (pids: readonly number[], group: number): boolean =>
	pids.some((pid) => {
		const [, state, own] = /\) (\S) \d+ (\d+) /.exec(text(`/proc/${pid}/stat`)) ?? [];
		return state !== undefined && !/[ZX]/.test(state) && Number(own) === group;
	});

/** Whether a process is running or runnable; false when it sleeps, is stopped or gone. */
export const isRunnable = (pid: number): boolean => /\) R /.test(text(`/proc/${pid}/stat`));

/** The holder of a session, by its main program; 0 if unknown. */
export function holderOf(pid: number): number {
	const parent = Number(/\) \S (\d+) /.exec(text(`/proc/${pid}/stat`))?.[1] ?? 0);
	return text(`/proc/${parent}/comm`).startsWith("dialtone-holder") ? parent : 0;
}

/** The TCP ports on which any of these processes listens, in order. */
export async function listeningPorts(pids: readonly number[]): Promise<number[]> {
	const ports = new Set<number>();
	const tables = new Map<string, Map<string, number>>();
	for (const pid of pids) {
		const sockets = socketsOf(pid);
		if (sockets.length === 0) continue;
		// A sandboxed process has its own network namespace, with its own tables.
		const network = link(`/proc/${pid}/ns/net`) ?? "";
		const listening = tables.get(network) ?? listeners(pid);
		tables.set(network, listening);
		for (const socket of sockets) {
			const port = listening.get(socket);
			if (port !== undefined) ports.add(port);
		}
	}
	return [...ports].sort((a, b) => a - b);
}

function socketsOf(pid: number): string[] {
	const links = list(`/proc/${pid}/fd`).map((fd) => link(`/proc/${pid}/fd/${fd}`));
	return links.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target ?? "")?.[1] ?? []);
}

const LISTEN = "0A";

/** Ports of the listening sockets in a process's network namespace, by inode. */
function listeners(pid: number): Map<string, number> {
	const found = new Map<string, number>();
	for (const table of ["tcp", "tcp6"].map((name) => text(`/proc/${pid}/net/${name}`))) {
		for (const line of table.split("\n").slice(1)) {
			const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
			if (state === LISTEN && inode) found.set(inode, Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16));
		}
	}
	return found;
}

// Read synchronously, not through the thread pool: /proc answers from memory in microseconds, while a dozen trips
// through the pool, one after another, took 1.4 ms of every answer (0.1 ms like this) and 20 ms on a busy machine.
const list = (path: string) => orElse([], () => readdirSync(path));
const text = (path: string) => orElse("", () => readFileSync(path, "utf8"));
const link = (path: string) => orElse(null, () => readlinkSync(path));

function orElse<T, F>(nothing: F, read: () => T): T | F {
	try {
		return read();
	} catch {
		return nothing; // gone, not Linux, or not permitted
	}
}
