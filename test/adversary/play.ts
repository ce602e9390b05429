// Plays the adversary's cases through the library and compares what it says with the truth.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { Dialtone, type SessionFacts } from "../../src/index.ts";
import { SYSTEM_PATH } from "../programs.ts";
import type { Built, Case, Moment } from "./cases.ts";

export interface Verdict {
	readonly case: string;
	readonly truth: Moment["truth"];
	/** Every distinct answer: activity, certainty and reason. */
	readonly told: readonly string[];
	/** The last answer agrees with the truth. */
	readonly right: boolean;
	/** An answer that was called certain and does not agree. */
	readonly wrongButCertain: readonly string[];
	readonly certain: boolean;
	/** Why it could not be played here. */
	readonly skipped?: string;
}

const PROGRAMS = join(import.meta.dirname, "programs");
const PATIENCE_MS = 30_000;
/** From READY, or from what was typed, to the call it is about: far more than a program needs, on a busy machine too. */
const SETTLED_MS = 700;
const ASKED = 8;
const EACH_MS = 150;

/** Compiles the programs into a directory. */
export function build(directory: string): Omit<Built, "outsideSocket"> {
	const compile = (name: string, output: string, ...flags: string[]) => {
		const at = join(directory, output);
		execFileSync(
			"cc",
			["-O1", "-Wall", "-Werror", ...flags, "-o", at, join(PROGRAMS, `${name}.c`), "-lpthread", "-lrt"],
			{
				stdio: "pipe",
			},
		);
		return at;
	};
	const attempt = (make: () => string) => {
		try {
			return make();
		} catch {
			return null; // no compiler for it here
		}
	};
	return {
		reads: compile("reads", "reads"),
		peeks: compile("peeks", "peeks"),
		works: compile("works", "works"),
		moved: compile("moved", "moved"),
		told: compile("told", "told"),
		beside: compile("beside", "beside"),
		narrow: attempt(() => compile("reads", "reads-32", "-m32")),
		go: attempt(() => {
			const at = join(directory, "go");
			const env = { ...process.env, GOCACHE: join(directory, "go-cache"), GOFLAGS: "-mod=mod", GO111MODULE: "off" };
			execFileSync("go", ["build", "-o", at, join(PROGRAMS, "adversary.go")], { stdio: "pipe", env });
			return at;
		}),
	};
}

/** A server outside of every session that reads the terminal which is passed to it. */
export async function outside(socket: string): Promise<Disposable> {
	const server = spawn("python3", [join(PROGRAMS, "outside.py"), socket], {
		env: { PATH: SYSTEM_PATH },
		stdio: ["ignore", "pipe", "inherit"],
	});
	await once(server.stdout, "data");
	if (!existsSync(socket)) throw new Error("the server outside did not start");
	return { [Symbol.dispose]: () => void server.kill() };
}

export async function playAll(cases: readonly Case[], lanes: number): Promise<Verdict[]> {
	await using dialtone = await Dialtone.open({ options: { maxSessions: 100 } });
	const left = [...cases];
	const verdicts: Verdict[] = [];
	const lane = async () => {
		for (let one = left.shift(); one !== undefined; one = left.shift()) verdicts.push(...(await play(one, dialtone)));
	};
	const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
	for (const end of ends) if (end.status === "rejected") throw end.reason;
	return verdicts;
}

async function play(one: Case, dialtone: Dialtone): Promise<Verdict[]> {
	const terminal = await dialtone.start({
		argv: [...one.argv],
		env: { TERM: "xterm" },
		until: { pattern: "READY|CANNOT", only: true },
		timeoutMs: PATIENCE_MS,
	});
	try {
		const { returned, text } = terminal.facts;
		const skipped = returned === "matched" && !text.includes("CANNOT") ? null : `${returned}: ${text.trim()}`;
		const verdicts: Verdict[] = [];
		for (const { type, truth } of one.moments) {
			if (skipped !== null) {
				verdicts.push({ case: one.name, truth, told: [], right: false, wrongButCertain: [], certain: false, skipped });
				continue;
			}
			if (type !== undefined)
				await terminal.send({ text: type, until: { stillMs: 100, only: true }, timeoutMs: PATIENCE_MS });
			await after(SETTLED_MS);
			const answers: SessionFacts[] = [];
			for (let i = 0; i < ASKED; i++) answers.push(await terminal.wait({ timeoutMs: EACH_MS }));
			verdicts.push(judge(one.name, truth, answers));
		}
		return verdicts;
	} finally {
		await terminal.close({ force: true });
	}
}

function judge(name: string, truth: Moment["truth"], answers: readonly SessionFacts[]): Verdict {
	const agrees = ({ activity }: SessionFacts) => (activity === "waiting") === (truth === "waits");
	const say = ({ activity, certainty, because }: SessionFacts) => `${activity} ${certainty}: ${because}`;
	return {
		case: name,
		truth,
		told: [...new Set(answers.map(say))],
		right: agrees(answers.at(-1) as SessionFacts),
		wrongButCertain: answers.filter((it) => it.certainty === "certain" && !agrees(it)).map(say),
		certain: answers.at(-1)?.certainty === "certain",
	};
}

export function report(verdicts: readonly Verdict[]): string {
	const played = verdicts.filter((it) => it.skipped === undefined);
	const rows = verdicts.map((it) => {
		const mark = it.skipped !== undefined ? "-" : it.wrongButCertain.length > 0 ? "✗" : it.right ? " " : "~";
		return `${mark} ${it.case.padEnd(34)} ${it.truth}  ${it.skipped ?? it.told.join(" | ")}`;
	});
	const right = played.filter((it) => it.right).length;
	const certain = played.filter((it) => it.certain).length;
	const wrong = played.filter((it) => it.wrongButCertain.length > 0).length;
	return [
		"",
		...rows,
		"",
		`${right} of ${played.length} right, ${certain} of them certain; wrong but certain: ${wrong}; not played: ${verdicts.length - played.length}`,
	].join("\n");
}
