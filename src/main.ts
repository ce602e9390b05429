#!/usr/bin/env node
// Makes the parts and hands them on; imports a way in only when its word is said.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { cli } from "./cli/cli.ts";
import type { Io, Wires } from "./cli/verb.ts";
import { Fault } from "./protocol/fault.ts";

const root = join(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const stateDir =
	process.env.DIALTONE_HOME ?? join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "dialtone");

const notYet = (what: string) => new Fault("not_supported", { what, instead: "Not yet." });

const wires: Wires = {
	version,
	stateDir,
	holderPath: join(root, "build/dialtone-holder"),
	sessionDir: (session) => join(stateDir, "sessions", session),
	connect: async () => {
		throw notYet("the daemon");
	},
	peek: async () => null,
	daemon: {
		status: async () => null,
		stop: async () => null,
		restart: async () => {
			throw notYet("daemon restart");
		},
		run: async () => {
			throw notYet("daemon run");
		},
	},
	serve: async () => {
		throw notYet("serve");
	},
	mcp: async () => {
		throw notYet("mcp");
	},
	mcpHelp: async () => (await import("./mcp/hosts.ts")).hostsHelp({ command: "dialtone", args: ["mcp"] }),
	toolCards: async () => [],
	tokens: async () => {
		const { Tokens } = await import("./http/tokens.ts");
		return new Tokens(join(stateDir, "tokens.json"));
	},
};

const io: Io = {
	out: (text) => void process.stdout.write(text),
	err: (text) => void process.stderr.write(text),
	stdin: process.stdin,
	stdout: process.stdout,
	env: process.env,
	cwd: process.cwd(),
};

process.exitCode = await cli(process.argv.slice(2), wires, io);
