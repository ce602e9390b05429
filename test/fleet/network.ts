// Three machines on one network, without the machines: network namespaces with an address each, joined by a bridge.
// The test itself is on that network, too, at the bridge.
//
// Links are cut, healed and slowed one by one: the cable of each is a program (test/fixtures/cable.c), which works with every
// kernel. What an earlier run left behind when it was killed is removed first, by the names, which have the pid of their
// maker. A test that uses it declares NETWORK_NEEDS.

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { find } from "../programs.ts";
import { compiled } from "../pty/stage.ts";

export const NETWORK_NEEDS: readonly string[] = ["ip", "network namespaces"];

/** What a link does to packets, in each direction; they arrive in the order in which they were sent. */
export interface Slowness {
	readonly delayMs?: number;
	/** Each packet is late by up to so much more. */
	readonly jitterMs?: number;
	readonly lossPercent?: number;
	readonly kilobitsPerSecond?: number;
}

const LETTERS = ["a", "b", "c"] as const;

export class Machine {
	readonly letter: string;
	readonly address: string;
	/** The namespace. */
	readonly name: string;
	/** Its end of the cable at the bridge. */
	readonly port: string;
	#cable: Cable | null = null;

	constructor(letter: string, address: string) {
		this.letter = letter;
		this.address = address;
		this.name = `dtf-${process.pid}-${letter}`;
		this.port = `dtf${process.pid}${letter}`;
	}

	/** What a command line begins with, to run there. The process has the pid that was spawned. */
	get prefix(): readonly string[] {
		return [find("ip")!, "netns", "exec", this.name];
	}

	spawn(argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
		const [program, ...args] = [...this.prefix, ...argv];
		return spawn(program!, args, options);
	}

	/** Nothing gets through any more, and nobody is told. */
	cut(): void {
		ip("link", "set", this.port, "down");
	}

	heal(): void {
		ip("link", "set", this.port, "up");
	}

	/** The machine has no network and knows it: whoever sends is told so. */
	down(): void {
		ip("-netns", this.name, "link", "set", "eth0", "down");
	}

	up(): void {
		ip("-netns", this.name, "link", "set", "eth0", "up");
	}

	/** Replaces how it was slowed before. */
	slow(how: Slowness): Promise<void> {
		return this.#cable!.slow(how);
	}

	unslow(): Promise<void> {
		return this.slow({});
	}

	/** Lays the cable that gives it `eth0`, its port at the bridge and its address. */
	async connect(bridge: string): Promise<void> {
		ip("netns", "add", this.name);
		this.#cable = await Cable.lay(this.port, this.name, "eth0");
		ip("link", "set", this.port, "master", bridge, "up");
		for (const device of ["lo", "eth0"]) ip("-netns", this.name, "link", "set", device, "up");
		ip("-netns", this.name, "address", "add", `${this.address}/24`, "dev", "eth0");
	}

	async disconnect(): Promise<void> {
		await this.#cable?.[Symbol.asyncDispose]();
	}
}

/** The program that carries packets between two devices, which it makes and which are gone with it. */
class Cable implements AsyncDisposable {
	readonly #program: ChildProcess;
	readonly #answers: AsyncIterator<string>;

	private constructor(program: ChildProcess) {
		this.#program = program;
		this.#answers = createInterface({ input: program.stdout! })[Symbol.asyncIterator]();
	}

	static async lay(port: string, namespace: string, device: string): Promise<Cable> {
		const args = [port, namespace, device];
		const cable = new Cable(spawn(compiled("cable"), args, { stdio: ["pipe", "pipe", "inherit"] }));
		await cable.#answered("ready");
		return cable;
	}

	async slow({ delayMs = 0, jitterMs = 0, lossPercent = 0, kilobitsPerSecond = 0 }: Slowness): Promise<void> {
		this.#program.stdin!.write(`${delayMs} ${jitterMs} ${lossPercent} ${kilobitsPerSecond}\n`);
		await this.#answered("set");
	}

	async #answered(answer: string): Promise<void> {
		const { value } = await this.#answers.next();
		if (value !== answer) throw new Error(`the cable has ended: ${this.#program.exitCode}`);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#program.exitCode !== null) return;
		const ended = once(this.#program, "exit");
		this.#program.stdin!.end();
		await ended;
	}
}

export class Network implements AsyncDisposable {
	readonly machines: readonly Machine[];

	private constructor(machines: readonly Machine[]) {
		this.machines = machines;
	}

	static async start(): Promise<Network> {
		removeLeftovers();
		const net = freeNet();
		const bridge = `dtf${process.pid}`;
		const network = new Network(LETTERS.map((letter, index) => new Machine(letter, `${net}.${index + 1}`)));
		try {
			ip("link", "add", bridge, "type", "bridge", "forward_delay", "0", "stp_state", "0");
			ip("address", "add", `${net}.254/24`, "dev", bridge);
			ip("link", "set", bridge, "up");
			for (const machine of network.machines) await machine.connect(bridge);
			return network;
		} catch (error) {
			await network[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** What runs in it has ended before: a namespace lives as long as a process in it. */
	async [Symbol.asyncDispose](): Promise<void> {
		for (const machine of this.machines) await machine.disconnect();
		removeOf(process.pid);
	}
}

const ip = (...args: string[]): string =>
	execFileSync(find("ip")!, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const OURS = /\bdtf-?(\d+)/g;

function removeLeftovers(): void {
	const found = [ip("netns", "list"), ip("-brief", "link")].join("\n").matchAll(OURS);
	for (const pid of new Set([...found].map(([, maker]) => Number(maker))))
		if (pid === process.pid || !existsSync(`/proc/${pid}`)) removeOf(pid);
}

function removeOf(pid: number): void {
	const named = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([name]) => name);
	// A cable whose maker was killed ends by itself; one that hangs loses its devices.
	for (const port of named(ip("-brief", "link"), new RegExp(`^dtf${pid}[a-c]?\\b`, "gm"))) ip("link", "del", port);
	for (const name of named(ip("netns", "list"), new RegExp(`^dtf-${pid}-[a-c]\\b`, "gm"))) ip("netns", "del", name);
}

/** Of the range for tests between networks, which nobody routes. */
function freeNet(): string {
	const net = `198.${randomInt(18, 20)}.${randomInt(0, 256)}`;
	return ip("-brief", "address").includes(`${net}.`) ? freeNet() : net;
}
