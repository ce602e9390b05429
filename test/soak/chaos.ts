// kill -9 and kill -STOP of daemon and holders, and a full disk, at random moments under load. Afterwards: no
// byte lost but what a full disk took and was told, every question typed once, every session there, one daemon, and
// nothing left.

import {
	closeSync,
	openSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statfsSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { Random } from "../fuzz/random.ts";
import { errorsLogged } from "../robustness/stage.ts";
import { briefs, checkTalk, counter, talk } from "./actors.ts";
import { PatientClient } from "./patient-client.ts";

export interface ChaosOptions {
	readonly seconds: number;
	readonly seed: number;
	readonly counters: number;
	readonly talks: number;
	/** The home is on a file system of its own that may be filled. */
	readonly fillDisk: boolean;
	readonly say?: (line: string) => void;
}

export interface ChaosReport {
	readonly seconds: number;
	/** How often each thing was done. */
	readonly done: Readonly<Record<string, number>>;
	/** What callers were told, by code. */
	readonly faults: Readonly<Record<string, number>>;
	readonly turns: number;
	readonly briefs: number;
	/** Bytes that a full disk took; told as gaps. */
	readonly gapBytes: number;
}

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
	const { seconds, seed, say = () => {} } = options;
	const home = new Home();
	const faults = new Map<string, number>();
	const problems: string[] = [];
	const stop = join(home.path, "stop");
	let over = false;
	const clients: PatientClient[] = [];
	const client = () => {
		const made = new PatientClient(home, { faults, problems });
		clients.push(made);
		return made;
	};
	try {
		const begun = Date.now();
		const failed: unknown[] = [];
		/** One that fails ends the chaos at once. */
		const watched = <T>(work: Promise<T>): Promise<T> => {
			work.catch((error: unknown) => {
				failed.push(error);
				over = true;
			});
			return work;
		};
		const counters = Array.from({ length: options.counters }, (_, i) =>
			watched(counter(client(), `counter-${i}`, stop, seed + i)),
		);
		const talks = Array.from({ length: options.talks }, (_, i) => watched(talk(client(), `talk-${i}`, () => over)));
		const brief = watched(briefs(client(), () => over));
		const done = await disturb(
			home,
			options,
			() => Date.now() - begun > seconds * 1000 || over || problems.length > 0,
			say,
		);
		over = true;
		writeFileSync(stop, "");
		say(`settling: ${JSON.stringify({ done, faults: Object.fromEntries(faults) })}`);
		const [gaps, talked, names] = await Promise.all([Promise.all(counters), Promise.all(talks), brief]);
		const last = client();
		for (const one of talked) await checkTalk(last, one);
		const expected = [...gaps.map((_, i) => `counter-${i}`), ...talked.map(({ name }) => name), ...names];
		await checkEnd(home, last, expected);
		const gapBytes = gaps.reduce((sum, bytes) => sum + bytes, 0);
		if (gapBytes > 0 && !done["full disk"]) problems.push(`${gapBytes} bytes are missing, and the disk was never full`);
		const bad = errorsLogged(home.path).filter((line) => /uncaught|unhandled/i.test(line));
		if (bad.length > 0) problems.push(`errors in the log: ${bad[0]}`);
		if (problems.length > 0) throw new Error(`${problems.length} problems: ${problems.slice(0, 5).join("\n")}`);
		const turns = talked.reduce((sum, one) => sum + one.turns, 0);
		return {
			seconds: Math.round((Date.now() - begun) / 1000),
			...{ done, faults: Object.fromEntries(faults), turns, briefs: names.length, gapBytes },
		};
	} finally {
		over = true;
		writeFileSync(stop, "");
		for (const pid of [...daemonsOf(home), ...holdersOf(home)]) signal(pid, "SIGCONT");
		for (const one of clients) await one[Symbol.asyncDispose]();
		await home[Symbol.asyncDispose]();
	}
}

/** Does something bad every now and then until it is time to end; how often each was done. */
async function disturb(home: Home, options: ChaosOptions, over: () => boolean, say: (line: string) => void) {
	const random = new Random(options.seed);
	const done: Record<string, number> = {};
	const stopFor = async (pid: number | undefined, ms: number) => {
		if (pid === undefined) return;
		signal(pid, "SIGSTOP");
		await delay(ms);
		signal(pid, "SIGCONT");
	};
	const actions: Record<string, () => unknown> = {
		"kill -9 daemon": () => {
			for (const pid of daemonsOf(home)) signal(pid, "SIGKILL");
		},
		"stop daemon": () => stopFor(daemonsOf(home)[0], 100 + random.int(3000)),
		"stop holder": () => stopFor(random.pick(holdersOf(home)), 100 + random.int(4000)),
		...(options.fillDisk && { "full disk": () => fillDisk(dirname(home.path), 100 + random.int(1500)) }),
	};
	const names = Object.keys(actions);
	while (!over()) {
		await delay(200 + random.int(2000));
		const name = random.pick(names);
		done[name] = (done[name] ?? 0) + 1;
		say(name);
		await actions[name]!();
	}
	return done;
}

/** Takes all space for a while. */
async function fillDisk(directory: string, ms: number): Promise<void> {
	const ballast = join(directory, "ballast");
	const file = openSync(ballast, "w");
	try {
		const block = Buffer.alloc(1 << 16);
		for (let free = 1; free > 0; free = statfsSync(directory).bavail) writeSync(file, block);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
	}
	await delay(ms);
	closeSync(file);
	rmSync(ballast);
}

/** One daemon, every session, all ended when told so, and then no process. */
async function checkEnd(home: Home, client: PatientClient, expected: readonly string[]): Promise<void> {
	await until("there is one daemon", () => daemonsOf(home).length === 1);
	const { facts } = await client.persist("list", (to) => to.call("list", {}));
	const listed = new Set(facts.sessions.map(({ name }) => String(name)));
	// `list` shows the last ended ones only; others are found by their name.
	for (const name of expected)
		if (!listed.has(name)) await client.persist(`read ${name}`, (to) => to.call("read", { session: name }));
	const { left = [] } = await client.persist("stopping", (to) => to.stop({ sessions: true }));
	if (left.length > 0) throw new Error(`these could not be ended: ${left.join(", ")}`);
	await until("no process is left", () => processesOf(home).length === 0).catch(() => {
		throw new Error(
			`left: ${processesOf(home)
				.map(({ pid, command }) => `${pid} ${command}`)
				.join("\n")}`,
		);
	});
}

/** Processes that have to do with this home, by their environment, arguments, directory or open files. */
function processesOf(home: Home): readonly { pid: number; command: string }[] {
	return readdirSync("/proc").flatMap((name) => {
		if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
		try {
			const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
			const texts = [command, readFileSync(`/proc/${name}/environ`, "utf8"), readlinkSync(`/proc/${name}/cwd`)];
			// A holder's environment is empty; it is known by the log that it writes.
			const files = command.includes(HOLDER) ? openFiles(name) : [];
			return [...texts, ...files].some((text) => text.includes(home.path)) ? [{ pid: Number(name), command }] : [];
		} catch {
			return []; // ended meanwhile, or another user's
		}
	});
}

const openFiles = (pid: string) => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));

const HOLDER = "dialtone-holder";
const pidsOf = (home: Home, words: RegExp) =>
	processesOf(home)
		.filter(({ command }) => words.test(command))
		.map(({ pid }) => pid);
const daemonsOf = (home: Home) => pidsOf(home, /main\.js daemon run|daemon\.cjs/);
const holdersOf = (home: Home) => pidsOf(home, new RegExp(HOLDER));

function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // ended meanwhile
	}
}
