// What is fuzzed.

import { Arena } from "./arena.ts";
import type { Connection } from "./connection.ts";
import { httpCase, upgradeCase } from "./http.ts";
import { mcpCase, type StdioCase, stdioCase } from "./mcp.ts";
import type { Random } from "./random.ts";
import type { Ring, Target } from "./runner.ts";
import { socketCase } from "./socket.ts";
import { stateTarget } from "./state.ts";

type NetworkCase = Connection | StdioCase;

function network(name: string, to: "socket" | "http", make: (random: Random) => NetworkCase): Target<NetworkCase> {
	return {
		name,
		batch: 200,
		make,
		open: async (): Promise<Ring<NetworkCase>> => {
			const arena = await Arena.open();
			return {
				play: (cases) => arena.play(cases, to),
				check: () => arena.check(),
				usage: () => arena.stage.usage(),
				[Symbol.asyncDispose]: () => arena[Symbol.asyncDispose](),
			};
		},
	};
}

/** A server on stdin is a process of its own: few cases, each of many lines. */
const STDIO_SHARE = 0.01;

export const targets: Readonly<Record<string, Target<unknown>>> = {
	socket: network("socket", "socket", socketCase),
	upgrade: network("upgrade", "http", upgradeCase),
	http: network("http", "http", httpCase),
	mcp: network("mcp", "http", (random) => (random.chance(STDIO_SHARE) ? stdioCase(random) : mcpCase(random))),
	state: stateTarget,
} as Readonly<Record<string, Target<unknown>>>;
