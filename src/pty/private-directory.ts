// Directories in which only this user can have put anything: found to be so, or
// made so. One that others could have written in is refused, never repaired: what is
// in it may be theirs.

import { chmodSync, lstatSync, mkdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { join, resolve, sep } from "node:path";
import { Fault } from "../protocol/fault.ts";

const GROUP_AND_OTHERS = 0o077;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;
/** As the kernel's own limit. */
const MAX_LINKS = 40;

/** Throws unless it is this user's alone, 0700, and no other user can exchange it; false where it does not exist. */
export function checkPrivate(directory: string): boolean {
	return walk(directory).missing.length === 0;
}

/** Makes it and what is missing on the way, each 0700 whatever the umask; throws where `checkPrivate` would. */
export function makePrivate(directory: string): void {
	let { at, missing } = walk(directory);
	// Step by step: a recursive mkdir under /proc never returns.
	for (const name of missing) {
		at = join(at, name);
		try {
			mkdirSync(at, { mode: 0o700 });
			chmodSync(at, 0o700);
		} catch (error) {
			// Another process of ours was faster; the check below decides.
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(at, error);
		}
	}
	if (missing.length > 0 && !checkPrivate(directory)) throw unusable(directory, { code: "ENOENT" });
}

/** What a process or the system has too little of: no fault of the path that is named with it. */
const SHORTAGE = /^(EMFILE|ENFILE|ENOMEM)$/;

/** The error as a fault of the home, if the home is what failed: full, read-only, not writable, gone. Or of a shortage. */
export function homeFault(error: unknown, { state, run }: { state: string; run: string }): Fault | null {
	const { code, path, address } = error as NodeJS.ErrnoException & { address?: string };
	if (code === undefined || !/^E[A-Z]+$/.test(code) || error instanceof Fault) return null;
	if (SHORTAGE.test(code)) return new Fault("out_of_resources", { code }, { cause: error });
	const about = path ?? address;
	// An error of write(2) names no path.
	const ours = about === undefined ? /^(ENOSPC|EDQUOT|EROFS)$/.test(code) : isIn(about, state) || isIn(about, run);
	return ours ? unusable(state, error) : null;
}

const isIn = (path: string, directory: string) => path === directory || path.startsWith(`${directory}/`);

/** Follows the way from the root; returns the deepest directory that exists and the names that are missing below it. */
function walk(directory: string): { at: string; missing: readonly string[] } {
	let names = parts(resolve(directory));
	let at = "/";
	let parent = onTheWay("/", look("/")!, null);
	for (let links = 0; names.length > 0; ) {
		const [name, ...rest] = names as [string, ...string[]];
		const path = join(at, name);
		const found = look(path);
		if (found === null) return { at, missing: names };
		if (found.isSymbolicLink()) {
			// A link is as good as its owner and its directory, and has no mode of its own.
			if (rest.length === 0 || !isTrusted(found.uid) || isShared(parent)) throw unsafe(path, "link", found);
			if (++links > MAX_LINKS) throw unusable(path, { code: "ELOOP" });
			names = [...parts(resolve(at, readlinkSync(path))), ...rest];
			at = "/";
			parent = onTheWay("/", look("/")!, null);
			continue;
		}
		if (!found.isDirectory()) throw unusable(path, { code: "ENOTDIR" });
		parent = rest.length === 0 ? ownDirectory(path, found) : onTheWay(path, found, parent);
		at = path;
		names = rest;
	}
	return { at, missing: [] };
}

const parts = (path: string) => path.split(sep).filter((name) => name !== "");

/** The directory itself: ours, and closed to everyone else. */
function ownDirectory(path: string, found: Stats): Stats {
	if (found.uid !== self()) throw unsafe(path, "owner", found);
	if (isShared(found)) throw unsafe(path, "writable", found);
	if ((found.mode & GROUP_AND_OTHERS) !== 0) throw unsafe(path, "open", found);
	return found;
}

/** A directory on the way: no other user can exchange what is below it. */
function onTheWay(path: string, found: Stats, parent: Stats | null): Stats {
	// In /tmp anyone makes directories: there it has to be ours, or root's.
	const trusted = isTrusted(found.uid) || (isUnmapped(found.uid) && !(parent !== null && isShared(parent)));
	if (!trusted) throw unsafe(path, "owner", found);
	if (isShared(found) && (found.mode & STICKY) === 0) throw unsafe(path, "writable", found);
	return found;
}

const self = () => process.getuid?.() ?? 0;
const isTrusted = (uid: number) => uid === 0 || uid === self();

/** Others can make entries in it. A group of the user's own (same number) has no one else in it. */
function isShared({ mode, gid }: Stats): boolean {
	if ((mode & OTHERS_WRITE) !== 0) return true;
	return (mode & GROUP_WRITES) !== 0 && !(gid === process.getgid?.() && gid === self());
}

/** In a user namespace (a sandbox), the system's directories belong to a user that has no number there. */
function isUnmapped(uid: number): boolean {
	try {
		if (uid !== Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"))) return false;
		const ranges = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
		return !ranges.some((line) => {
			const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
			return uid >= first && uid < first + count;
		});
	} catch {
		return false; // no /proc: no namespaces that we know of
	}
}

function look(path: string): Stats | null {
	try {
		return lstatSync(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw unusable(path, error);
	}
}

type Danger = "owner" | "writable" | "open" | "link";

const unsafe = (directory: string, why: Danger, { uid, mode }: Stats) =>
	new Fault("unsafe_home", { directory, why, uid, mode: (mode & 0o7777).toString(8) });

const unusable = (directory: string, error: unknown) =>
	new Fault(
		"unusable_home",
		{ directory, code: (error as NodeJS.ErrnoException).code ?? "EUNKNOWN" },
		error instanceof Error ? { cause: error } : {},
	);
