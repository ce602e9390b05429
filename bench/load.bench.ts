// How a quiet session fares while others flood: its keystroke echo and its `send`,
// through the daemon, next to a bare terminal beside the same floods, and tmux with as many flooding windows.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { SocketClient } from "../src/daemon/socket-client.ts";
import { find } from "../test/programs.ts";
import { compiledBench, DaemonHome, quantile } from "./daemon-home.ts";

/** Until the floods are under way and give way: without root the kernel lets ten do so in a second. */
const SETTLE_MS = 3000;
const EACH_MS = process.getuid?.() === 0 ? 0 : 150;
/** Plain and coloured lines of the length of a log's, as fast as a shell can print them, from when the pipe $0 is opened until it is gone. */
const FLOOD =
	": < $0; t=$(for i in $(seq 1 200); do printf '\\033[32m12:00:00\\033[0m INFO request %s took 12 ms path=/a/b/c status=200\\n' $i; done); while [ -e $0 ] && [ $SECONDS -lt 60 ]; do printf '%s\\n' \"$t\"; done";

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const echo = compiledBench("raw-echo");
	const keys = quick ? 100 : 400;
	const sends = quick ? 30 : 100;
	const bare = compiledBench("bare-echo");
	console.log("flooding   echo p50    p99 ms   send p50    p99 ms   bare p50    p99 ms   tmux p50    p99 ms");
	const counts = process.env.DIALTONE_BENCH_FLOODS?.split(",").map(Number) ?? (quick ? [0, 100] : [0, 1, 10, 100]);
	for (const floods of counts) {
		const ours = await dialtone({ floods, keys, sends, echo, bare });
		const peer = find("tmux") === null ? [] : await tmux({ floods, keys, echo });
		const cells = [...quantiles(ours.echo), ...quantiles(ours.send), ...quantiles(ours.bare), ...quantiles(peer)];
		console.log(`${String(floods).padStart(8)}   ${cells.map((cell) => cell.padStart(8)).join("  ")}`);
	}
}

function quantiles(times: readonly number[]): [string, string] {
	return [quantile(times, 0.5).toFixed(1), quantile(times, 0.99).toFixed(1)];
}

interface Load {
	readonly floods: number;
	readonly keys: number;
	readonly echo: string;
}

async function dialtone({
	floods,
	keys,
	sends,
	echo,
	bare,
}: Load & { sends: number; bare: string }): Promise<{ echo: number[]; send: number[]; bare: number[] }> {
	// A disk that 100 logs fill at once is not what is measured.
	await using home = await DaemonHome.make({ DIALTONE_QUOTA_BYTES: String(16 << 20) });
	const go = join(home.path, "go");
	const [client, agent] = [await home.connect("bench"), await home.connect("agent")];
	try {
		await client.call("start", { name: "quiet", argv: [echo] });
		await agent.call("start", { name: "python", argv: ["python3", "-q"] });
		execFileSync("mkfifo", [go]);
		const flood = (i: number) => ({ name: `flood-${i}`, argv: ["bash", "-c", FLOOD, go], timeoutMs: 0 });
		await Promise.all(Array.from({ length: floods }, (_, i) => client.call("start", flood(i))));
		await using _ = await opened(go, floods);
		const [echoed, sent] = [await echoes(client, keys), await turns(agent, sends)];
		const floor = execFileSync(bare, [echo, String(keys)], { encoding: "utf8", timeout: 60_000 });
		return { echo: echoed, send: sent, bare: floor.trim().split("\n").map(Number) };
	} finally {
		// They end by themselves, all at once: ending a flood from outside while 99 others run takes its time.
		await rm(go, { force: true });
		await ended(client);
	}
}

/** Lets those go that wait for the pipe, also those that have not reached it yet. */
async function opened(go: string, floods: number): Promise<AsyncDisposable | null> {
	const pipe = floods === 0 ? null : await open(go, "w");
	await delay(SETTLE_MS + EACH_MS * floods);
	return pipe;
}

async function ended(client: SocketClient): Promise<void> {
	for (;;) {
		const { facts } = await client.call("list", { status: "running" });
		if (!facts.sessions.some(({ name }) => name.startsWith("flood-"))) return;
		await delay(200);
	}
}

async function echoes(client: SocketClient, count: number): Promise<number[]> {
	const stop = new AbortController();
	const chunks = client.output("quiet", { from: 0, signal: stop.signal })[Symbol.asyncIterator]();
	await chunks.next();
	const { lease = "" } = await client.act("quiet", { act: "take", who: "bench" });
	const times: number[] = [];
	for (let i = 0; i < count; i++) {
		const before = performance.now();
		void client.act("quiet", { act: "keys", lease, base64: btoa("k") });
		await chunks.next();
		times.push(performance.now() - before);
		await delay(10);
	}
	stop.abort();
	await client.act("quiet", { act: "hand-back", lease });
	return times;
}

async function turns(client: SocketClient, count: number): Promise<number[]> {
	const times: number[] = [];
	for (let i = 0; i < count; i++) {
		const before = performance.now();
		await client.call("send", { session: "python", text: `${i}`, submit: true });
		times.push(performance.now() - before);
	}
	return times;
}

async function tmux({ floods, keys, echo }: Load): Promise<number[]> {
	const home = await mkdtemp(join(tmpdir(), "dt-load-tmux-"));
	const socket = join(home, "s");
	const go = join(home, "go");
	const command = (...args: string[]) => execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args]);
	let control: ChildProcess | null = null;
	try {
		command("new-session", "-d", "-x", "120", "-y", "40", echo);
		execFileSync("mkfifo", [go]);
		for (let i = 0; i < floods; i++) command("new-window", "-d", "bash", "-c", FLOOD, go);
		control = spawn("tmux", ["-S", socket, "-C", "attach", "-f", "pause-after=1"], {
			stdio: ["pipe", "pipe", "ignore"],
		});
		let echoed = () => {};
		createInterface({ input: control.stdout! }).on("line", (line) => {
			if (/^%(extended-)?output %0 .*k$/.test(line)) echoed();
		});
		await using _ = await opened(go, floods);
		const times: number[] = [];
		for (let i = 0; i < keys; i++) {
			const before = performance.now();
			const answered = new Promise<void>((resolve) => {
				echoed = resolve;
			});
			control.stdin!.write("send-keys -t %0 k\n");
			await answered;
			times.push(performance.now() - before);
			await delay(10);
		}
		return times;
	} finally {
		await rm(go, { force: true });
		control?.kill();
		command("kill-server");
		await rm(home, { recursive: true, force: true });
	}
}
