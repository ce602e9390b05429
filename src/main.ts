#!/usr/bin/env node

// Creates the parts and connects them; imports an interface only when its command is
// used, so that a command that only calls the daemon starts about as fast as node itself.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { callerHere } from "./caller.ts";
import { cli } from "./cli/cli.ts";
import type { Dependencies, Io, StoppedDaemon } from "./cli/command.ts";
import { corruptLocks } from "./daemon/daemon-lock.ts";
import { killDaemon } from "./daemon/kill.ts";
import { LastingClient } from "./daemon/lasting-client.ts";
import { findDaemon, type ReachOptions, reachDaemon, reopenHttp, stopForNext } from "./daemon/reach.ts";
import type { ListedSession } from "./protocol/answer.ts";
import { Fault, isFault } from "./protocol/fault.ts";
import { places } from "./pty/places.ts";
import { homeFault, makePrivate } from "./pty/private-directory.ts";
import { within } from "./pty/wait.ts";
import { distinctNames } from "./session/identity.ts";
import { observerOf } from "./session/observer.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

/** How long a daemon may take to stop before it is killed; ending sessions takes their grace. */
const STOP_MS = 15_000;
const STOP_SESSIONS_MS = 120_000;

const where = places(process.env);
const root = join(import.meta.dirname, "..");

function reach(owner: string, more: Partial<ReachOptions> = {}): ReachOptions {
	return {
		run: where.run,
		version: VERSION,
		caller: callerHere(owner),
		command: [process.execPath, join(import.meta.dirname, "daemon.cjs")],
		env: { ...process.env, DIALTONE_HOME: where.state },
		...more,
	};
}

/** How to call this command line: by its name where that is on the PATH and means this one. */
function self(): readonly string[] {
	const here = realpathSync(process.argv[1] ?? "");
	const onPath = (process.env.PATH ?? "").split(delimiter).some((directory) => {
		const found = join(directory, "dialtone");
		return existsSync(found) && realpathSync(found) === here;
	});
	return onPath ? ["dialtone"] : [process.execPath, here];
}

/** The caller of this command line. An agent that has only a shell can set it, to have its own "new". */
const me = process.env.DIALTONE_OWNER ?? "cli";

const dependencies: Dependencies = {
	version: VERSION,
	owner: me,
	self,
	stateDir: where.state,
	homeFault: (error) => homeFault(error, where),
	holderPath: join(root, "build/dialtone-holder"),
	sessionDir: (session) => join(where.sessions, session),
	observer: () => observerOf(callerHere(me)),
	connect: async () => {
		const client = lasting({ ...callerHere(me), commandLine: true });
		await client.connect();
		return client;
	},
	peek: () => findDaemon(reach(me)),
	daemon: {
		status: async () => {
			await using client = await findDaemon(reach("cli", { anyVersion: true }));
			return (await client?.status()) ?? null;
		},
		stop: (options) => orKilled(options.sessions ? STOP_SESSIONS_MS : STOP_MS, () => stopDaemon(options)),
		restart: async () => {
			const before = await orKilled(STOP_MS, async () => {
				const client = await findDaemon(reach("cli", { anyVersion: true }));
				return client && stopForNext(client);
			});
			await using client = await reachDaemon(reach("cli"));
			if (before !== null) await reopenHttp(client, before);
			return await client.status(); // before it is disposed of
		},
		corruptLocks: () => corruptLocks(where.run),
		// What is still open must not keep a daemon that has stopped beside the next one.
		run: async () => process.exit(await (await import("./serve.ts")).runDaemon(where)),
	},
	fleet: {
		ask: async (act) => {
			await using client = act === "status" ? await findDaemon(reach("cli")) : await reachDaemon(reach("cli"));
			return (await client?.fleet(act)) ?? null;
		},
		forget: async (host) => {
			await using client = await reachDaemon(reach("cli"));
			return await client.forgetHost(host); // before it is disposed of
		},
		files: async () => {
			await refuseConfined();
			return import("./fleet/init.ts");
		},
	},
	serve: async ({ foreground, ...wish }) => {
		const { serveInBackground, serveInForeground } = await import("./serve-http.ts");
		const options = { where, connect: () => reachDaemon(reach("cli")), ...wish };
		return foreground ? serveInForeground(options) : serveInBackground(options);
	},
	page: {
		open: async (wanted) => {
			await using client = await reachDaemon(reach("cli"));
			return await client.http({ ...wanted, keep: "pin" }); // before it is disposed of
		},
		loginLink: async (url) => (await import("./serve-http.ts")).loginLink(where, url),
		shareLink: async (url, session) => (await import("./serve-http.ts")).shareLink(where, url, session),
	},
	mcp: async ({ sets }) => {
		const [{ serveMcpOnStdio }, { toolCards }, { FleetFile }] = await Promise.all([
			import("./mcp/stdio.ts"),
			import("./tools/catalogue.ts"),
			import("./fleet-file.ts"),
		]);
		const fleet = new FleetFile(where.state);
		const host = callerHere("mcp");
		await using client = lasting(host);
		await serveMcpOnStdio({
			version: VERSION,
			sets,
			tools: async () => toolCards(sets),
			listed: async () => (await (await client.ifRunning())?.tools(sets)) ?? fleet.listed(toolCards(sets)),
			connect: async () => client,
			peek: () => client.ifRunning(),
			// The host's pid distinguishes two agents of the same kind: each has its own shell and its own "new",
			// and keeps them when the host starts its server again.
			caller: (client) => ({ ...host, owner: process.env.DIALTONE_OWNER ?? `mcp:${client}:${process.ppid}` }),
		});
		return 0;
	},
	mcpHelp: async () => {
		const [command = "", ...args] = self();
		return (await import("./mcp/hosts.ts")).hostsHelp({ command, args: [...args, "mcp"] });
	},
	toolCards: async (sets) => (await import("./tools/catalogue.ts")).toolCards(sets),
	refuseConfined,
	secrets: async () => {
		await refuseConfined();
		const { SecretFile } = await import("./session/secret-file.ts");
		return new SecretFile(where.state, process.env);
	},
	tokens: async () => {
		await refuseConfined();
		makePrivate(where.state);
		const { Tokens } = await import("./http/tokens.ts");
		return new Tokens(join(where.state, "tokens.json"));
	},
};

