// What the kernel's controllers have to do with sessions: each case is launched in the machine by init.sh, moved into a
// delegated cgroup as systemd would, and judged here by what was said of it.

import { launchBlock, record, Tag, u32, u64 } from "../holder/raw-holder.ts";

const MB = 2 ** 20;
const Limit = { cpu: 0, memory: 1, processes: 2 } as const;

/** What init.sh said of a case, by its first word. */
export type Told = Readonly<Record<string, string>>;

export interface Case {
	readonly name: string;
	readonly says: string;
	readonly limits: Partial<Record<keyof typeof Limit, number>>;
	/** What runs once the session has been moved. */
	readonly program: string;
	/** Shell variables of init.sh. */
	readonly settings?: string;
	readonly exit: Readonly<Record<string, unknown>>;
	/** What else has to be true. */
	readonly holds?: Readonly<Record<string, (told: Told, machine: readonly string[]) => boolean>>;
}

const had = (told: Told) => Number(told.had);
const boundedTo = (bytes: number) => (told: Told) => Number(told["memory.max"]) === bytes;
const oomOf = (name: string) => (_: Told, machine: readonly string[]) =>
	machine.some((line) => line.startsWith(`oom CONSTRAINT_MEMCG /slice/${name}/programs-`));

export const cases: readonly Case[] = [
	{
		name: "memory",
		says: "a memory hog is ended by memory.max, which it never exceeds, and that is told",
		limits: { memory: 64 * MB },
		program: "exec guest hog 300",
		exit: { code: null, signal: 9, reason: "memory", survivors: [] },
		holds: {
			"memory.max is the limit": boundedTo(64 * MB),
			"it ends as a whole": (told) => told["oom.group"] === "1",
			"no process is left above the two cgroups": (told) => told.own === "0",
			"it never had more than the limit": (told) => had(told) > 32 && had(told) <= 64,
			"the kernel killed it for this cgroup": oomOf("memory"),
		},
	},
	{
		name: "memory-of-many",
		says: "processes that exceed it together are ended together, also those that left by setsid",
		limits: { memory: 64 * MB },
		program: "setsid guest hog 30 & guest hog 30 & (guest hog 30 &); wait",
		exit: { signal: 9, reason: "memory", survivors: [] },
		holds: { "the kernel killed it for this cgroup": oomOf("memory-of-many") },
	},
	{
		name: "memory-of-nobody",
		says: "the same without root, in a cgroup that belongs to the user",
		limits: { memory: 64 * MB, processes: 50 },
		settings: "user=nobody",
		program: "exec guest hog 300",
		exit: { signal: 9, reason: "memory", survivors: [] },
		holds: {
			"memory.max is the limit": boundedTo(64 * MB),
			"it never had more than the limit": (told) => had(told) <= 64,
		},
	},
	{
		name: "killed",
		says: "a KILL of somebody else is not told as a limit",
		limits: { memory: 64 * MB, processes: 50 },
		program: "kill -9 $$",
		exit: { signal: 9, reason: "exit" },
	},
	{
		name: "machine-memory",
		says: "a KILL because the machine is out of memory is not told as a limit",
		limits: { memory: 8192 * MB },
		program: "exec guest hog 4000",
		exit: { signal: 9, reason: "exit" },
		holds: {
			"it was the machine's": (_, machine) =>
				machine.some((line) => line.startsWith("oom CONSTRAINT_NONE /slice/machine-memory/programs-")),
		},
	},
	{
		name: "forks",
		says: "a fork bomb is ended, and that is told",
		limits: { processes: 20 },
		program: "exec guest forks 5000",
		exit: { signal: 9, reason: "processes", survivors: [] },
		holds: { "pids.max is 16 a process and 256": (told) => told["pids.max"] === "576" },
	},
	{
		name: "threads",
		says: "a bomb of threads, which are not counted as processes, ends at pids.max",
		limits: { processes: 20 },
		program: "exec guest threads 5000",
		exit: { signal: 9, reason: "processes", survivors: [] },
		holds: { "it never had more": (told) => had(told) > 400 && had(told) <= 576 },
	},
	{
		name: "cpu",
		says: "processor time counts also of processes for which nobody waits",
		limits: { cpu: 1 },
		program: "exec guest burners 100000",
		exit: { reason: "cpu_time", survivors: [] },
		holds: {
			"by the accounts of processes it would not have been": ({ exit }) => {
				const { rusage } = JSON.parse(exit!) as { rusage: { userMs: number; systemMs: number } };
				return rusage.userMs + rusage.systemMs < 1000;
			},
		},
	},
	{
		name: "below",
		says: "what stays below its limits ends by itself, and nothing is left; who is put beside the holder is moved on",
		limits: { memory: 64 * MB, processes: 20 },
		settings: `during=stray
stray() { echo $program >$group/holder-$holder/cgroup.procs; until_ 20 grep -qx $program $programs/cgroup.procs || tell stays; }`,
		program: "exit 7",
		exit: { code: 7, reason: "exit", survivors: [] },
		holds: { "who was put beside the holder was moved": (told) => told.stays === undefined },
	},
	{
		name: "not-alone",
		says: "a cgroup with a process of somebody else is left alone, and the limit holds by measuring",
		limits: { memory: 64 * MB },
		settings: "expects_none=2",
		program: "exec guest hog 200",
		exit: { signal: 9, reason: "memory", survivors: [] },
		holds: { "no cgroup was made": (told) => told.unbounded !== undefined },
	},
];

/** Its launch block: a shell that waits until it is told to go. */
export function blockOf({ name, limits, program }: Case): Buffer {
	const dir = `/tmp/${name}`;
	const waits = `read go <${dir}/go; ${program}`;
	const records = Object.entries(limits).map(([which, value]) =>
		record(Tag.limit, Buffer.concat([u32(Limit[which as keyof typeof Limit], 0), u64(value)])),
	);
	return launchBlock(dir, { argv: ["/bin/sh", "-c", waits], env: { PATH: "/bin" }, records });
}

/** What is not as it has to be; none: all is. */
export function problems(of: Case, told: Told | undefined, machine: readonly string[]): string[] {
	if (told?.exit === undefined) return [`nothing was said of it: ${JSON.stringify(told)}`];
	const exit = JSON.parse(told.exit) as Record<string, unknown>;
	const wrong = Object.entries(of.exit)
		.filter(([key, value]) => JSON.stringify(exit[key]) !== JSON.stringify(value))
		.map(([key, value]) => `${key} is ${JSON.stringify(exit[key])}, not ${JSON.stringify(value)}`);
	for (const [what, holds] of Object.entries(of.holds ?? {})) if (!holds(told, machine)) wrong.push(`not so: ${what}`);
	if (told.left !== "") wrong.push(`left behind: ${told.left}`);
	return wrong;
}
