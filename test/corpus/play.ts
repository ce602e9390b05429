// Plays one case through the library, as a caller would, and compares the answers with the truth.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Dialtone, Fault, type SessionFacts, type Terminal } from "../../src/index.ts";
import { named, SYSTEM_PATH, stubs } from "../programs.ts";
import type { Case, Place, Step, Truth } from "./case.ts";
import { complains, HOME, notApplicable, roomFor } from "./confined.ts";
import { cpuMs, holderOf } from "./holder-cpu.ts";

export interface Outcome {
	readonly case: string;
	readonly step: number;
	readonly truth: Truth;
	/** Whose turn it is was told rightly. */
	readonly right: boolean;
	/** So was what it waits for; null where it was not told or is not asked. */
	readonly kindRight: boolean | null;
	/** What was told: activity and what for. */
	readonly told: string;
	readonly certainty: string;
	readonly because: string;
	readonly elapsedMs: number;
	/** The holder's share of a processor meanwhile; null where it was the caller's turn, or too short to tell. */
	readonly holderCpu: number | null;
	readonly known: string | null;
	/** What the screen showed, kept for a wrong answer. */
	readonly screen: string;
}

// Only a hang reaches it: programs start slowly on a busy machine.
const PATIENCE_MS = 20_000;
const BUSY_MS = 700;
// Looks are close together at first: a short watch says nothing about a long one.
const LEAST_WATCH_MS = 400;
// A call returns this soon after its timeout, unless the machine stalls.
const LATE_MS = 250;
const COLS = 100;
const ROWS = 30;

const shared = new Map<string, Promise<AsyncDisposable>>();

/** Told why a case cannot be played in a sandbox. */
type LeaveOut = (name: string, because: string) => void;

/** Plays them all, a few at a time, and ends the servers that they shared. With `leaveOut`: in a sandbox. */
export async function playAll(
	cases: readonly Case[],
	dialtone: Dialtone,
	lanes: number,
	leaveOut?: LeaveOut,
): Promise<Outcome[]> {
	const left = [...cases];
	const outcomes: Outcome[] = [];
	const lane = async () => {
		for (let one = left.shift(); one !== undefined; one = left.shift())
			outcomes.push(...(await play(one, dialtone, leaveOut)));
	};
	// All lanes come to rest before anything they use is taken away.
	const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
	await endShared();
	for (const end of ends) if (end.status === "rejected") throw end.reason;
	return outcomes.sort((a, b) => a.case.localeCompare(b.case) || a.step - b.step);
}

async function endShared(): Promise<void> {
	for (const server of shared.values()) await (await server)[Symbol.asyncDispose]();
	shared.clear();
}

async function play(one: Case, dialtone: Dialtone, leaveOut?: LeaveOut): Promise<Outcome[]> {
	const directory = await mkdtemp(join(tmpdir(), "dialtone-corpus-"));
	const undos: (() => Promise<void> | void)[] = [() => rm(directory, { recursive: true, force: true })];
	const place: Place = {
		directory,
		defer: (undo) => undos.push(undo),
		share: async (name, start) => {
			if (!shared.has(name)) shared.set(name, start());
			return (await shared.get(name)) as Awaited<ReturnType<typeof start>>;
		},
	};
	try {
		return await playIn(one, dialtone, place, leaveOut);
	} finally {
		for (const undo of undos.reverse()) await undo();
	}
}

