// What a command in the stateful shell costs: over a bare round trip through the
// same terminal, next to a fresh `bash -c` and to tmux driven from outside.
//
// Rounds are interleaved, so that whatever else the machine does hits all alike;
// read the ratios, not the numbers.
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Dialtone, type Terminal } from "../src/index.ts";

const execute = promisify(execFile);

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const home = await mkdtemp(join(tmpdir(), "dt-bench-"));
	// Nobody's start files: they would be measured, not we.
	process.env.HOME = home;
	try {
		await using dialtone = await Dialtone.open({ owner: "bench" });
		await using tmux = await Tmux.open(home);
		await latency(dialtone, tmux, quick ? 50 : 300);
		await throughput(dialtone, tmux, quick ? 3 : 7, quick ? 500_000 : 2_000_000);
	} finally {
		await rm(home, { recursive: true, force: true, maxRetries: 10 });
	}
}

const command = (dialtone: Dialtone, text: string) =>
	dialtone.client.call("run", { command: text, program: "bash", timeoutMs: 120_000 });

async function latency(dialtone: Dialtone, tmux: Tmux | null, rounds: number): Promise<void> {
	const bare = await BareShell.open(dialtone);
	await command(dialtone, "true");
	const ways: Record<string, () => Promise<unknown>> = {
		"a line typed into bash, its answer seen": () => bare.trip(),
		"run true": () => command(dialtone, "true"),
		"run true, stdout and stderr apart": () =>
			dialtone.client.call("run", { command: "true", shell: "apart", program: "bash", separate: true }),
		"bash -c true (keeps nothing)": () => execute("bash", ["-c", "true"]),
		...(tmux === null ? {} : { "tmux send-keys, wait-for, capture-pane": () => tmux.run("true") }),
	};
	const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
	for (let round = 0; round < rounds; round++) {
		for (const [name, go] of Object.entries(ways)) {
			const before = performance.now();
			await go();
			times.get(name)?.push(performance.now() - before);
		}
	}
	console.log(`one command, ${rounds} rounds        p50 ms   p95 ms`);
	for (const [name, all] of times) console.log(`${name.padEnd(42)} ${quantile(all, 0.5)} ${quantile(all, 0.95)}`);
	const over = Number(quantile(times.get("run true") ?? [], 0.5)) - Number(quantile([...times.values()][0] ?? [], 0.5));
	console.log(`run true over the bare round trip: ${over.toFixed(2)} ms (goal: at most 5)\n`);
}

async function throughput(dialtone: Dialtone, tmux: Tmux | null, rounds: number, lines: number): Promise<void> {
	const text = `seq 1 ${lines}`;
	const bytes = Number(execFileSync("bash", ["-c", `${text} | wc -c`]));
	const ways: Record<string, () => Promise<unknown>> = {
		run: () => command(dialtone, text),
		"bash -c through a pipe": () => execute("bash", ["-c", text], { maxBuffer: 1 << 30 }),
		...(tmux === null ? {} : { tmux: () => tmux.run(text) }),
	};
	const speeds = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
	for (let round = 0; round < rounds; round++) {
		for (const [name, go] of Object.entries(ways)) {
			const before = performance.now();
			await go();
			speeds.get(name)?.push(bytes / 1000 / (performance.now() - before));
		}
	}
	console.log(`${(bytes / 1e6).toFixed(1)} MB of output, ${rounds} rounds   MB/s (median)`);
	for (const [name, all] of speeds) console.log(`${name.padEnd(42)} ${quantile(all, 0.5)}`);
}

function quantile(values: readonly number[], q: number): string {
	const sorted = [...values].sort((a, b) => a - b);
	return (sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN).toFixed(2).padStart(8);
}

/** bash on a terminal with nothing of ours in it: a typed line and the line it prints. */
class BareShell {
	readonly #dialtone: Dialtone;
	readonly #terminal: Terminal;
	readonly #output: AsyncIterator<unknown>;
	#text = "";
	#count = 0;

	private constructor(dialtone: Dialtone, terminal: Terminal) {
		this.#dialtone = dialtone;
		this.#terminal = terminal;
		this.#output = terminal.output({ signal: new AbortController().signal })[Symbol.asyncIterator]();
	}

	static async open(dialtone: Dialtone): Promise<BareShell> {
		const shell = new BareShell(dialtone, await dialtone.start({ argv: ["bash", "--norc"], env: { PS1: "$ " } }));
		await shell.trip();
		return shell;
	}

	async trip(): Promise<void> {
		const answer = `<${++this.#count}>`;
		const line = new TextEncoder().encode(`true; echo "<"${this.#count}">"\r`);
		await this.#dialtone.client.type(this.#terminal.id, line);
		while (!this.#text.includes(answer)) {
			const { value } = await this.#output.next();
			this.#text += new TextDecoder().decode((value as { bytes?: Uint8Array }).bytes);
		}
		this.#text = "";
	}
}

/** A shell in tmux, as scripts drive one: keys in, a channel to wait on, the pane captured. */
class Tmux implements AsyncDisposable {
	readonly #socket: string;

	private constructor(socket: string) {
		this.#socket = socket;
	}

	static async open(home: string): Promise<Tmux | null> {
		const tmux = new Tmux(join(home, "tmux.sock"));
		try {
			await tmux.#do("new-session", "-d", "-x", "120", "-y", "40", "bash --norc");
			await tmux.run("true");
			return tmux;
		} catch {
			console.log("without tmux: it is not installed");
			return null;
		}
	}

	async run(text: string): Promise<string> {
		await this.#do("send-keys", `${text}; tmux -S ${this.#socket} wait-for -S done`, "Enter");
		await this.#do("wait-for", "done");
		return this.#do("capture-pane", "-p");
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#do("kill-server");
	}

	async #do(...args: string[]): Promise<string> {
		return (await execute("tmux", ["-S", this.#socket, ...args])).stdout;
	}
}
