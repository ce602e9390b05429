// The adversary's programs and the truth about each: whether it waits for input, or works.
//
// They are in programs/, several to a source. From the moment one has printed READY
// its truth does not change, unless a step types something.

import { SYSTEM_PATH } from "../programs.ts";

export interface Moment {
	/** Typed before it. */
	readonly type?: string;
	readonly truth: "waits" | "works";
}

export interface Case {
	readonly name: string;
	readonly argv: readonly string[];
	readonly moments: readonly Moment[];
	/** Only where this can be had: root for most namespaces. */
	readonly needs?: "root";
}

/** Where the test has built them. */
export interface Built {
	readonly reads: string;
	readonly peeks: string;
	readonly works: string;
	readonly moved: string;
	readonly told: string;
	readonly beside: string;
	/** Null where the compiler makes no 32-bit programs. */
	readonly narrow: string | null;
	readonly go: string | null;
	/** A server outside every session, which reads the terminal that is passed to it. */
	readonly outsideSocket: string;
}

/** The system's own, which every user may run. */
const system = ["env", `PATH=${SYSTEM_PATH}`];
const python = new URL("programs/adversary.py", import.meta.url).pathname;

export function cases(built: Built): readonly Case[] {
	const of =
		(truth: Moment["truth"], argv: readonly string[]) =>
		(name: string): Case => ({
			name: `${argv.at(-1)?.split("/").at(-1)} ${name}`,
			argv: [...argv, name],
			moments: [{ truth }],
		});
	const typed = (one: Case, type: string, truth: Moment["truth"]): Case => ({
		...one,
		moments: [...one.moments, { type, truth }],
	});
	const through =
		(...argv: string[]) =>
		(one: Case): Case => ({
			...one,
			name: `${argv.join(" ")} ${one.name}`,
			argv: [...argv, ...one.argv],
			needs: "root",
		});
	const read = of("waits", [built.reads]);
	const peek = of("waits", [built.peeks]);
	const work = of("works", [built.works]);
	const move = of("works", [built.moved]);
	const tell = of("waits", [built.told]);
	const beside = of("works", [built.beside]);
	const asks = of("waits", [...system, "python3", python]);
	const toils = of("works", [...system, "python3", python]);
	return [
		...READS.map(read),
		typed(read("edges"), "abc", "waits"),
		typed(read("vmin"), "ab", "waits"),
		...PEEKS.map(peek),
		...WORKS.map(work),
		{ ...work("first-of-nine"), moments: [{ truth: "waits" }, { type: "x", truth: "works" }] },
		{ ...work("page-to-come"), moments: [{ truth: "waits" }, { type: "x\r", truth: "works" }] },
		...MOVED.map(move),
		{ ...move("tty-with-our-number"), needs: "root" },
		...TOLD.map(tell),
		...BESIDE.map(beside),
		{ ...beside("idle-for-good"), moments: [{ truth: "waits" }, { type: "x\r", truth: "works" }] },
		{ ...beside("letter-ends"), moments: [{ truth: "waits" }, { type: "y", truth: "works" }] },
		{ ...beside("letter-interrupts"), moments: [{ truth: "waits" }, { type: "y", truth: "works" }] },
		{
			name: "coprocess",
			argv: [...system, "bash", "--norc", "-c", COPROCESS],
			moments: [{ truth: "waits" }, { type: "x\r", truth: "works" }],
		},
		typed(tell("polled-for-output-after-a-key"), "\u0013", "waits"),
		...TOLD_ONCE.map((name) => typed(tell(name), "abc", "waits")),
		...[
			"read",
			"thread-reads",
			"child-reads",
			"curses-without-delay",
			"own-wakeup",
			"passed-inside",
			"relay-to-a-reader",
		].map(asks),
		{ ...asks("passed-outside"), argv: [...system, "python3", python, "passed-outside", built.outsideSocket] },
		...[
			"loop-and-sleeping-child",
			"input-while-a-thread-computes",
			"select-on-a-childs-pipe",
			"cat-to-a-client",
			"relay-to-work",
		].map(toils),
		...(built.go === null ? [] : ["scan", "scan-in-another", "scan-and-tick"].map(of("waits", [built.go]))),
		...(built.go === null ? [] : ["scan-while-working", "scan-while-connected", "sleep"].map(of("works", [built.go]))),
		...(built.narrow === null ? [] : NARROW.map(of("waits", [built.narrow]))),
		through("unshare", "--pid", "--fork", "--mount-proc")(read("read")),
		through("unshare", "--mount")(read("dev-tty")),
		through("unshare", "--net")(read("epoll")),
		through("unshare", "--net")(work("pair-of-a-child")),
		through("unshare", "--user", "--map-root-user")(read("splice")),
		through("chroot", "/")(read("preadv2")),
	];
}

