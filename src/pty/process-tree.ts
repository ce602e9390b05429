// What the operating system says about a session's processes: who descends from
// whom, where they are, on which ports they listen. From /proc on Linux; empty
// elsewhere. A process may end between two looks, so every look may find nothing.

import { readdir, readFile, readlink } from "node:fs/promises";

/** All processes below `pid`, without it, parents before children. */
export async function descendants(pid: number): Promise<number[]> {
	const found: number[] = [];
	const seen = new Set([pid]);
	for (let next = [pid]; next.length > 0; ) {
		const children = (await Promise.all(next.map(childrenOf))).flat().filter((child) => !seen.has(child));
		for (const child of children) seen.add(child);
		found.push(...children);
		next = children;
	}
	return found;
}

async function childrenOf(pid: number): Promise<number[]> {
	const threads = await list(`/proc/${pid}/task`);
	const lines = await Promise.all(threads.map((tid) => text(`/proc/${pid}/task/${tid}/children`)));
	return lines.flatMap((line) => line.split(" ").filter(Boolean).map(Number));
}

/** Where a process works now; null when it is gone or not ours to ask. */
export async function workingDirectory(pid: number): Promise<string | null> {
	return link(`/proc/${pid}/cwd`);
}

/** What a process was started as, arguments and all; null when it is gone or a zombie. */
export async function commandLine(pid: number): Promise<string | null> {
	return (await text(`/proc/${pid}/cmdline`)).replace(/\0+$/, "").replaceAll("\0", " ") || null;
}

/** A process's group, and the group that has its terminal. */
export async function processGroups(pid: number): Promise<{ own: number; foreground: number } | null> {
	// The name in parentheses may contain anything, also parentheses.
	const [, , own, , , foreground] = (await text(`/proc/${pid}/stat`)).replace(/^.*\) /s, "").split(" ");
	return own === undefined || foreground === undefined ? null : { own: Number(own), foreground: Number(foreground) };
}

/** The TCP ports on which any of these processes listens, in order. */
export async function listeningPorts(pids: readonly number[]): Promise<number[]> {
	const ports = new Set<number>();
	const tables = new Map<string, Promise<Map<string, number>>>();
	await Promise.all(
		pids.map(async (pid) => {
			const sockets = await socketsOf(pid);
			if (sockets.length === 0) return;
			// A sandboxed process lives in a network of its own, with tables of its own.
			const network = (await link(`/proc/${pid}/ns/net`)) ?? "";
			if (!tables.has(network)) tables.set(network, listeners(pid));
			const listening = await tables.get(network)!;
			for (const socket of sockets) {
				const port = listening.get(socket);
				if (port !== undefined) ports.add(port);
			}
		}),
	);
	return [...ports].sort((a, b) => a - b);
}

async function socketsOf(pid: number): Promise<string[]> {
	const links = await Promise.all((await list(`/proc/${pid}/fd`)).map((fd) => link(`/proc/${pid}/fd/${fd}`)));
	return links.flatMap((it) => /^socket:\[(\d+)\]$/.exec(it ?? "")?.[1] ?? []);
}

const LISTEN = "0A";

/** Listening sockets by inode, as a process sees them. */
async function listeners(pid: number): Promise<Map<string, number>> {
	const found = new Map<string, number>();
	for (const table of await Promise.all(["tcp", "tcp6"].map((name) => text(`/proc/${pid}/net/${name}`)))) {
		for (const line of table.split("\n").slice(1)) {
			const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
			if (state === LISTEN && inode) found.set(inode, Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16));
		}
	}
	return found;
}

// Gone, not Linux, or not allowed: there is nothing to be seen.
const list = (path: string) => readdir(path).catch((): string[] => []);
const text = (path: string) => readFile(path, "utf8").catch(() => "");
const link = (path: string) => readlink(path).catch(() => null);
