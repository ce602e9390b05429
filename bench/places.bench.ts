// Whose turn it is in another place: the same programs here, over ssh to a real sshd on loopback, in a container of docker and
// podman, and in a pod that is a stand-in, by a real kubectl. How often that was told rightly and as what, and how long after the last byte of a prompt its caller knew.
//
// Beyond a relay the kernel shows the relay alone: what is told rests on the screen and on silence.

import { setTimeout as after } from "node:timers/promises";
import { Dialtone, type SessionFacts, type Terminal } from "../src/index.ts";
import { missing } from "../test/programs.ts";
import { CONTAINER_NEEDS, type ContainerTool, startContainer } from "../test/servers/containers.ts";
import { KUBECTL_NEEDS, startKubernetes } from "../test/servers/kubernetes.ts";
import { SSHD_NEEDS, startSshd } from "../test/servers/sshd.ts";

const PATIENCE_MS = 20_000;
/** The programs of this machine; a container has a `/lib` of its own. */
const VOLUMES = ["/usr:/usr:ro", "/etc:/etc:ro", "/usr/lib/terminfo:/lib/terminfo:ro"];

/** What is typed, and the truth after it: what the program waits for, or for how long it does not. */
interface Moment {
	readonly line?: string;
	readonly text?: string;
	readonly truth: "line" | "screen" | "secret" | number;
	readonly shows?: RegExp;
}

