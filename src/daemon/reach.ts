// How a client reaches the daemon: connects to whoever sits in the newest seat,
// or starts one and waits for its word. Two that start at once meet in one daemon.

import { Fault } from "../protocol/fault.ts";
import type { Caller } from "../tools/tool.ts";
import { SocketExchange } from "./client.ts";
import { isTaken, newestSeat } from "./seat.ts";

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
export async function findDaemon({ run, caller, version, anyVersion }: ReachOptions): Promise<SocketExchange | null> {
	const seat = newestSeat(run);
	if (seat === null || !isTaken(seat)) return null;
	let exchange: SocketExchange;
	let theirs: string;
	try {
		exchange = await SocketExchange.connect(seat.socket, caller);
		theirs = (await exchange.hello(version)).version;
	} catch {
		return null; // it has taken its seat and does not listen yet, or is just going
	}
	if (theirs !== version && anyVersion !== true) {
		await exchange[Symbol.asyncDispose]();
		throw new Fault("version_mismatch", { ours: version, theirs });
	}
	return exchange;
}

/** The daemon, started if need be. */
export async function reachDaemon(options: ReachOptions): Promise<SocketExchange> {
	const found = await findDaemon(options);
	if (found !== null) return found;
	// Imported only now: a client that finds its daemon should start as fast as node itself.
	await (await import("./start.ts")).startDaemon(options);
	const started = await findDaemon(options);
	if (started === null) throw new Fault("no_daemon", { problem: "it was started and is gone again; see its log" });
	return started;
}
