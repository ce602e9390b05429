// How a client reaches the daemon: connects to the process that holds the newest lock,
// or starts one and waits until it is ready. Two clients that start one at once share it.

import { Fault } from "../protocol/fault.ts";
import { checkPrivate } from "../pty/private-directory.ts";
import type { Caller } from "../tools/tool.ts";
import { isHeld, newestLock } from "./daemon-lock.ts";
import { SocketClient } from "./socket-client.ts";

export interface ReachOptions {
	/** The directory of the locks. */
	readonly run: string;
	readonly version: string;
	readonly caller: Caller;
	/** The command that runs a daemon, started when there is none. */
	readonly command: readonly string[];
	/** The daemon gets the part of it that is its own; its sessions inherit nothing of it. */
	readonly env: NodeJS.ProcessEnv;
	/** How long a daemon may take to start; then it is killed. */
	readonly readyTimeoutMs?: number;
	/** Take a daemon of another version too: to ask for its status or to stop it. */
	readonly anyVersion?: boolean;
}

/** The running daemon, or null. */
export async function findDaemon({ run, caller, version, anyVersion }: ReachOptions): Promise<SocketClient | null> {
	if (!checkPrivate(run)) return null;
	const lock = newestLock(run);
	if (lock === null || !isHeld(lock)) return null;
	let client: SocketClient;
	let theirs: string;
	try {
		client = await SocketClient.connect(lock.socket, caller);
		theirs = (await client.hello(version)).version;
	} catch (error) {
		if (error instanceof Fault && error.code === "foreign_daemon") throw error;
		return null; // it has taken its lock and does not listen yet, or is just stopping
	}
	if (theirs !== version && anyVersion !== true) {
		await client[Symbol.asyncDispose]();
		throw new Fault("version_mismatch", { ours: version, theirs });
	}
	return client;
}

/** The daemon, started if necessary. */
export async function reachDaemon(options: ReachOptions): Promise<SocketClient> {
	const found = await findDaemon(options);
	if (found !== null) return found;
	// Imported only now: a client that finds its daemon should start as fast as node itself.
	await (await import("./start.ts")).startDaemon(options);
	const started = await findDaemon(options);
	if (started === null) throw new Fault("no_daemon", { problem: "it exited right after its start; see its log" });
	return started;
}