async function playIn(one: Case, dialtone: Dialtone, place: Place, leaveOut?: LeaveOut): Promise<Outcome[]> {
	const argv = typeof one.start === "function" ? await one.start(place) : one.start;
	const undeclared = named(argv).filter((program) => !one.needs.includes(program));
	if (undeclared.length > 0) throw new Error(`case "${one.name}" must declare that it needs ${undeclared.join(", ")}`);
	const path = stubs(one.needs);
	place.defer(() => rm(path, { recursive: true }));
	const sandbox = leaveOut && roomFor(place.directory, path);
	const because = sandbox === undefined ? null : notApplicable(one, argv, sandbox);
	if (because !== null) {
		leaveOut?.(one.name, because);
		return [];
	}
	const outcomes: Outcome[] = [];
	let terminal: Terminal | null = null;
	let holder: number | null = null;
	let cpuBefore = 0;
	try {
		for (const [index, step] of one.steps.entries()) {
			const timeoutMs = isTurn(step.truth) || step.truth === "ended" ? PATIENCE_MS : (step.forMs ?? BUSY_MS);
			let facts: SessionFacts;
			if (terminal === null) {
				const PATH = `${path}:${SYSTEM_PATH}`;
				const { directory } = place;
				const home = sandbox === undefined ? directory : HOME;
				const env = { HOME: home, TMPDIR: directory, LC_ALL: "C.UTF-8", PATH, SHELL: "/bin/bash", ...one.env };
				terminal = await dialtone.start({
					argv: [...argv],
					cwd: place.directory,
					env,
					// What this machine has set (DEBIAN_FRONTEND, say) is not part of a case.
					inherit: "none",
					...(sandbox !== undefined && { sandbox: { ...sandbox, ro: [...sandbox.ro] } }),
					cols: COLS,
					rows: ROWS,
					timeoutMs,
				});
				facts = terminal.facts;
			} else {
				const answer = await act(terminal, step, timeoutMs).catch((error: unknown) => {
					if (error instanceof Fault) return error;
					throw error;
				});
				if (answer instanceof Fault) {
					outcomes.push(refusal(one, index, step, answer, (await terminal.read({ view: "screen" })).text));
					break;
				}
				facts = answer;
			}
			if (leaveOut !== undefined && index === 0 && facts.returned === "ended" && step.truth !== "ended") {
				leaveOut(one.name, `cannot run there: ${facts.because}, ${JSON.stringify(facts.text.trim().slice(-200))}`);
				return [];
			}
			holder ??= await holderFor(dialtone, terminal.id);
			const cpuAfter = holder === null ? null : cpuMs(holder);
			const watched = !isTurn(step.truth) && facts.elapsedMs >= LEAST_WATCH_MS && cpuAfter !== null;
			const holderCpu = watched ? (cpuAfter - cpuBefore) / facts.elapsedMs : null;
			const screen = (await terminal.read({ view: "screen" })).text;
			const complaint = sandbox === undefined ? null : complains(screen, sandbox);
			if (complaint !== null) {
				leaveOut?.(one.name, complaint);
				return [];
			}
			outcomes.push({ ...judge(one, index, facts, screen), holderCpu });
			cpuBefore = (holder === null ? null : cpuMs(holder)) ?? 0;
			if (facts.returned === "ended") break;
		}
	} finally {
		await terminal?.close({ force: true });
	}
	return outcomes;
}

async function holderFor(dialtone: Dialtone, id: string): Promise<number | null> {
	const pid = (await dialtone.list()).sessions.find(({ session }) => session === id)?.pid ?? null;
	return pid === null ? null : holderOf(pid);
}

function act(terminal: Terminal, { line, text, keys, rows }: Step, timeoutMs: number): Promise<SessionFacts> {
	if (rows !== undefined) return terminal.resize({ cols: COLS, rows });
	if (line === undefined && text === undefined && keys === undefined) return terminal.wait({ timeoutMs });
	return terminal.send({
		...(line === undefined ? {} : { text: line, submit: true }),
		...(text === undefined ? {} : { text }),
		...(keys === undefined ? {} : { keys: [...keys] }),
		timeoutMs,
	});
}

function isTurn(truth: Truth): boolean {
	return truth !== "busy" && truth !== "serving" && truth !== "stopped" && truth !== "ended";
}

function judge(one: Case, index: number, facts: SessionFacts, screen: string): Omit<Outcome, "holderCpu"> {
	const step = one.steps[index] as Step;
	const { activity, waitingFor, certainty, because, elapsedMs, returned } = facts;
	const shown = step.shows === undefined || step.shows.test(screen) || step.shows.test(facts.text);
	const right = (agrees(step.truth, facts) && (shown || !isTurn(step.truth))) || isNext(one, index, facts);
	return {
		case: one.name,
		step: index,
		truth: step.truth,
		right,
		kindRight: right && isTurn(step.truth) ? isKind(step.truth, waitingFor) : null,
		told:
			returned === "ended" ? "ended" : `${activity}${waitingFor ? ` ${waitingFor}` : ""}${shown ? "" : " (too early)"}`,
		certainty: certainty ?? "",
		because,
		elapsedMs,
		known: one.known ?? null,
		screen,
	};
}

/** It ended after it had been called waiting, or took no input: as wrong as any other answer. */
function refusal(one: Case, index: number, step: Step, { code, message }: Fault, screen: string): Outcome {
	return {
		case: one.name,
		step: index,
		truth: step.truth,
		right: false,
		kindRight: null,
		told: `refused: ${code}`,
		certainty: "",
		because: message,
		elapsedMs: 0,
		holderCpu: null,
		known: one.known ?? null,
		screen,
	};
}

/** Busy through all of the watch, on a machine so loaded that the answer came when the program was already at its next step. */
function isNext(one: Case, index: number, facts: SessionFacts): boolean {
	const [step, next] = one.steps.slice(index, index + 2) as [Step, Step | undefined];
	const types = next?.line ?? next?.text ?? next?.keys ?? next?.rows;
	if (step.truth !== "busy" || next === undefined || types !== undefined) return false;
	return facts.elapsedMs > (step.forMs ?? BUSY_MS) + LATE_MS && agrees(next.truth, facts);
}

function agrees(truth: Truth, { returned, activity }: SessionFacts): boolean {
	if (truth === "ended" || returned === "ended") return truth === returned;
	if (truth === "busy") return activity !== "waiting";
	return activity === (isTurn(truth) ? "waiting" : truth);
}

/** A shell without marks cannot be told from another line editor. */
function isKind(truth: Truth, waitingFor: SessionFacts["waitingFor"]): boolean {
	return waitingFor === truth || (truth === "command" && waitingFor === "line");
}