const BASH = ["/usr/bin/bash", "--norc", "--noprofile"];
const PROGRAMS: readonly {
	readonly name: string;
	readonly argv: readonly string[];
	readonly moments: readonly Moment[];
}[] = [
	{
		name: "bash",
		argv: BASH,
		moments: [
			{ truth: "line", shows: /[$#] $/ },
			{ line: "echo hi", truth: "line", shows: /hi\n.*[$#] $/ },
			{ line: "read -p 'name? ' n", truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "line", shows: /[$#] $/ },
		],
	},
	{
		name: "sleep 5",
		argv: BASH,
		moments: [
			{ truth: "line", shows: /[$#] $/ },
			{ line: "sleep 5", truth: 4500 },
			{ truth: "line", shows: /[$#] $/ },
		],
	},
	{
		name: "half a line, then work",
		argv: BASH,
		moments: [
			{ truth: "line", shows: /[$#] $/ },
			{ line: "printf 'working... '; sleep 1.7; echo; echo done", truth: 1500 },
			{ truth: "line", shows: /done\n.*[$#] $/ },
		],
	},
	{
		name: "python3",
		argv: ["/usr/bin/python3", "-q"],
		moments: [
			{ truth: "line", shows: />>> $/ },
			{ line: "6*7", truth: "line", shows: /42\n>>> $/ },
			{ line: "import time; time.sleep(1.5)", truth: 1200 },
			{ truth: "line", shows: />>> $/ },
		],
	},
	{
		name: "password",
		argv: BASH,
		moments: [
			{ truth: "line", shows: /[$#] $/ },
			{ line: "read -s -p 'Password: ' p", truth: "secret", shows: /Password: $/ },
			{ line: "x", truth: "line", shows: /[$#] $/ },
		],
	},
	{
		name: "vim",
		argv: ["/usr/bin/vim.basic", "-u", "NONE", "-N", "-n"],
		moments: [
			{ truth: "screen", shows: /~/ },
			{ text: "ihello", truth: "screen", shows: /hello/ },
		],
	},
];

interface Score {
	right: number;
	kinds: number;
	turns: number;
	certain: number;
	all: number;
	readonly delays: number[];
	readonly wrong: string[];
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	await using places = await open();
	const dialtone = await Dialtone.open({ owner: "bench" });
	const scores = new Map<string, Score>();
	const rounds = quick ? 3 : 10;
	for (let round = 0; round < rounds; round++)
		for (const { name, argv, moments } of PROGRAMS)
			for (const place of [null, ...places.all]) {
				const key = `${place ?? "here"}\t${name}`;
				const score = scores.get(key) ?? { right: 0, kinds: 0, turns: 0, certain: 0, all: 0, delays: [], wrong: [] };
				scores.set(key, score);
				await play(dialtone, { ...(place !== null && { in: place }), argv: [...argv] }, moments, score);
			}
	await dialtone[Symbol.asyncDispose]();
	console.log(["place", "program", "right", "kind", "certain", "p50 ms", "p90 ms"].join("\t"));
	for (const [key, { right, kinds, turns, certain, all, delays, wrong }] of scores) {
		const sorted = delays.sort((a, b) => a - b);
		const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(0) ?? "-";
		console.log([key, `${right}/${all}`, `${kinds}/${turns}`, certain, at(0.5), at(0.9)].join("\t"));
		for (const one of wrong.slice(0, 3)) console.log(`\t\t${one}`);
	}
}

async function play(
	dialtone: Dialtone,
	start: { readonly in?: string; readonly argv: string[] },
	moments: readonly Moment[],
	score: Score,
): Promise<void> {
	let terminal: Terminal | null = null;
	const stop = new AbortController();
	let printedAt = 0;
	let watching: Promise<void> = Promise.resolve();
	for (const moment of moments) {
		const isTurn = typeof moment.truth === "string";
		const timeoutMs = typeof moment.truth === "number" ? moment.truth : PATIENCE_MS;
		let facts: SessionFacts;
		if (terminal === null) {
			terminal = await dialtone.start({ ...start, timeoutMs });
			facts = terminal.facts;
			const { id } = terminal;
			watching = (async () => {
				for await (const _ of dialtone.client.output(id, { from: facts.offset, signal: stop.signal }))
					printedAt = performance.now();
			})().catch(() => {}); // aborted
		} else {
			const typed =
				moment.line === undefined ? { text: moment.text ?? "" } : { text: moment.line, submit: true as const };
			const isWait = moment.line === undefined && moment.text === undefined;
			facts = isWait ? await terminal.wait({ timeoutMs }) : await terminal.send({ ...typed, timeoutMs });
			const told = performance.now();
			// A keystroke's own echo was the last thing printed.
			if (isTurn && printedAt > 0) score.delays.push(told - printedAt);
		}
		const screen = (await terminal.read({ view: "screen" })).text;
		const shown = moment.shows?.test(`${screen.trimEnd()} `) ?? true;
		const right = isTurn ? facts.activity === "waiting" && shown : facts.returned === "timeout";
		score.all++;
		if (right) score.right++;
		else score.wrong.push(`${moment.line ?? moment.text ?? "at first"}: ${facts.activity} (${facts.because})`);
		if (isTurn && right) score.turns++;
		if (isTurn && right && facts.waitingFor === moment.truth) score.kinds++;
		if (isTurn && right && facts.waitingFor !== moment.truth)
			score.wrong.push(`${moment.line ?? moment.text ?? "at first"}: for a ${facts.waitingFor} (${facts.because})`);
		if (facts.certainty === "certain" && isTurn) score.certain++;
		// What was told too early is waited for, so that the next moment is what it says.
		if (!right) await terminal.wait({ until: { stillMs: 3000 }, timeoutMs: PATIENCE_MS });
	}
	await terminal?.close({ force: true });
	stop.abort();
	await watching;
	await after(0);
}

/** The places that this machine can have. */
async function open(): Promise<AsyncDisposable & { readonly all: readonly string[] }> {
	const opened: AsyncDisposable[] = [];
	const all: string[] = [];
	if (missing(...SSHD_NEEDS).length === 0) {
		const sshd = await startSshd();
		opened.push(sshd);
		process.env.PATH = `${sshd.bin}:${process.env.PATH}`;
		all.push("ssh:far");
	}
	for (const tool of ["docker", "podman"] satisfies ContainerTool[]) {
		if (missing(...CONTAINER_NEEDS[tool]).length > 0) continue;
		const container = await startContainer(tool, { volumes: VOLUMES });
		opened.push(container);
		Object.assign(process.env, container.env);
		all.push(`${tool}:${container.name}`);
	}
	if (missing(...KUBECTL_NEEDS).length === 0) {
		const kubernetes = await startKubernetes();
		opened.push(kubernetes);
		Object.assign(process.env, kubernetes.env);
		all.push("kubectl:pod-0");
	}
	return {
		all,
		[Symbol.asyncDispose]: async () => {
			for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
		},
	};
}
