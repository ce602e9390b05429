// The daemon as a process: started by the first call, in the background, without output.
// HTTP is opened when a client asks for it (`dialtone serve`).

import { writeFileSync } from "node:fs";
import { getPriority, homedir, setPriority } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { assemble } from "./assemble.ts";
import { ProcessCallers } from "./daemon/callers.ts";
import { collectGarbage } from "./daemon/collect-garbage.ts";
import { takeHandedOver } from "./daemon/handed-over.ts";
import { HttpControl, type HttpServer } from "./daemon/http-control.ts";
import { handleUncaught } from "./daemon/last-resort.ts";
import { fileLog } from "./daemon/log.ts";
import { keepPinned } from "./daemon/pinned-http.ts";
import { becomeDaemon, type Daemon } from "./daemon/run.ts";
import type { TlsPlace } from "./daemon/wire.ts";
import { FleetMembership } from "./fleet-membership.ts";
import { Fault } from "./protocol/fault.ts";
import { Listeners, reportListenerErrors } from "./protocol/listeners.ts";
import { liftLimits } from "./pty/native.ts";
import { leaveOuterSessions } from "./pty/outer-session.ts";
import { type Places, places, preparePlaces } from "./pty/places.ts";
import { homeFault } from "./pty/private-directory.ts";
import { leadsSession } from "./pty/process-stat.ts";
import { giveScope } from "./pty/scope.ts";
import { userName } from "./pty/user-name.ts";
import { resolveOptions } from "./session/options.ts";
import { Policy } from "./session/policy.ts";
import { sessionsWithin } from "./session/scope.ts";
import type { Sessions } from "./session/sessions.ts";
import { type Client, TOOL_SETS } from "./tools/client.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

// Long enough for a person's next command, short enough that no forgotten daemon stays around.
const IDLE_MS = 10 * 60_000;

/** The daemon of this user, as the first call starts it: prints `ready`, or why it cannot start. Returns its exit code. */
export async function runInBackground(): Promise<number> {
	const where = places(process.env);
	try {
		return await runDaemon(where);
	} catch (error) {
		const fault = error instanceof Fault ? error : homeFault(error, where);
		if (fault === null) throw error;
		process.stdout.write(`${JSON.stringify(fault)}\n`);
		return 1;
	}
}

/** Runs the daemon until it is stopped. The caller then ends the process, whatever is still open. */
export async function runDaemon(where: Places): Promise<number> {
	const secretValues = { ...process.env, ...takeHandedOver(process.env) };
	resetInherited();
	leaveOuterSessions();
	void giveScope(`dialtone-daemon-${process.pid}`, process.pid);
	preparePlaces(where);
	const log = fileLog(join(where.state, "daemon.log"), process.env.DIALTONE_LOG_LEVEL);
	reportListenerErrors((err, origin) => log.error({ err, origin }, "an error that had no caller"));
	let daemon: Daemon | null = null;
	let membership: FleetMembership | undefined;
	const stop = () => void daemon?.stop({ sessions: false });
	handleUncaught(log, stop);
	// Our output may have no reader: a warning printed by node must not end the daemon (EPIPE).
	for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
	process.on("warning", (warning) => log.error({ err: warning }, "warning"));
	daemon = await becomeDaemon({
		run: where.run,
		state: where.state,
		version: VERSION,
		mayBeElsewhere: () => new Policy(where.state).current().elsewhere === "allow",
		log,
		idleMs: IDLE_MS,
		open: async ({ epoch, socket }, onFenced) => {
			const { sessions, client } = await assemble({
				places: where,
				epoch,
				socket,
				environment: process.env,
				secretValues,
				// Every call over the socket names its caller; this one is for the daemon's own calls.
				caller: { owner: "daemon", cwd: "/", env: {} },
				http: () => http.state?.url ?? null,
				onFenced,
				onProblem: (problem, doing) => log.error({ err: problem }, doing),
				onManyHibernated: collectGarbage,
			});
			const changes = new Listeners<void>("in use");
			const fleet = new FleetMembership({
				state: where.state,
				local: client,
				sessions,
				onProblem: (problem, doing) => log.error({ err: problem }, doing),
			});
			const http = new HttpControl(
				(port, caller, tls) => openHttp({ where, client: fleet.client, sessions, port, caller, tls }),
				() => {
					keepPinned(where.run, http.state?.pinned ? http.state : null);
					changes.emit();
				},
			);
			membership = fleet;
			return {
				client: fleet.client,
				fleet,
				callers: new ProcessCallers(sessions),
				limits: sessions.options,
				http,
				runningSessions: () => sessions.runningCount(),
				onSessions: (listener) => {
					const undo = [sessions.onCount(listener), changes.add(listener), fleet.onChange(listener)];
					return () => {
						for (const each of undo) each();
					};
				},
				endAll: () => sessions.endAll(),
				close: async () => {
					client.interrupt();
					fleet.client.interrupt();
					await setImmediate(); // what was cut off is answered first
					await fleet.close();
					await Promise.all([http.close(), client[Symbol.asyncDispose]()]);
				},
			};
		},
	});
	process.stdout.write("ready\n");
	if (daemon === null) return 0;
	void membership?.resume(daemon).catch((err: unknown) => log.error({ err }, "joining the fleet"));
	for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, stop);
	await daemon.stopped;
	return 0;
}

