// A daemon that is a host of a fleet, as a process of its own: `host-daemon.ts NAME URL`. The home is DIALTONE_HOME.

import { setImmediate } from "node:timers/promises";
import { assemble } from "../../src/assemble.ts";
import { ProcessCallers } from "../../src/daemon/callers.ts";
import { becomeDaemon } from "../../src/daemon/run.ts";
import { FleetConnection } from "../../src/fleet/connection.ts";
import { serveLinks } from "../../src/fleet-links.ts";
import { places, preparePlaces } from "../../src/pty/places.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import { VERSION } from "../../src/version.ts";

const [host = "", url = ""] = process.argv.slice(2);
const where = places(process.env);
preparePlaces(where);
let sessions: Sessions | null = null;
const daemon = await becomeDaemon({
	run: where.run,
	state: where.state,
	version: VERSION,
	mayBeElsewhere: () => true,
	log: { info: () => {}, error: (facts, message) => console.error(message, facts) },
	idleMs: 0,
	open: async ({ epoch, socket }, onFenced) => {
		const opened = await assemble({
			places: where,
			epoch,
			socket,
			environment: process.env,
			caller: { owner: "daemon", cwd: "/", env: {} },
			onFenced,
			onProblem: (problem, doing) => console.error(doing, problem),
		});
		sessions = opened.sessions;
		const { client } = opened;
		return {
			client,
			callers: new ProcessCallers(opened.sessions),
			limits: opened.sessions.options,
			runningSessions: () => opened.sessions.runningCount(),
			onSessions: (listener) => opened.sessions.onCount(listener),
			endAll: () => opened.sessions.endAll(),
			close: async () => {
				client.interrupt();
				await setImmediate();
				await client[Symbol.asyncDispose]();
			},
		};
	},
});
if (daemon === null || sessions === null) throw new Error("another daemon runs in this home");
const connection = await FleetConnection.connect({
	servers: [url],
	host,
	labels: {},
	as: { role: "admin", owner: null },
});
const links = serveLinks({ connection, daemon, local: daemon.client, sessions });
await connection.nats.flush(); // the server knows of its subscriptions
process.stdout.write("ready\n");
await daemon.stopped;
await links[Symbol.asyncDispose]();
await connection[Symbol.asyncDispose]();
