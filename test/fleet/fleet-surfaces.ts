// The ways in of test/contract, where every session is another machine's: three machines with a server each
// (joined-machines.ts), with the calls made to the first for sessions of the second.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { STARTING_TOOLS } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { type Surface, type TestHome, WAYS, type Way } from "../contract/surfaces.ts";
import { find } from "../programs.ts";
import { type JoinedMachine, JoinedMachines, MACHINES_NEED } from "./joined-machines.ts";

export const SURFACES_NEED: readonly string[] = [...MACHINES_NEED, "socat"];

/** The machine whose sessions are used, from another one. */
export const HOST = "beta";

export async function fleetSurface(way: Way): Promise<Surface> {
	const machines = await JoinedMachines.start();
	const [here] = machines.machines;
	const surface = await WAYS[way](homeOn(here!)).catch(async (error: unknown) => {
		await machines[Symbol.asyncDispose]();
		throw error;
	});
	return {
		call: (tool, input, signal) => surface.call(tool, aimed(tool, input), signal),
		close: async () => {
			await surface.close();
			await machines[Symbol.asyncDispose]();
		},
	};
}

/** Its daemon's sockets are files, which programs of the test find; its loopback is its own. */
function homeOn({ home, machine }: JoinedMachine): TestHome {
	const env = Object.fromEntries(Object.entries(home.env).filter((pair): pair is [string, string] => !!pair[1]));
	return {
		path: home.path,
		env,
		openPort: async (port) => {
			const there = [...machine.prefix, find("socat")!, "-", `TCP\\:127.0.0.1\\:${port}`].join(" ");
			const relay = spawn(find("socat")!, [`TCP-LISTEN:${port},bind=127.0.0.1,fork`, `EXEC:${there}`], {
				stdio: "inherit",
			});
			await until(`port ${port} answers`, () => answers(port));
			return async () => {
				const ended = once(relay, "exit");
				relay.kill();
				await ended;
			};
		},
	};
}

/** Whether something listens on that port of the test's loopback. */
async function answers(port: number): Promise<boolean> {
	const socket = createConnection(port, "127.0.0.1");
	try {
		await once(socket, "connect");
		return true;
	} catch {
		return false; // not yet
	} finally {
		socket.destroy();
	}
}

/** Fields that name a session, of all tool sets. */
const REFERENCES: ReadonlySet<string> = new Set(["session", "session_id", "terminal_id", "process_id", "again"]);

/** `host` for what is started, and sessions as answers call them: nothing else of a call differs. */
export function aimed(tool: string, input: unknown): unknown {
	if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
	const entries = Object.entries(input).map(([field, value]) =>
		REFERENCES.has(field) && typeof value === "string" && !value.startsWith(`${HOST}/`)
			? [field, `${HOST}/${value}`]
			: [field, value],
	);
	return { ...Object.fromEntries(entries), ...(STARTING_TOOLS.has(tool) && { host: HOST }) };
}
