// How a client reaches the daemon: connects to the process that holds the newest lock,
// or starts one and waits until it is ready. Two clients that start one at once share it.

import { setTimeout as delay } from "node:timers/promises";
import { Fault, isFault } from "../protocol/fault.ts";
import { isNewer } from "../protocol/version-order.ts";
import { checkPrivate } from "../pty/private-directory.ts";
import type { Caller } from "../tools/tool.ts";
import { isElsewhere, isHeld, newestLock } from "./daemon-lock.ts";
import { pinnedBefore } from "./pinned-http.ts";
import { SocketClient } from "./socket-client.ts";
import { type Done, portOf } from "./wire.ts";

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

/** A daemon with too many clients may close a new connection; how often to try, and how long to wait in between. */
const GREETINGS = 5;
const GREETING_MS = 100;
/** A daemon that was just started may be killed at once; not five times. */
const MAX_STARTS = 5;

/** The running daemon, or null. */
export async function findDaemon(options: ReachOptions): Promise<SocketClient | null> {
	const found = await greet(options);
	if (found === null) return null;
	const { client, theirs } = found;
	if (theirs === options.version || options.anyVersion === true) return client;
	await client[Symbol.asyncDispose]();
	throw new Fault("version_mismatch", { ours: options.version, theirs });
}

/**
 * The daemon, started if necessary. An older one is replaced: its sessions keep running, and its HTTP is opened again, as
 * is that of one which was killed.
 */
export async function reachDaemon(options: ReachOptions): Promise<SocketClient> {
	let before: DaemonBefore | null = null;
	let killed: DaemonBefore | null = null;
	for (let starts = 0; ; starts++) {
		const found = await greet(options);
		if (found !== null && (found.theirs === options.version || options.anyVersion === true)) {
			const again = before ?? killed;
			if (again !== null) await reopenHttp(found.client, again);
			return found.client;
		}
		if (starts === MAX_STARTS) throw new Fault("no_daemon", { problem: "it exits right after its start; see its log" });
		if (found !== null) {
			if (before !== null || !isNewer(options.version, found.theirs)) {
				await found.client[Symbol.asyncDispose]();
				throw new Fault("version_mismatch", { ours: options.version, theirs: found.theirs });
			}
			before = await stopForNext(found.client);
		}
		const pinned = pinnedBefore(options.run);
		if (pinned !== null) killed ??= { http: { ...pinned, pinned: true } };
		// Imported only now: a client that finds its daemon should start as fast as node itself.
		const { startDaemon } = await import("./start.ts");
		await startDaemon(options).catch((error: unknown) => {
			if (!isFault(error, "no_daemon") || error.facts.wasKilled !== true) throw error;
		});
	}
}

/** What the next daemon does again. */
export interface DaemonBefore {
	readonly http: Done["http"];
}

/** Stops a daemon that another one follows. */
export async function stopForNext(client: SocketClient): Promise<DaemonBefore> {
	await using daemon = client;
	try {
		// One of 0.1.0 tells its address only here.
		const { http: url } = await daemon.status();
		const { http = url === null ? null : { url, pinned: true } } = await daemon.stop({
			sessions: false,
			replace: true,
		});
		return { http };
	} catch (error) {
		if (isFault(error, "daemon_replaced")) return { http: null }; // it was faster
		throw error;
	}
}

/** Opens HTTP where the daemon before had it; another process may have taken the port meanwhile. */
export async function reopenHttp(client: SocketClient, { http }: DaemonBefore): Promise<void> {
	if (!http) return;
	const { url, pinned, tls } = http;
	const where = { port: portOf(url), exact: false, ...(tls !== undefined && { tls }) };
	await client.http({ ...where, keep: pinned ? "pin" : "await" }).catch((error: unknown) => {
		if (!(error instanceof Fault)) throw error;
	});
}

/** The daemon that has the newest lock, with its version; null where none answers. */
async function greet(options: ReachOptions, tries = 1): Promise<{ client: SocketClient; theirs: string } | null> {
	const { run, caller, version } = options;
	if (!checkPrivate(run)) return null;
	const lock = newestLock(run);
	if (lock === null || !(isHeld(lock) || isElsewhere(lock))) return null;
	let client: SocketClient;
	try {
		client = await SocketClient.connect(lock.socket, caller);
	} catch (error) {
		if (isFault(error, "foreign_daemon")) throw error;
		return null; // it has taken its lock and does not listen yet, or is just stopping
	}
	let hello: NonNullable<Done["hello"]>;
	try {
		hello = await client.hello(version);
	} catch {
		const gone = client.lost;
		await client[Symbol.asyncDispose]();
		if (!gone) throw new Fault("no_daemon", { problem: `process ${lock.pid} does not answer` });
		if (tries === GREETINGS) {
			throw new Fault("no_daemon", { problem: `process ${lock.pid} closes connections: it may be overloaded` });
		}
		// It is stopping, and then has no lock or does not listen the next time; or it has too many clients.
		await delay(tries * GREETING_MS);
		return greet(options, tries + 1);
	}
	if (hello.refused?.fault === "caller_confined") await refuseConfinedDaemon(client, run);
	return { client, theirs: hello.version };
}

/** Throws where it is the daemon that is confined. One with sessions is let be: no other could have them. */
async function refuseConfinedDaemon(client: SocketClient, run: string): Promise<void> {
	const [{ confinementOfDaemon }, { anyHolderListens }] = await Promise.all([
		import("./confined-daemon.ts"),
		import("./beside-sessions.ts"),
	]);
	const pid = client.daemonPid;
	const why = confinementOfDaemon(pid);
	if (why === null || (await anyHolderListens(run))) return;
	await client[Symbol.asyncDispose]();
	throw new Fault("daemon_confined", { pid, why });
}
