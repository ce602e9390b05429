// Who uses the sessions of a fleet while it is harmed, on each machine: each asks of its own and of the others', and tells
// the checker what it was told.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunFacts } from "../../src/protocol/answer.ts";
import { Fault, isFault } from "../../src/protocol/fault.ts";
import type { Client } from "../../src/tools/client.ts";
import type { Random } from "../fuzz/random.ts";
import { LineCheck } from "../soak/actors.ts";
import type { Checker } from "./checker.ts";
import type { JoinedMachine, JoinedMachines } from "./joined-machines.ts";

export interface Scene {
	readonly machines: JoinedMachines;
	readonly checker: Checker;
	readonly isOver: () => boolean;
}

/** A program that prints each line that it reads, once: the terminal does not echo. */
export const QUIET: readonly string[] = ["sh", "-c", "stty -echo; echo ready; exec cat"];
const WAIT_MS = 10_000;
/** The code with which the sessions end that are started, when they are told to. */
const EXIT_CODE = 7;
const UNTIL_TOLD: readonly string[] = ["sh", "-c", `stty -echo; read line; exit ${EXIT_CODE}`];
/** A start that is placed asks the servers first, where it was placed before, and tells them. */
const PLACED_MS = 10_000;
/** Longer than harms last together. */
const OUTAGE_MS = 300_000;

/** What a session of that machine is called on this one. */
const seenFrom = (by: JoinedMachine, on: JoinedMachine, name: string) => (by === on ? name : `${on.name}/${name}`);
const called = (client: Client, tool: string, input: object) => client.call(tool as never, input as never);

/** Types numbered lines into the quiet sessions of all machines. */
export async function typist({ machines, checker, isOver }: Scene, by: JoinedMachine, random: Random): Promise<number> {
	let count = 0;
	for (; !isOver(); count++) {
		const on = random.pick(machines.machines);
		const text = `${by.name} line ${count}`;
		const session = seenFrom(by, on, "quiet");
		const input = { session, text, submit: true, until: { text: `${text}$` }, timeoutMs: WAIT_MS };
		const result = await checker.call({ what: "send", by: by.name, on: [on.name], waitMs: WAIT_MS }, () =>
			called(by.client, "send", input),
		);
		checker.typed(`${on.name}/quiet`, text, "answer" in result ? "yes" : result.done);
		await delay(20 + random.int(150));
	}
	return count;
}

/** Follows a counter from its first byte to its last, over as many streams as it takes. */
export async function follower({ checker }: Scene, by: JoinedMachine, on: JoinedMachine): Promise<number> {
	const check = new LineCheck();
	while (check.end === null) {
		await checker.call({ what: "output", by: by.name, on: [on.name], waitMs: Number.POSITIVE_INFINITY }, async () => {
			const { signal } = new AbortController();
			const session = seenFrom(by, on, "counter");
			for await (const chunk of by.client.output(session, { from: check.offset, signal })) check.take(chunk);
		});
		await delay(100);
	}
	if (check.gapBytes > 0) checker.problem(`${by.name} misses ${check.gapBytes} bytes of ${on.name}'s counter`);
	return check.offset;
}

/** Lists everything again and again. */
export async function lister({ checker, isOver }: Scene, by: JoinedMachine): Promise<void> {
	while (!isOver()) {
		const from = Date.now();
		const result = await checker.call({ what: "list", by: by.name, on: [by.name] }, () => by.client.call("list", {}));
		if ("answer" in result) checker.listed(by.name, result.answer.facts, { from, at: Date.now() });
		await delay(400);
	}
}

/** Reads a session of its own machine: nothing that happens to others may be noticed there. */
export async function localReader({ checker, isOver }: Scene, by: JoinedMachine): Promise<void> {
	while (!isOver()) {
		await checker.call({ what: "read", by: by.name, on: [by.name] }, () =>
			by.client.call("read", { session: "quiet", view: "screen" }),
		);
		await delay(100);
	}
}

/** Starts by name, wherever there is room, until it is answered; has another machine repeat it; ends it. */
export async function starter(scene: Scene, by: JoinedMachine, random: Random): Promise<number> {
	const { machines, checker, isOver } = scene;
	let count = 0;
	for (; !isOver(); count++) {
		const name = `${by.name}-${count}`;
		const other = random.pick(machines.machines);
		const { session: first, status } = await placed(scene, by, name);
		if (status !== "running") {
			checker.lostAtStart(first, status);
			continue;
		}
		const { session: again } = await placed(scene, other, name);
		if (first !== again) checker.problem(`${name} was started as ${first}, and again as ${again}`);
		const running = await Promise.all(machines.machines.map((machine) => runningThere(scene, machine, name)));
		const all = running.flat();
		if (all.length !== 1) checker.problem(`${name} runs ${all.length} times: ${all.join(", ")}`);
		const [host] = first.split("/");
		checker.runs(host!, name);
		const session = host === by.name ? name : `${host}/${name}`;
		if (random.chance(0.5)) {
			const closed = { tool: "close", on: [host!], input: { session } };
			await checker.ends(host!, name, { status: "cancelled", code: null }, () => persist(scene, by, closed));
		} else {
			const input = { session, text: "end", submit: true, until: { only: true }, timeoutMs: WAIT_MS };
			const told = { tool: "send", on: [host!], input, waitMs: WAIT_MS };
			await checker.ends(host!, name, { status: "failed", code: EXIT_CODE }, () => persist(scene, by, told));
		}
		await delay(500 + random.int(1500));
	}
	return count;
}