/** What this process inherited from its starter must not decide how it works, nor reach a program of another caller. */
function resetInherited(): void {
	process.umask(0o077);
	liftLimits();
	raiseShare();
	if (getPriority() <= 0) return;
	try {
		setPriority(0);
	} catch {
		// Only root may; otherwise it stays as nice as the process that started it.
	}
}

/**
 * Linux gives each terminal session an equal share of the processor: among a hundred programs that flood, and their
 * holders, the daemon of all of them would get a two hundredth, and a keystroke in a quiet one took half a second.
 */
function raiseShare(): void {
	if (!leadsSession(process.pid)) return; // the share would be that of whoever started it
	try {
		writeFileSync("/proc/self/autogroup", "-20");
	} catch {
		// Not Linux, no such groups, or not allowed: only root may.
	}
}

interface HttpOptions {
	readonly where: Places;
	readonly client: Client;
	readonly sessions: Sessions;
	readonly port: number;
	/** A caller over HTTP has no directory or environment of its own: those of the user who runs the server are used. */
	readonly caller: Caller;
	readonly tls: TlsPlace | undefined;
}

async function openHttp({ where, client, sessions, port, caller, tls }: HttpOptions): Promise<HttpServer> {
	const [{ listen }, { Tokens }, { mcpOverHttp }, { toolCards }, { PEOPLE }, { readTls }] = await Promise.all([
		import("./http/listen.ts"),
		import("./http/tokens.ts"),
		import("./mcp/http.ts"),
		import("./tools/catalogue.ts"),
		import("./tools/people.ts"),
		import("./http/tls.ts"),
	]);
	const limits = resolveOptions({}, process.env);
	const mcp = mcpOverHttp(
		{
			version: VERSION,
			sets: ["native"],
			tools: async () => toolCards(),
			listed: () => client.tools(),
			connect: async () => client,
			peek: async () => client,
		},
		limits,
	);
	const listening = await listen({
		client,
		version: VERSION,
		sets: TOOL_SETS,
		port,
		...(tls !== undefined && { tls: readTls(tls) }),
		tokens: new Tokens(join(where.state, "tokens.json")),
		people: { approvals: () => sessions.approvals.list(), person: userName() },
		// The same from src/ and from dist/.
		web: join(import.meta.dirname, "../dist/web"),
		// The id is the identity, the name a label for `list`: names may repeat. People are one, however often they log in.
		caller: ({ id, name, role }) => ({
			...caller,
			owner: role === "admin" ? PEOPLE : `http:${id}:${name}`,
			token: name,
			person: role === "admin",
			parent: undefined,
			cwd: caller.env.HOME ?? homedir(),
		}),
		within: (scope) => sessionsWithin(sessions, scope),
		mcp,
		limits,
	});
	return {
		url: listening.url,
		close: async () => {
			await mcp.close();
			await listening.close();
		},
	};
}
