// What many sessions cost: a thousand idle ones, thousands that have ended, and
// the first call after the daemon was killed.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SocketClient } from "../src/daemon/socket-client.ts";
import { newId } from "../src/session/identity.ts";
import { DaemonHome, quantile, timed } from "./daemon-home.ts";

export async function run({ quick }: { quick: boolean }): Promise<void> {
	await idle(quick ? 100 : 1000);
	await ended(quick ? 1000 : 10_000);
	await killed(quick ? 3 : 10);
}

const median = (times: readonly number[]) => quantile(times, 0.5).toFixed(1);

async function times(count: number, act: (index: number) => Promise<unknown>): Promise<number[]> {
	const all: number[] = [];
	for (let i = 0; i < count; i++) all.push(await timed(() => act(i)));
	return all;
}

function residentKb(pid: number): number {
	return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

/** Sessions at a prompt that nobody looks at. */
async function idle(count: number): Promise<void> {
	await using home = await DaemonHome.make({ DIALTONE_HIBERNATE_MS: "2000" });
	const client = await home.connect();
	const { pid } = await client.status();
	// What the first sessions cost once is not theirs.
	for (let i = 0; i < 10; i++) await start(client, `first-${i}`);
	await delay(5000);
	const before = residentKb(pid);
	for (let i = 0; i < count; i += 10) {
		await Promise.all(Array.from({ length: 10 }, (_, j) => start(client, `idle-${i + j}`)));
	}
	await delay(10_000);
	const each = (residentKb(pid) - before) / count;
	const lists = await times(5, () => client.call("list", {}));
	const looks = await times(20, (i) => client.call("read", { session: `idle-${i * 3}`, view: "screen" }));
	console.log(`\n${count} idle sessions`);
	console.log(`  memory of the daemon for each   ${each.toFixed(0)} KB (goal: 60)`);
	console.log(`  list                            ${median(lists)} ms (goal: 20)`);
	console.log(
		`  a screen that was put away      ${median(looks)} ms, p99 ${quantile(looks, 0.99).toFixed(1)} (goal: 20)`,
	);
}

const start = (client: SocketClient, name: string) =>
	client.call("start", { name, argv: ["bash", "--norc", "--noprofile"], env: { PS1: "$ " } });

/** Sessions that have ended and are still on disk. */
async function ended(count: number): Promise<void> {
	await using home = await DaemonHome.make();
	const sessions = join(home.path, "sessions");
	const measure = async () => {
		const client = await home.connect();
		await client.call("start", { argv: ["true"] });
		const starts = await times(20, () => client.call("start", { argv: ["true"] }));
		const lists = await times(10, () => client.call("list", {}));
		return { start: median(starts), list: median(lists) };
	};
	const few = await measure();
	await (await home.connect()).stop({ sessions: true });
	const [model] = readdirSync(sessions);
	const record = JSON.parse(readFileSync(join(sessions, model!, "meta.json"), "utf8"));
	for (let i = 0; i < count; i++) {
		const id = newId();
		cpSync(join(sessions, model!), join(sessions, id), { recursive: true });
		writeFileSync(join(sessions, id, "meta.json"), JSON.stringify({ ...record, id, name: `old-${i}` }));
	}
	const many = await measure();
	console.log(`\nended sessions on disk            20        ${count}`);
	console.log(`  start                           ${few.start} ms    ${many.start} ms`);
	console.log(`  list                            ${few.list} ms    ${many.list} ms`);
}

/** From the daemon's death to the first good answer. */
async function killed(rounds: number): Promise<void> {
	await using home = await DaemonHome.make();
	let client = await home.connect();
	for (let i = 0; i < 20; i++) await start(client, `s${i}`);
	const calls: number[] = [];
	const bare: number[] = [];
	for (let round = 0; round < rounds; round++) {
		process.kill((await client.status()).pid, "SIGKILL");
		calls.push(
			await timed(async () => {
				client = await home.connect();
				await client.call("send", { session: `s${round}`, text: "echo $((6*7))", submit: true });
			}),
		);
		bare.push(await timed(async () => void execFileSync(process.execPath, ["-e", "0"])));
	}
	const ratio = quantile(calls, 0.5) / quantile(bare, 0.5);
	console.log("\nfirst good call after kill -9 of the daemon, 20 sessions");
	console.log(`  ${median(calls)} ms, bare node ${median(bare)} ms: ${ratio.toFixed(1)} × (goal: 3)`);
}
