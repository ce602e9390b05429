// After every test nothing may be left: no subscription, no timer, no listener on a signal, no holder that still
// watches a program. After every file also no process, descriptor or temporary file. In a file that opens something
// for all of its tests (beforeAll), a test may leave no watch and nothing of a wait; the rest is checked once that is closed.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { Listeners, reportListenerErrors } from "../src/protocol/listeners.ts";
import { AttentionTracker } from "../src/session/attention-tracker.ts";
import { until } from "./condition.ts";
import { installStubs } from "./programs.ts";

/** The programs' home, and what they keep in a temporary directory: the cache of tsx, the state of fish. */
const OTHERS = /^(home$|tsx-|fish\.)/;

/** Closing takes effect a little later: a socket's end, a child's exit. */
const SETTLE_MS = 30_000;

/** Something that is open, with the place that opened it. */
interface Open {
	readonly what: "subscription" | "timer" | "watch" | "abort listener";
	readonly place: string;
	/** Set up by a wait (pty/wait.ts), which must have undone it when it is over. */
	readonly ofWait: boolean;
	readonly isOver: () => boolean;
}

const opened = new Set<Open>();

/** Returns what closes it; `isOver` is for what closes by itself. */
function open(what: Open["what"], isOver: () => boolean = () => false): () => void {
	const stack = new Error().stack?.split("\n").slice(3) ?? [];
	// What a library sets for itself and does not wait for (the MCP client's kill after 2 s, the connections that fetch keeps) is its own.
	if (/node_modules|node:internal/.test(stack[0] ?? "")) return () => {};
	// A timer that something else sets for itself while a wait begins (the deadline of a new connection) is not the wait's.
	const ofWait = (what === "timer" ? stack.slice(0, 1) : stack).some((line) => line.includes("/src/pty/wait.ts"));
	const outside = stack.filter((line) => !/\/src\/pty\/wait\.ts|new Promise/.test(line));
	const it = { what, place: `${what}\n${outside.slice(0, 3).join("\n")}`, ofWait, isOver };
	opened.add(it);
	return () => void opened.delete(it);
}

function stillOpen(): readonly Open[] {
	for (const it of opened) if (it.isOver()) opened.delete(it);
	return [...opened];
}

/** The places that opened what is still open. */
export const openPlaces = (kind: Open["what"]): string[] =>
	stillOpen()
		.filter(({ what }) => what === kind)
		.map(({ place }) => place);

function trackSubscriptions(): void {
	const { add, clear } = Listeners.prototype;
	const closers = new WeakMap<Listeners<unknown>, Set<() => void>>();
	Listeners.prototype.add = function (this: Listeners<unknown>, listener) {
		const undo = add.call(this, listener);
		const close = open("subscription");
		const all = closers.get(this) ?? new Set();
		closers.set(this, all.add(close));
		return () => {
			undo();
			close();
			all.delete(close);
		};
	};
	Listeners.prototype.clear = function (this: Listeners<unknown>) {
		clear.call(this);
		for (const close of closers.get(this) ?? []) close();
		closers.delete(this);
	};
}

function trackWatches(): void {
	const { watch } = AttentionTracker.prototype;
	AttentionTracker.prototype.watch = function (this: AttentionTracker, ...options) {
		const unwatch = watch.apply(this, options);
		const close = open("watch");
		return () => {
			unwatch();
			close();
		};
	};
}

/** Vitest's own timers are made by functions it saved before. */
function trackTimers(): void {
	for (const name of ["setTimeout", "setInterval"] as const) {
		const real: (...args: never[]) => NodeJS.Timeout = globalThis[name];
		const tracked = (...args: never[]) => {
			const timer = real(...args);
			// Node marks a timer that has fired or was cleared, by whatever means, on the object itself.
			open("timer", () => (timer as unknown as { _destroyed: boolean })._destroyed);
			return timer;
		};
		// With what hangs on it, as util.promisify() needs.
		Object.assign(globalThis, { [name]: Object.assign(tracked, globalThis[name]) });
	}
}

