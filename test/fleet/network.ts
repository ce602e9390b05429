// Three machines on one network, without the machines: network namespaces with an address each, joined by a bridge.
// The test itself is on that network, too, at the bridge.
//
// Links are cut, healed and slowed one by one. What an earlier run left behind when it was killed is removed first, by the
// names, which have the pid of their maker. A test that uses it declares NETWORK_NEEDS.

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { find } from "../programs.ts";

export const NETWORK_NEEDS: readonly string[] = ["ip", "tc", "network namespaces"];

/** How a link is slow. Delay and loss need a kernel with netem (declare "netem"); this is for each direction. */
export interface Slowness {
	readonly kilobitsPerSecond?: number;
	readonly delayMs?: number;
	readonly lossPercent?: number;
}

const LETTERS = ["a", "b", "c"] as const;

export class Machine {
	readonly letter: string;
	readonly address: string;
	/** The namespace. */
	readonly name: string;
	/** Its end of the cable at the bridge. */
	readonly port: string;

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

	/** Replaces how it was slowed before. */
	slow(how: Slowness): void {
		const discipline = disciplineOf(how);
		tc("qdisc", "replace", "dev", this.port, "root", ...discipline);
		ip("netns", "exec", this.name, find("tc")!, "qdisc", "replace", "dev", "eth0", "root", ...discipline);
	}

	unslow(): void {
		tc("qdisc", "del", "dev", this.port, "root");
		ip("netns", "exec", this.name, find("tc")!, "qdisc", "del", "dev", "eth0", "root");
	}
}

export class Network implements Disposable {
	readonly machines: readonly Machine[];
	readonly #bridge = `dtf${process.pid}`;

	constructor() {
		removeLeftovers();
		const net = freeNet();
		this.machines = LETTERS.map((letter, index) => new Machine(letter, `${net}.${index + 1}`));
		try {
			ip("link", "add", this.#bridge, "type", "bridge", "forward_delay", "0", "stp_state", "0");
			ip("address", "add", `${net}.254/24`, "dev", this.#bridge);
			ip("link", "set", this.#bridge, "up");
			for (const machine of this.machines) this.#add(machine);
		} catch (error) {
			this[Symbol.dispose]();
			throw error;
		}
	}

	#add({ name, port, address }: Machine): void {
		ip("netns", "add", name);
		ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name);
		ip("link", "set", port, "master", this.#bridge, "up");
		for (const device of ["lo", "eth0"]) ip("-netns", name, "link", "set", device, "up");
		ip("-netns", name, "address", "add", `${address}/24`, "dev", "eth0");
	}

	/** What runs in it has ended before: a namespace lives as long as a process in it. */
	[Symbol.dispose](): void {
		removeOf(process.pid);
	}
}

function disciplineOf({ kilobitsPerSecond, delayMs = 0, lossPercent = 0 }: Slowness): readonly string[] {
	const rate = kilobitsPerSecond === undefined ? [] : ["rate", `${kilobitsPerSecond}kbit`];
	if (delayMs === 0 && lossPercent === 0) return ["tbf", ...rate, "burst", "32kbit", "latency", "400ms"];
	return ["netem", "delay", `${delayMs}ms`, "loss", `${lossPercent}%`, ...rate, "limit", "10000"];
}

const run = (program: string, args: readonly string[]): string =>
	execFileSync(find(program)!, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const ip = (...args: string[]) => run("ip", args);
const tc = (...args: string[]) => run("tc", args);

const OURS = /\bdtf-?(\d+)/g;

function removeLeftovers(): void {
	const found = [ip("netns", "list"), ip("-brief", "link")].join("\n").matchAll(OURS);
	for (const pid of new Set([...found].map(([, maker]) => Number(maker))))
		if (pid === process.pid || !existsSync(`/proc/${pid}`)) removeOf(pid);
}

function removeOf(pid: number): void {
	const named = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([name]) => name);
	// With the namespace goes its end of the cable, and with that the other one: but only when no process is in it.
	for (const port of named(ip("-brief", "link"), new RegExp(`^dtf${pid}[a-c]?\\b`, "gm"))) ip("link", "del", port);
	for (const name of named(ip("netns", "list"), new RegExp(`^dtf-${pid}-[a-c]\\b`, "gm"))) ip("netns", "del", name);
}

/** Of the range for tests between networks, which nobody routes. */
function freeNet(): string {
	const net = `198.${randomInt(18, 20)}.${randomInt(0, 256)}`;
	return ip("-brief", "address").includes(`${net}.`) ? freeNet() : net;
}
