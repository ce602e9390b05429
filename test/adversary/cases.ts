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
