// The ways in of test/contract, where every session is another machine's: two daemons, each in a home of its own, joined
// to a real server, with the calls made to one of them for sessions of the other.

import { STARTING_TOOLS } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { dialtone, endEverything, home, type Surface, WAYS, type Way } from "../contract/surfaces.ts";
import { Brokers } from "./broker.ts";

/** The machine whose sessions are used, from the other one. */
export const HOST = "beta";

/** `policy`: of the machine whose sessions they are. */
export async function fleetSurface(way: Way, policy?: object): Promise<Surface> {
	const brokers = await Brokers.start();
	const [here, there] = [home(), home(policy)];
	for (const [at, host] of [
		[here, "alpha"],
		[there, HOST],
	] as const) {
		const { code, out } = await dialtone(["join", "--creds", brokers.credentials("admin"), "--as", host], at.env);
		if (code !== 0) throw new Error(`${host} did not join: ${out}`);
	}
	const listed = ["call", "list", JSON.stringify({ host: HOST })];
	await until(`alpha knows ${HOST}`, async () => (await dialtone(listed, here.env)).code === 0);
	const surface = await WAYS[way](here);
	return {
		call: (tool, input, signal) => surface.call(tool, aimed(tool, input), signal),
		close: async () => {
			await surface.close();
			await endEverything(there);
			await brokers[Symbol.asyncDispose]();
		},
	};
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
