// How 20 quiet sessions fare while others take all they can get: a fork bomb, a memory hog, a flood, a spinner and disk
// fillers, each under its limit and started again as soon as it has been ended. The goal: an answer within 200 ms.
import { setTimeout as delay } from "node:timers/promises";
import type { SocketClient } from "../src/daemon/socket-client.ts";
import { Conversation } from "../test/robustness/conversation.ts";
import { hogs } from "../test/robustness/hogs.ts";
import { DaemonHome, quantile } from "./daemon-home.ts";

const SESSIONS = 20;
const PAUSE_MS = 20;

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const forMs = quick ? 4000 : 20_000;
	await using home = await DaemonHome.make();
	const client = await home.connect("quiet");
	const quiet: Conversation[] = [];
	for (let i = 0; i < SESSIONS; i++) quiet.push(await Conversation.start(client, "bash"));
	console.log("beside          answers   p50 ms   p99 ms   longest ms   ended");
	report("nothing", await turns(quiet, forMs), 0);
	const all = hogs(home.path);
	for (const some of [...all.map((hog) => [hog]), all]) {
		const stop = new AbortController();
		const hogClient = await home.connect("hogs");
		const keeping = Promise.all(some.map((hog) => keepRunning(hogClient, hog, stop.signal)));
		const times = await turns(quiet, forMs);
		stop.abort();
		report(
			some.length > 1 ? "all of them" : some[0]!.name,
			times,
			(await keeping).reduce((sum, count) => sum + count, 0),
		);
	}
}

/** How many times its limit ended it. */
async function keepRunning(
	client: SocketClient,
	{ name, argv, limits, because }: ReturnType<typeof hogs>[number],
	stop: AbortSignal,
): Promise<number> {
	let ended = 0;
	while (!stop.aborted) {
		await client.call("start", { name, argv: [...argv], limits, timeoutMs: 0 });
		const wait = () => client.call("wait", { session: name, until: { text: "never" } });
		let { facts } = await wait();
		for (; facts.status === "running"; { facts } = await wait()) await delay(PAUSE_MS); // its holder may be busy with killing a bomb
		if (!facts.because.startsWith(because)) throw new Error(`${name} was not contained: ${facts.because}`);
		ended++;
		await delay(PAUSE_MS);
	}
	return ended;
}

async function turns(conversations: readonly Conversation[], forMs: number): Promise<number[]> {
	const until = performance.now() + forMs;
	const times: number[] = [];
	for (let i = 0; performance.now() < until; i++) {
		times.push(await conversations[i % conversations.length]!.turn());
		await delay(PAUSE_MS);
	}
	return times;
}

function report(beside: string, times: readonly number[], ended: number): void {
	const cells = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)].map((ms) => ms.toFixed(1));
	const [p50, p99, longest] = cells as [string, string, string];
	console.log(
		`${beside.padEnd(16)}${String(times.length).padStart(7)}${p50.padStart(9)}${p99.padStart(9)}${longest.padStart(13)}${String(ended).padStart(8)}`,
	);
}