/** A listener on a signal that may still abort: on a long-lived one they would pile up. */
function trackAbortListeners(): void {
	const { addEventListener, removeEventListener } = AbortSignal.prototype;
	const closers = new WeakMap<object, Map<unknown, () => void>>();
	AbortSignal.prototype.addEventListener = function (this: AbortSignal, ...args: Parameters<typeof addEventListener>) {
		addEventListener.apply(this, args);
		const all = closers.get(this) ?? new Map<unknown, () => void>();
		closers.set(this, all);
		const signal = new WeakRef(this);
		if (!all.has(args[1]))
			all.set(
				args[1],
				open("abort listener", () => signal.deref()?.aborted ?? true),
			);
	};
	AbortSignal.prototype.removeEventListener = function (
		this: AbortSignal,
		...args: Parameters<typeof removeEventListener>
	) {
		removeEventListener.apply(this, args);
		closers.get(this)?.get(args[1])?.();
		closers.get(this)?.delete(args[1]);
	};
}

/** Open descriptors that lead to a file, socket or pipe; those of the event loop and of the reporter stay. */
function descriptors(): Map<string, string> {
	const open = new Map<string, string>();
	for (const fd of readdirSync("/proc/self/fd"))
		try {
			const target = readlinkSync(`/proc/self/fd/${fd}`);
			if (!/^anon_inode:(\[event|inotify)|^\/proc\//.test(target)) open.set(fd, target);
		} catch {
			// closed meanwhile: the one that lists this directory
		}
	return open;
}

/** Processes that were started from here or have to do with this file's temporary directory: daemons, holders, programs. */
function processes(directory: string): string[] {
	const left: string[] = [];
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid))
		try {
			const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
			const parent = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
			const ours = [command, readFileSync(`/proc/${pid}/environ`, "utf8"), readlinkSync(`/proc/${pid}/cwd`)];
			if (Number(parent) === process.pid || ours.some((text) => text.includes(directory)))
				left.push(`${pid} ${command}`);
		} catch {
			// ended meanwhile, or another user's
		}
	return left;
}

/** Waits until nothing is left; otherwise fails with the list. */
async function expectNone(what: string, look: () => readonly string[]): Promise<void> {
	const empty = await until(what, () => look().length === 0, { withinMs: SETTLE_MS }).catch(() => false);
	if (!empty) throw new Error(`${what}:\n${look().join("\n")}`);
}

/** A pid that was not found is 0, which to kill(2) means this process with all that runs the tests. */
function refuseOwnGroup(): void {
	const { kill } = process;
	process.kill = (pid, signal) => {
		if (pid === 0 || pid === -1) throw new Error(`kill(${pid}, ${signal}) would hit the tests themselves`);
		return kill.call(process, pid, signal);
	};
}

// What CI says of a commit it says again: there the properties are tried with the same values each time, elsewhere with others.
if (process.env.CI) fc.configureGlobal({ seed: 20_261_117 });
trackSubscriptions();
trackTimers();
trackWatches();
trackAbortListeners();
refuseOwnGroup();
// Also where the library, which only warns, is what is tested.
reportListenerErrors((error, origin) => void Promise.reject(new Error(`Error in "${origin}"`, { cause: error })));
const outer = tmpdir();
/** Every temporary file of this test file is in here, like /tmp: some tests run programs (and valgrind) as nobody. */
const directory = mkdtempSync(join(outer, "dt-"));
chmodSync(directory, 0o1777);
process.env.TMPDIR = directory;
// A person's start files take their time, and may wait for a lock that a killed shell has left behind.
process.env.HOME = join(directory, "home");
mkdirSync(process.env.HOME);
chmodSync(process.env.HOME, 0o1777);
const removeStubs = installStubs();

let openedBefore: Map<string, string>;
beforeAll(() => {
	openedBefore = descriptors();
});

beforeEach(({ onTestFinished }) => {
	const before = new Set(stillOpen());
	// What beforeAll opened is looked at when the file ends, and sessions that its tests start in it may stay until
	// then: but no test leaves a watch, or anything that a wait has set up.
	const isShared = before.size > 0;
	const left = () =>
		stillOpen()
			.filter((it) => !before.has(it) && (!isShared || it.ofWait || it.what === "watch"))
			.map(({ place }) => place);
	// Registered first, so it runs last: after what the test registers, and after every afterEach.
	onTestFinished(() => expectNone("this test leaves open", left));
});

afterAll(async () => {
	removeStubs();
	try {
		await expectNone("this file leaves open", () => stillOpen().map(({ place }) => place));
		await expectNone("this file leaves processes", () => processes(directory));
		await expectNone("this file leaves descriptors", () =>
			[...descriptors()].filter(([fd, target]) => openedBefore.get(fd) !== target).map((pair) => pair.join(" → ")),
		);
		await expectNone("this file leaves temporary files", () =>
			readdirSync(directory).filter((name) => !OTHERS.test(name)),
		);
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}, 5 * SETTLE_MS);