/** `host/id` of what was started, and whether it runs. */
async function placed(
	scene: Scene,
	by: JoinedMachine,
	name: string,
): Promise<{ readonly session: string; readonly status: string }> {
	const input = { name, argv: UNTIL_TOLD, placement: "least-loaded", ifExists: "use", timeoutMs: 0 };
	const { facts } = await persist(scene, by, { tool: "start", on: scene.machines.names, input, waitMs: PLACED_MS });
	const { session, status } = facts as { readonly session: string; readonly status: string };
	return { session: session.includes("/") ? session : `${by.name}/${session}`, status };
}

async function runningThere(scene: Scene, machine: JoinedMachine, name: string): Promise<readonly string[]> {
	const { facts } = await persist(scene, machine, { tool: "list", on: [machine.name], input: {} });
	const { sessions } = facts as {
		readonly sessions: readonly { name: string; session: string; host?: string; status: string }[];
	};
	return sessions
		.filter((one) => one.host === undefined && one.name === name && one.status === "running")
		.map(({ session }) => `${machine.name}/${session}`);
}

/** Calls until it is answered. */
async function persist(
	{ checker }: Scene,
	by: JoinedMachine,
	{
		tool,
		on,
		input,
		waitMs = 0,
	}: { readonly tool: string; readonly on: readonly string[]; readonly input: object; readonly waitMs?: number },
) {
	for (const since = Date.now(); ; ) {
		const result = await checker.call({ what: tool, by: by.name, on, waitMs }, () =>
			called(by.client, tool, input).catch((error: unknown) => {
				// It was told to end before this try.
				if (tool === "send" && isFault(error, "session_ended")) return { facts: {} };
				throw error;
			}),
		);
		if ("answer" in result) return result.answer;
		if (Date.now() - since > OUTAGE_MS)
			throw new Error(`${tool} by ${by.name} ${JSON.stringify(input)} fails for ever: ${result.refused.message}`);
		await delay(200);
	}
}

/** Runs commands that leave a line each in a file of the machine on which they ran. */
export async function runner({ machines, checker, isOver }: Scene, by: JoinedMachine, random: Random): Promise<number> {
	let count = 0;
	for (; !isOver(); count++) {
		const on = random.pick(machines.machines);
		const line = `${by.name} ran ${count}`;
		const shell = seenFrom(by, on, `shell-of-${by.name}`);
		const input = {
			command: `echo "${line}" >> ${ranOn(on)}`,
			shell,
			program: "bash",
			clean: true,
			timeoutMs: WAIT_MS,
		};
		const result = await checker.call({ what: "run", by: by.name, on: [on.name], waitMs: WAIT_MS }, () =>
			called(by.client, "run", input),
		);
		const { exitCode = null, timedOut = false } = "answer" in result ? (result.answer.facts as Partial<RunFacts>) : {};
		// Its time may be over before the daemon is there that types it; then it is interrupted, and told so.
		if (exitCode !== null && exitCode !== 0 && !timedOut) checker.problem(`"${line}" ended with ${exitCode}`);
		const isRan = exitCode === 0 ? "yes" : "maybe";
		checker.typed(`${on.name}/ran`, line, "answer" in result ? isRan : result.done);
		await delay(100 + random.int(300));
	}
	return count;
}

/** What commands leave there. */
export const ranOn = ({ home }: JoinedMachine): string => join(home.path, "ran");

/** Takes over a session that others take over, too, and types with its lease until that is refused. */
export async function driver({ machines, checker, isOver }: Scene, by: JoinedMachine, random: Random): Promise<number> {
	let leases = 0;
	while (!isOver()) {
		const on = random.pick(machines.machines);
		const session = seenFrom(by, on, "driven");
		const place = { by: by.name, on: [on.name] };
		const taken = await checker.call({ what: "take", ...place }, () =>
			by.client.act(session, { act: "take", who: by.name }),
		);
		const lease = "answer" in taken ? taken.answer.lease! : null;
		if (lease !== null) leases++;
		for (let line = 0; lease !== null && line < 5 && !isOver(); line++) {
			const text = `${by.name} ${leases} ${line}`;
			const base64 = Buffer.from(`${text}\r`).toString("base64");
			const result = await checker.call({ what: "keys", ...place }, () =>
				by.client.act(session, { act: "keys", lease, base64 }).catch((error: unknown) => {
					if (error instanceof Fault && LOST_LEASE.has(error.code)) return null;
					throw error;
				}),
			);
			const done = "answer" in result ? (result.answer === null ? "no" : "yes") : result.done;
			checker.typed(`${on.name}/driven`, text, done);
			if ("answer" in result && result.answer === null) break;
			await delay(random.int(200));
		}
		await delay(200 + random.int(500));
	}
	return leases;
}

const LOST_LEASE: ReadonlySet<string> = new Set(["driven_by_human", "not_driving"]);

/** Lines typed with one lease are never among those of another: there was one driver at a time. */
export function checkDrivers(checker: Checker, host: string, output: string): void {
	const over = new Set<string>();
	let current = "";
	for (const line of output.split("\r\n")) {
		const lease = /^(\w+ \d+) \d+$/.exec(line)?.[1];
		if (lease === undefined || lease === current) continue;
		if (over.has(lease)) checker.problem(`${host}: the lease "${lease}" typed after it was lost`);
		over.add(current);
		current = lease;
	}
}