/**
 * Tokens, the policy and the audit log are files of this user: a daemon that runs tells whether this process is confined to
 * a session. It keeps agents from them by mistake: a program that is not in a sandbox could read the files itself.
 */
async function refuseConfined(): Promise<void> {
	await using client = await findDaemon(reach("cli", { anyVersion: true }));
	const refused = (await client?.hello(VERSION))?.refused;
	if (refused !== undefined) throw Fault.from(refused);
}

async function stopDaemon(options: { sessions: boolean }): Promise<StoppedDaemon | null> {
	const found = await findDaemon(reach("cli", { anyVersion: true }));
	// Sessions keep running without a daemon; ending them needs one.
	await using client =
		found ?? (options.sessions && sessionsAreRunning() ? await reachDaemon(reach("cli", { anyVersion: true })) : null);
	if (client === null) return null;
	const { pid } = await client.status();
	const { facts } = await client.call("list", { status: "running" });
	const { left: notEnded = [] } = await client.stop(options);
	return { pid, left: options.sessions ? notEnded : distinctNames(facts.sessions.filter(isHere).map(asRecorded)) };
}

/** Not of another machine. */
const isHere = ({ host }: ListedSession) => host === undefined;
const asRecorded = ({ session: id, name, owner }: ListedSession) => ({ id, name, owner });

/** Stops the daemon in order. One that does not answer is killed, which loses nothing: then once more. */
async function orKilled<T>(ms: number, stop: () => Promise<T>): Promise<T> {
	try {
		return await within(ms, "stopping the daemon", stop());
	} catch (error) {
		const isAnswer = (["inside_session", "caller_confined", "daemon_confined"] as const).some((code) =>
			isFault(error, code),
		);
		if (isAnswer) throw error;
		const pid = await killDaemon(where.run);
		if (pid === null) throw error; // there was none: the reason is another
		process.stderr.write(`dialtone: process ${pid} did not answer and was killed\n`);
		return stop();
	}
}

/** A holder's socket exists as long as its session. */
function sessionsAreRunning(): boolean {
	try {
		return readdirSync(where.run).some((name) => name.endsWith(".sock") && !/^d\d+\.sock$/.test(name));
	} catch {
		return false; // no session was ever started
	}
}

function lasting(caller: Caller): LastingClient {
	const options = reach(caller.owner, { caller });
	return new LastingClient({ connect: () => reachDaemon(options), find: () => findDaemon(options) });
}

let handlesErrors = false;

const io: Io = {
	out: (text) => {
		// A reader that closes the pipe early (`| head`) is not an error.
		if (!handlesErrors)
			process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => code !== "EPIPE" && process.exit(1));
		handlesErrors = true;
		process.stdout.write(text);
	},
	err: (text) => void process.stderr.write(text),
	// Each costs milliseconds to open, and most commands need one or none.
	get stdin() {
		return process.stdin;
	},
	get stdout() {
		return process.stdout;
	},
	env: process.env,
	cwd: process.cwd(),
};

process.exitCode = await cli(process.argv.slice(2), dependencies, io);