const READS = [
	"read",
	"dup",
	"dev-tty",
	"readv",
	"preadv2",
	"splice",
	"sendfile",
	"select",
	"select-1020",
	"poll",
	"ppoll",
	"epoll",
	"epoll_pwait2",
	"nested-epoll",
	"closed-number",
	"added-late",
	"ring",
	"ring-poll",
	"ring-event",
	"ring-thread",
	"aio",
	"low-stack",
	"memfd-stack",
	"int80",
	"worker",
	"among-300-threads",
	"main-of-300-threads",
	"after-300-pipes",
	"after-900-in-epoll",
	"many-descriptors",
	"60-sleepers",
	"child-of-60-sleepers",
	"vfork",
	"background",
	"helper",
	"orphan",
];
const PEEKS = [
	"nonblocking",
	"nonblocking-raw",
	"vmin-0",
	"full-screen",
	"kbhit",
	"kbhit-raw",
	"kbhit-slowly-raw",
	"counted",
	"opened-each-time",
	"worker-ticks",
	"pipe-ticks",
	"alarm-in-pause",
	"alarm-in-sleep",
	"alarm-in-read",
	"own-timer-signal",
	"sigio-in-pause",
	"sigio-in-sleep",
	"f-setsig",
	"sigwait",
	"signalfd",
	"signalfd-polled",
	"every-second",
	"running",
	"receive-timeout",
	"child-of-another-session",
];
const WORKS = [
	"spinner",
	"silent-spinner",
	"timerfd",
	"adjacent-sockets",
	"pipe-of-a-child",
	"pair-of-a-child",
	"counter-of-a-child",
	"nested-pipe-of-a-child",
	"beside-worker",
	"beside-receiver",
	"beside-waiter",
	"beside-signalled",
	"beside-child",
	"beside-sleeping-child",
	"beside-stray",
	"beside-stray-child-works",
	"supervised",
	"traced",
	"exchanged",
	"until-a-child-ends",
];
const MOVED = [
	"alarm-spinner",
	"timer-spinner",
	"timer-in-ppoll",
	"timer-in-signalfd",
	"orphans-signal",
	"orphans-signalfd",
	"orphans-timer",
	"number-of-a-timer",
	"number-of-a-set",
	"tty-of-another",
	"set-in-shared-memory",
	"set-in-memory-of-two",
	"table-of-two",
	"beside-closed-number",
	"beside-futex",
	"beside-signalfd",
	"beside-stopped-writer",
	"beside-stray-job-works",
];
const TOLD = [
	"polled-for-output",
	"polled-for-output-raw",
	"polled-for-output-sigio",
	"spliced-to-the-terminal",
	"stopped-beside-a-stray",
];
const BESIDE = [
	"pselect",
	"selfpipe",
	"semaphore",
	"tracer",
	"notty",
	"table-of-grandchild",
	"adopted",
	"signalled-by-socket",
	"signalled-by-watch",
	"throttled",
];
/** What is typed goes to a process of another group, which answers on the terminal. */
const COPROCESS =
	"set -m; coproc W { while read -r line; do sleep 100; echo got $line > /dev/tty; done; }; echo READY; cat >&${W[1]}";
const TOLD_ONCE = ["edges-polled", "edges-selected", "edges-of-a-ring"];
const NARROW = [
	"read",
	"readv",
	"preadv2",
	"splice",
	"select",
	"poll",
	"ppoll",
	"epoll",
	"nested-epoll",
	"ring",
	"worker",
];
