// Many clients that connect and vanish at random moments in mid-message, beside honest conversations: none of those
// fails or waits much longer, and afterwards the daemon has in use what it had before.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { until } from "../condition.ts";
import { VICTIM } from "../fuzz/tool-calls.ts";
import { Conversation } from "../robustness/conversation.ts";
import { Stage, type Usage } from "../robustness/stage.ts";
import type { VanishOptions } from "./vanish.ts";

export interface ChurnOptions {
	readonly clients: number;
	readonly conversations: number;
	readonly seed: number;
}

interface Times {
	readonly turns: number;
	readonly p50: number;
	readonly p99: number;
}

export interface ChurnReport {
	readonly seconds: number;
	readonly quiet: Times;
	readonly churn: Times;
	readonly before: Usage;
	readonly after: Usage;
}

const AT_ONCE = 25;
/** Between two turns, as an agent thinks. */
const THINK_MS = 50;
const QUIET_TURNS = 20;
/** Sockets that the kernel has not closed yet. */
const SPARE_DESCRIPTORS = 3;

/** Fails when a conversation does, or when the daemon does not come back to what it used. */
export async function churn({ clients, conversations, seed }: ChurnOptions): Promise<ChurnReport> {
	await using stage = await Stage.open();
	const talks: Conversation[] = [];
	const connections: SocketClient[] = [];
	try {
		for (let i = 0; i < conversations; i++) {
			const client = await stage.connect();
			connections.push(client);
			talks.push(await Conversation.start(client, i % 2 === 0 ? "python" : "bash"));
		}
		/** A new one each time: what was typed into it is on its screen and in its journal. */
		const renewVictim = async () => {
			await connections[0]!.call("close", { session: VICTIM, force: true, forget: true });
			await connections[0]!.call("start", { name: VICTIM, argv: ["cat"] });
		};
		await connections[0]!.call("start", { name: VICTIM, argv: ["cat"] });
		await talkAll(talks, 3, () => false); // compiled, and memory settled
		const quiet = await talkAll(talks, QUIET_TURNS, () => false);
		await vanish(stage, { clients: Math.ceil(clients / 10), seed: seed + 1 });
		await renewVictim();
		await stage.idle();
		const before = await stage.usage();

		const begun = performance.now();
		let gone = false;
		const vanished = vanish(stage, { clients, seed }).finally(() => {
			gone = true;
		});
		const [churned] = await Promise.all([talkAll(talks, Number.POSITIVE_INFINITY, () => gone), vanished]);
		const seconds = (performance.now() - begun) / 1000;
		await renewVictim();
		await stage.idle();
		const after = await until(`the daemon is back at ${JSON.stringify(before)}`, async () => {
			const now = await stage.usage();
			const back =
				now.descriptors <= before.descriptors + SPARE_DESCRIPTORS && now.subscriptions <= before.subscriptions;
			return back ? now : null;
		}).catch(async (error: Error) => {
			throw new Error(`${error.message}; it is at ${JSON.stringify(await stage.usage())}`);
		});
		const errors = stage.exceptions();
		if (errors.length > 0) throw new Error(`exceptions in the log: ${errors.slice(0, 3).join("\n")}`);
		return { seconds: Math.round(seconds), quiet: timesOf(quiet), churn: timesOf(churned), before, after };
	} finally {
		for (const client of connections) await client[Symbol.asyncDispose]();
	}
}

/** Every conversation takes its turns; how long each took. */
async function talkAll(talks: readonly Conversation[], turns: number, over: () => boolean): Promise<number[]> {
	const all = talks.map(async (talk, i) => {
		const times: number[] = [];
		for (let turn = 0; turn < turns && !over(); turn++) {
			times.push(await talk.turn());
			await delay(THINK_MS + ((i * 7 + turn * 13) % THINK_MS));
		}
		return times;
	});
	return (await Promise.all(all)).flat();
}

async function vanish(stage: Stage, some: { clients: number; seed: number }): Promise<void> {
	const { socketPath, token } = stage;
	const options: VanishOptions = { ...some, atOnce: AT_ONCE, socketPath, token, host: new URL(stage.url).host };
	const script = join(import.meta.dirname, "vanish.ts");
	const child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)], {
		stdio: ["ignore", "ignore", "inherit"],
	});
	const [code] = (await once(child, "close")) as [number | null];
	if (code !== 0) throw new Error(`the vanishing clients failed: ${code}`);
}

function timesOf(times: readonly number[]): Times {
	const sorted = [...times].sort((a, b) => a - b);
	const at = (share: number) => Math.round((sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN) * 10) / 10;
	return { turns: sorted.length, p50: at(0.5), p99: at(0.99) };
}
