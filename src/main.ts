#!/usr/bin/env node
// Creates the parts and connects them; imports an interface only when its command is
// used, so that a command that only calls the daemon starts about as fast as node itself.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { callerHere } from "./caller.ts";
import { cli } from "./cli/cli.ts";
import type { Dependencies, Io } from "./cli/command.ts";
import { EXIT } from "./cli/exit-codes.ts";
import { corruptLocks } from "./daemon/daemon-lock.ts";
import { findDaemon, type ReachOptions, reachDaemon } from "./daemon/reach.ts";
import { Fault } from "./protocol/fault.ts";
import { places } from "./pty/places.ts";
import { homeFault, makePrivate } from "./pty/private-directory.ts";
import { VERSION } from "./version.ts";

const where = places(process.env);
const root = join(import.meta.dirname, "..");
const self = [process.execPath, join(import.meta.dirname, "main.js")] as const;

function reach(owner: string, more: Partial<ReachOptions> = {}): ReachOptions {
	return {
		run: where.run,
		version: VERSION,
		caller: callerHere(owner),
		command: [...self, "daemon", "run", "--json"],
		env: { ...process.env, DIALTONE_HOME: where.state },
		...more,
	};
}

/** The caller of this command line. An agent that has only a shell can set it, to have its own "new". */
const me = process.env.DIALTONE_OWNER ?? "cli";

const dependencies: Dependencies = {
	version: VERSION,
	stateDir: where.state,
	homeFault: (error) => homeFault(error, where),
	holderPath: join(root, "build/dialtone-holder"),
	sessionDir: (session) => join(where.sessions, session),
	connect: () => reachDaemon(reach(me)),
	peek: () => findDaemon(reach(me)),
	daemon: {
		status: async () => {
			await using client = await findDaemon(reach("cli", { anyVersion: true }));
			return (await client?.status()) ?? null;
		},
		stop: async (options) => {
			const found = await findDaemon(reach("cli", { anyVersion: true }));
			// Sessions keep running without a daemon; ending them needs one.
			await using client =
				found ??
				(options.sessions && sessionsAreRunning() ? await reachDaemon(reach("cli", { anyVersion: true })) : null);
			if (client === null) return null;
			const { pid } = await client.status();
			const { facts } = await client.call("list", { status: "running" });
			const notEnded = await client.stop(options);
			return { pid, left: options.sessions ? notEnded : facts.sessions.map(({ name }) => name) };
		},
		restart: async () => {
			await dependencies.daemon.stop({ sessions: false });
			await using client = await reachDaemon(reach("cli"));
			return await client.status(); // before it is disposed of
		},
		corruptLocks: () => corruptLocks(where.run),
		run: async () => {
			const { runDaemon } = await import("./serve.ts");
			return reportingStart(() => runDaemon({ where, foreground: null }));
		},
	},
	serve: async ({ foreground, port, say }) => {
		await dependencies.daemon.stop({ sessions: false });
		if (!foreground) {
			await using client = await reachDaemon(
				reach("cli", { command: [...self, "serve", "--foreground", "--port", String(port), "--json"] }),
			);
			say(`Dialtone is listening on ${(await client.status()).http}\n`);
			return 0;
		}
		const { runDaemon } = await import("./serve.ts");
		return reportingStart(() => runDaemon({ where, foreground: { port, say } }));
	},
	mcp: async ({ sets }) => {
		const [{ serveMcpOnStdio }, { toolCards }] = await Promise.all([
			import("./mcp/stdio.ts"),
			import("./tools/catalogue.ts"),
		]);
		// One connection for the life of the server, reopened when the daemon was restarted.
		const connection = lasting(() => reachDaemon(reach("mcp")));
		const existing = lasting(() => findDaemon(reach("mcp")));
		const host = callerHere("mcp");
		await serveMcpOnStdio({
			version: VERSION,
			tools: async () => toolCards(sets),
			connect: connection.get,
			peek: existing.get,
			// The host's pid distinguishes two agents of the same kind: each has its own shell and its own "new",
			// and keeps them when the host starts its server again.
			caller: (client) => ({ ...host, owner: process.env.DIALTONE_OWNER ?? `mcp:${client}:${process.ppid}` }),
		});
		// The host is gone: an open connection would keep this process alive.
		await Promise.all([connection.close(), existing.close()]);
		return 0;
	},
	mcpHelp: async () => (await import("./mcp/hosts.ts")).hostsHelp({ command: "dialtone", args: ["mcp"] }),
	toolCards: async (sets) => (await import("./tools/catalogue.ts")).toolCards(sets),
	tokens: async () => {
		makePrivate(where.state);
		const { Tokens } = await import("./http/tokens.ts");
		return new Tokens(join(where.state, "tokens.json"));
	},
};

/** Started by `startDaemon` (with `--json`), which waits for `ready`: it gets a fault with its facts instead. */
async function reportingStart(start: () => Promise<number>): Promise<number> {
	try {
		return await start();
	} catch (error) {
		const fault = error instanceof Fault ? error : homeFault(error, where);
		if (fault === null || !process.argv.includes("--json")) throw error;
		io.out(`${JSON.stringify(fault)}\n`);
		return EXIT.fault;
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

/** The same connection each time, until it is lost. */
function lasting<T extends (AsyncDisposable & { readonly lost: boolean }) | null>(connect: () => Promise<T>) {
	let current: Promise<T> | null = null;
	return {
		get: async (): Promise<T> => {
			const known = await current?.catch(() => null);
			if (known === null || known === undefined || known.lost) current = connect();
			return (await current) as T;
		},
		close: async (): Promise<void> => {
			const known = await current?.catch(() => null);
			await known?.[Symbol.asyncDispose]();
		},
	};
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
