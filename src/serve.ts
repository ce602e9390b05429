// The daemon as a process: in the background, started by the first call, or in
// the foreground with HTTP and instructions for the person who started it.

import { getPriority, homedir, setPriority } from "node:os";
import { join } from "node:path";
import { assemble } from "./assemble.ts";
import { callerHere } from "./caller.ts";
import { fileLog } from "./daemon/log.ts";
import { becomeDaemon } from "./daemon/run.ts";
import type { Listening } from "./http/listen.ts";
import { reportListenerErrors } from "./protocol/listeners.ts";
import { liftLimits } from "./pty/native.ts";
import { type Places, preparePlaces } from "./pty/places.ts";
import { type Client, TOOL_SETS } from "./tools/client.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

// Long enough for a person's next command, short enough that no forgotten daemon stays around.
const IDLE_MS = 10 * 60_000;

const WELCOME_TOKEN = "npm-start";

export interface RunOptions {
	readonly where: Places;
	/** Null: in the background, without output; stops by itself when idle. */
	readonly foreground: { readonly port: number; readonly say: (text: string) => void } | null;
}

/** Runs the daemon until it is stopped; returns the exit code. */
export async function runDaemon({ where, foreground }: RunOptions): Promise<number> {
	// A caller over HTTP has no directory or environment of its own: those of the user who runs the server are used.
	const person = callerHere("http", homedir());
	resetInherited();
	preparePlaces(where);
	const log = fileLog(join(where.state, "daemon.log"), process.env.DIALTONE_LOG_LEVEL);
	reportListenerErrors((err, event) => log.error({ err, event }, "a listener threw"));
	let http: Listening | null = null;
	const daemon = await becomeDaemon({
		run: where.run,
		version: VERSION,
		log,
		idleMs: foreground === null ? IDLE_MS : 0,
		open: async ({ epoch, socket }, onFenced) => {
			const { sessions, client } = await assemble({
				places: where,
				epoch,
				socket,
				environment: process.env,
				// Every call over the socket names its caller; this one is for the daemon's own calls.
				caller: { owner: "daemon", cwd: "/", env: {} },
				http: () => http?.url ?? null,
				onFenced,
				onProblem: (problem, doing) => log.error({ err: problem }, doing),
			});
			return {
				client,
				runningSessions: () => sessions.runningCount(),
				onSessions: (listener) => sessions.onCount(listener),
				endAll: () => sessions.endAll(),
				close: async () => {
					await http?.close();
					await client[Symbol.asyncDispose]();
				},
			};
		},
	});
	// In the background our output may have no reader: a warning printed by node must not end the daemon (EPIPE).
	for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
	process.on("warning", (warning) => log.error({ err: warning }, "warning"));
	process.on("unhandledRejection", (problem) => log.error({ err: problem }, "unhandled"));
	if (foreground !== null && daemon !== null) {
		try {
			http = await openHttp(where, daemon.client, { port: foreground.port, person });
		} catch (error) {
			// Without its port it is not what was requested: free the lock for the next attempt.
			await daemon.stop({ sessions: false });
			throw error;
		}
	}

	if (foreground === null) process.stdout.write("ready\n");
	else if (daemon === null) {
		foreground.say("A Dialtone daemon is already running; stop it with `dialtone daemon stop`.\n");
		return 1;
	} else if (process.stdout.isTTY) foreground.say(await welcome(where, http!));
	else foreground.say(`ready\n${await welcome(where, http!)}`);
	if (daemon === null) return 0;

	let stopping = false;
	const stop = async () => {
		if (stopping) return;
		stopping = true;
		const left = await namesOf(daemon.client);
		await daemon.stop({ sessions: false });
		foreground?.say(
			left.length === 0
				? "\nStopped. No sessions are running.\n"
				: `\nStopped. These sessions keep running: ${left.join(", ")}.\n`,
		);
	};
	for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => void stop());
	await daemon.stopped;
	return 0;
}

/** What this process inherited from its starter must not decide how it works, nor reach a program of another caller. */
function resetInherited(): void {
	process.umask(0o077);
	liftLimits();
	if (getPriority() <= 0) return;
	try {
		setPriority(0);
	} catch {
		// Only root may; otherwise it stays as nice as the process that started it.
	}
}

interface HttpOptions {
	readonly port: number;
	readonly person: Caller;
}

async function openHttp(where: Places, client: Client, { port, person }: HttpOptions): Promise<Listening> {
	const [{ listen }, { Tokens }, { mcpOverHttp }, { toolCards }] = await Promise.all([
		import("./http/listen.ts"),
		import("./http/tokens.ts"),
		import("./mcp/http.ts"),
		import("./tools/catalogue.ts"),
	]);
	const mcp = mcpOverHttp({
		version: VERSION,
		tools: async () => toolCards(),
		connect: async () => client,
		peek: async () => client,
	});
	const listening = await listen({
		client,
		version: VERSION,
		sets: TOOL_SETS,
		port,
		tokens: new Tokens(join(where.state, "tokens.json")),
		caller: ({ name }) => ({ ...person, owner: `http:${name}` }),
		mcp: mcp.fetch,
	});
	return {
		url: listening.url,
		close: async () => {
			await mcp.close();
			await listening.close();
		},
	};
}

async function namesOf(client: Client): Promise<readonly string[]> {
	const { facts } = await client.call("list", { status: "running" });
	return facts.sessions.map(({ name }) => name);
}

/** What a person needs to know, readable at a glance. The token is new each time: only its hash is kept. */
async function welcome(where: Places, { url }: Listening): Promise<string> {
	const { Tokens } = await import("./http/tokens.ts");
	const tokens = new Tokens(join(where.state, "tokens.json"));
	tokens.revoke(WELCOME_TOKEN);
	const { token } = tokens.create({ name: WELCOME_TOKEN, readOnly: false });
	const main = join(import.meta.dirname, "main.js");
	const home = process.env.DIALTONE_HOME === undefined ? "" : `DIALTONE_HOME=${where.state} `;
	return `
  Dialtone ${VERSION} is listening.

    HTTP    ${url}/v1   (MCP at ${url}/mcp)
    Log in  export TOKEN=${token}
            curl -H "Authorization: Bearer $TOKEN" ${url}/v1/sessions

  For an agent, paste into its MCP configuration:

    { "mcpServers": { "dialtone": { "command": "node", "args": [${JSON.stringify(main)}, "mcp"] } } }

  Try it from another shell:

    ${home}node ${main} start --name py python3
    ${home}node ${main} send py "6*7"

  Ctrl+C stops the daemon; sessions keep running.

`;
}
