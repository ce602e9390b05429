// Desktop Commander's MCP server, from npm, with its own tools: start_process, interact_with_process, read_process_output.
//
// It lives in a directory of its own, with telemetry off in its configuration, and without a
// network: it asks for feature flags and a browser at every start.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Caller } from "./caller.ts";
import { textOf } from "./dialtone.ts";

const PACKAGE = "@wonderwhy-er/desktop-commander";
const VERSION = "0.2.52";

// Its default is 8 s. What it knows it knows within one poll of 50 ms; the rest only makes the run longer.
const INTERACT_MS = 1200;
const READ_MS = 300;

const SAYS_IT_IS_YOUR_TURN = /is waiting for input|has finished execution/;

/** Kept between runs: installing takes minutes. */
function installed(): string {
	const directory = join(tmpdir(), `dialtone-bench-desktop-commander-${VERSION}-${process.getuid?.() ?? 0}`);
	const main = join(directory, "node_modules", PACKAGE, "dist/index.js");
	if (existsSync(main)) return directory;
	console.log(`installing ${PACKAGE} ${VERSION} to compare with …`);
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const manifest = {
		private: true,
		dependencies: { [PACKAGE]: VERSION },
		// A polyfill deep below its PDF tools, which are not used here; some registries lack its newest version.
		overrides: { "typedarray.prototype.slice": "1.0.5" },
	};
	writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
	execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
		cwd: directory,
		stdio: ["ignore", "ignore", "pipe"],
		timeout: 300_000,
	});
	return directory;
}

export async function desktopCommander(home: string): Promise<Caller> {
	const main = join(installed(), "node_modules", PACKAGE, "dist/index.js");
	mkdirSync(join(home, ".claude-server-commander"), { recursive: true });
	const settings = { telemetryEnabled: false, blockedCommands: [], allowedDirectories: [], defaultShell: "/bin/bash" };
	writeFileSync(join(home, ".claude-server-commander/config.json"), JSON.stringify(settings));
	const client = new Client({ name: "bench", version: "1" });
	const transport = new StdioClientTransport({
		command: "unshare",
		args: ["--map-root-user", "--net", process.execPath, main, "--no-onboarding"],
		env: { PATH: process.env.PATH ?? "", HOME: home, SHELL: "/bin/bash" },
		stderr: "ignore",
	});
	await client.connect(transport);
	const call = async (name: string, input: Record<string, unknown>) =>
		textOf(await client.callTool({ name, arguments: input }));
	return {
		name: "Desktop Commander, MCP on stdio",
		polls: true,
		open: async (_, argv) => {
			const said = await call("start_process", { command: `exec ${argv.join(" ")}`, timeout_ms: 2000 });
			const pid = Number(/PID (\d+)/.exec(said)?.[1]);
			if (!(pid > 0)) throw new Error(`Desktop Commander did not start it: ${said}`);
			return {
				turn: async (text) => {
					const first = await call("interact_with_process", { pid, input: text, timeout_ms: INTERACT_MS });
					if (SAYS_IT_IS_YOUR_TURN.test(first)) return process.hrtime.bigint();
					const second = await call("read_process_output", { pid, timeout_ms: READ_MS });
					return SAYS_IT_IS_YOUR_TURN.test(second) ? process.hrtime.bigint() : null;
				},
			};
		},
		[Symbol.asyncDispose]: () => client.close(),
	};
}
