// After every test nothing may be left: no subscription, no timer, no holder that still
// watches a program. After every file also no process, descriptor or temporary file. In a
// file that opens something for all of its tests (beforeAll), a test may leave no more
// watches than it found; its subscriptions and timers are checked once that is closed.

import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { Listeners, openSubscriptions, reportListenerErrors } from "../src/protocol/listeners.ts";
import { AttentionTracker } from "../src/session/attention-tracker.ts";
import { until } from "./condition.ts";
import { installStubs } from "./programs.ts";

/** What other programs keep in a temporary directory: the cache of tsx, the state of fish. */
const OTHERS = /^(tsx-|fish\.)/;

/** Closing takes effect a little later: a socket's end, a child's exit. */
const SETTLE_MS = 5_000;

const place = (): string => new Error().stack?.split("\n").slice(3, 6).join("\n") ?? "";

/** Where each open subscription was made. */
const subscribed = new Map<Listeners<unknown>, Set<string>>();

function trackSubscriptions(): void {
	const { add, clear } = Listeners.prototype;
	Listeners.prototype.add = function (this: Listeners<unknown>, listener) {
		const undo = add.call(this, listener);
		const key = `${place()}\n`;
		const places = subscribed.get(this) ?? new Set();
		subscribed.set(this, places.add(key));
		return () => {
			undo();
			if (this.size === 0) subscribed.delete(this);
		};
	};
	Listeners.prototype.clear = function (this: Listeners<unknown>) {
		clear.call(this);
		subscribed.delete(this);
	};
}

/** The watches that were not ended, each with the place that began it. */
const watches = new Map<object, string>();
export const openWatches = (): string[] => [...watches.values()];

function trackWatches(): void {
	const { watch } = AttentionTracker.prototype;
	AttentionTracker.prototype.watch = function (this: AttentionTracker) {
		const unwatch = watch.call(this);
		const key = {};
		watches.set(key, place());
		return () => {
			unwatch();
			watches.delete(key);
		};
	};
}

/** Timers of the code under test, each with the place that set it. Vitest's own are made by functions it saved before. */
const timers = new Map<NodeJS.Timeout, string>();

function trackTimers(): void {
	for (const name of ["setTimeout", "setInterval"] as const) {
		const real: (...args: never[]) => NodeJS.Timeout = globalThis[name];
		const tracked = (...args: never[]) => {
			const timer = real(...args);
			const setter = place();
			// What a library sets for itself and does not wait for (the MCP client's kill after 2 s, the connections that fetch keeps) is its own.
			if (!/node_modules|node:internal/.test(setter.split("\n", 1)[0] ?? "")) timers.set(timer, setter);
			return timer;
		};
		// With what hangs on it, as util.promisify() needs.
		Object.assign(globalThis, { [name]: Object.assign(tracked, globalThis[name]) });
	}
}

/** Timers that are still to fire. */
function openTimers(): string[] {
	for (const timer of timers.keys()) if (isOver(timer)) timers.delete(timer);
	return [...timers.values()];
}

/** Node marks a timer that has fired or was cleared, by whatever means, on the object itself. */
function isOver(timer: NodeJS.Timeout): boolean {
	return (timer as unknown as { _destroyed: boolean })._destroyed;
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

trackSubscriptions();
trackTimers();
trackWatches();
// Also where the library, which only warns, is what is tested.
reportListenerErrors((error, origin) => void Promise.reject(new Error(`Error in "${origin}"`, { cause: error })));
const outer = tmpdir();
/** Every temporary file of this test file is in here, like /tmp: some tests run programs (and valgrind) as nobody. */
const directory = mkdtempSync(join(outer, "dt-"));
chmodSync(directory, 0o1777);
process.env.TMPDIR = directory;
const removeStubs = installStubs();

const subscriptions = (): string[] =>
	openSubscriptions() > 0
		? [`${openSubscriptions()} open, made here:`, ...[...subscribed.values()].flatMap((it) => [...it])]
		: [];
let openedBefore: Map<string, string>;
beforeAll(() => {
	openedBefore = descriptors();
});

beforeEach(({ onTestFinished }) => {
	const found = watches.size;
	// What beforeAll opened is looked at when the file ends: sessions that its tests start in it may stay until then.
	const isShared = openSubscriptions() > 0 || openTimers().length > 0;
	// Registered first, so it runs last: after what the test registers, and after every afterEach.
	onTestFinished(async () => {
		await expectNone("this test leaves watches", () => openWatches().slice(found));
		if (isShared) return;
		await expectNone("this test leaves subscriptions", subscriptions);
		await expectNone("this test leaves timers", openTimers);
	});
});

afterAll(async () => {
	removeStubs();
	try {
		await expectNone("this file leaves subscriptions", subscriptions);
		await expectNone("this file leaves timers", openTimers);
		await expectNone("this file leaves watches", openWatches);
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
});
