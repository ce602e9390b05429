// How a client reaches the daemon: connects to whoever sits in the newest lock,
// or starts one and waits for its word. Two that start at once meet in one daemon.

import { Fault } from "../protocol/fault.ts";
import type { Caller } from "../tools/tool.ts";
import { isHeld, newestLock } from "./daemon-lock.ts";
import { SocketClient } from "./socket-client.ts";

export interface ReachOptions {
	/** Where the seats are. */
	readonly run: string;
	readonly version: string;
	readonly caller: Caller;
	/** The command that runs a daemon, started when there is none. */
	readonly command: readonly string[];
	/** Where the daemon lives; its sessions do not inherit it. */
	readonly env: NodeJS.ProcessEnv;
	/** Take a daemon of another version too: to ask for its status or to stop it. */
	readonly anyVersion?: boolean;
}

/** The running daemon, or null. */
export async function findDaemon({ run, caller, version, anyVersion }: ReachOptions): Promise<SocketClient | null> {
	const lock = newestLock(run);
	if (lock === null || !isHeld(lock)) return null;
	let client: SocketClient;
	let theirs: string;
	try {
		client = await SocketClient.connect(lock.socket, caller);
		theirs = (await client.hello(version)).version;
	} catch {
		return null; // it has taken its lock and does not listen yet, or is just going
	}
	if (theirs !== version && anyVersion !== true) {
		await client[Symbol.asyncDispose]();
		throw new Fault("version_mismatch", { ours: version, theirs });
	}
	return client;
}

/** The daemon, started if need be. */
export async function reachDaemon(options: ReachOptions): Promise<SocketClient> {
	const found = await findDaemon(options);
	if (found !== null) return found;
	// Imported only now: a client that finds its daemon should start as fast as node itself.
	await (await import("./start.ts")).startDaemon(options);
	const started = await findDaemon(options);
	if (started === null) throw new Fault("no_daemon", { problem: "it was started and is gone again; see its log" });
	return started;
}
