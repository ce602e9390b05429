// Cases for the daemon's unix socket: request lines, valid, mutated and raw.

import type { Question } from "../../src/daemon/wire.ts";
import type { PersonAct } from "../../src/protocol/driver.ts";
import { DRAWINGS } from "../../src/tools/client.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { mutateBytes, mutateJson, type Random } from "./random.ts";
import { toolCall, VICTIM } from "./tool-calls.ts";

const ACTS: readonly PersonAct[] = [
	{ act: "take", who: "fuzz" },
	{ act: "keys", lease: "none", base64: "eAo=" },
	{ act: "paste", lease: "none", text: "x" },
	{ act: "resize", lease: "none", cols: 80, rows: 24 },
	{ act: "hand-back", lease: "none", note: "x" },
	{ act: "secret", who: "fuzz", text: "x" },
	{ act: "answer", who: "fuzz", text: "x" },
	{ act: "decline", who: "fuzz" },
	{ act: "share", who: "fuzz" },
];

/** One valid question of each kind; the compiler asks for a new one when the protocol gets one. */
const QUESTIONS: { readonly [D in Question["do"]]: (random: Random) => object } = {
	hello: () => ({ version: "0.1.0" }),
	call: (random) => ({ ...toolCall(random), caller: { owner: "fuzz", cwd: "/", env: { PATH: "/usr/bin:/bin" } } }),
	tools: () => ({ sets: ["native", "exec"] }),
	events: (random) => (random.chance(0.5) ? {} : { afterSeq: random.int(100) }),
	output: (random) => ({ session: VICTIM, from: random.int(100) }),
	act: (random) => ({ session: VICTIM, act: random.pick(ACTS), caller: { owner: "fuzz", cwd: "/", env: {} } }),
	view: () => ({ session: VICTIM }),
	drawn: (random) => ({ session: VICTIM, as: random.pick(DRAWINGS), at: random.int(100) }),
	drivers: () => ({ session: VICTIM, lease: "none" }),
	snapshot: () => ({ session: VICTIM }),
	people: (random) => ({ decides: random.chance(0.5) }),
	approvals: () => ({}),
	decide: () => ({ approval: "00000000", decision: { approve: true, who: "fuzz" } }),
	status: () => ({}),
	http: () => ({ port: 0, exact: false, keep: "hold", caller: { owner: "fuzz", cwd: "/", env: {} } }),
	fleet: (random) =>
		random.chance(0.5)
			? { act: random.pick(["status", "leave"]) }
			: { act: "join", wish: { servers: ["nats://127.0.0.1:1"], host: "fuzz", labels: { a: "b" } } },
	// Never sent as it is: it would be obeyed.
	stop: () => ({ sessions: false }),
};
const KINDS = Object.keys(QUESTIONS) as Question["do"][];

export function socketCase(random: Random): Connection {
	const lines: string[] = [];
	for (let i = 0; i <= random.int(5); i++) {
		const kind = random.chance(0.5) ? "call" : random.pick(KINDS);
		const request = { ...QUESTIONS[kind](random), do: kind, id: random.pick([i, i, 1, 2 ** 40]) };
		if (random.chance(0.1)) lines.push(JSON.stringify({ do: "cancel", id: random.int(3) }));
		lines.push(JSON.stringify(random.chance(0.6) ? mutateJson(request, random) : request) ?? "");
	}
	let bytes: Buffer = Buffer.from(`${lines.join("\n")}\n`);
	if (random.chance(0.25)) bytes = mutateBytes(bytes, random);
	if (random.chance(0.03)) bytes = random.bytes(random.int(2000));
	return connectionOf(harmless(bytes.toString("latin1")), random);
}

/** A request to stop would be obeyed, however odd the rest of it is. */
export const harmless = (text: string) => text.replaceAll("stop", "stob");
