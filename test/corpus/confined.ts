// The corpus in a sandbox: what a case is given there, and by which rules it cannot be played there.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { isWithin, SYSTEM } from "../../src/pty/sandbox-binds.ts";
import type { Case } from "./case.ts";

/** Its own, empty and in memory: a workspace cannot be a home directory. */
export const HOME = "/home/confined";

/** The checkout: fixtures, and the modules that they load. */
const CHECKOUT = join(import.meta.dirname, "../..");

export interface Room {
	/** The case's directory. */
	readonly workspace: string;
	readonly ro: readonly string[];
	/** Clients of the corpus reach servers on the loopback address. */
	readonly network: "host";
}

export function roomFor(directory: string, stubs: string): Room {
	const node = dirname(process.execPath);
	const ro = [stubs, CHECKOUT, ...(SYSTEM.some((path) => isWithin(node, path)) ? [] : [dirname(node)])];
	return { workspace: directory, ro, network: "host" };
}

/** What every sandbox has of its own. */
const PRIVATE = ["/proc", "/dev"];

/** Why a case cannot be played there; null where it can. */
export function notApplicable(one: Case, argv: readonly string[], room: Room): string | null {
	if (one.user !== undefined) return `needs what ${one.user === "root" ? "root" : "a set-uid program"} may do outside`;
	const settings = readdirSync(room.workspace).find((name) => name.startsWith(".") && name !== ".git");
	if (settings !== undefined) return `has ${settings} in its home directory, which is another one there`;
	if (isNarrow(argv[0] ?? "")) return "is a 32-bit program, which the system call filter refuses";
	const paths = argv.flatMap((argument) => argument.match(/\/[^\s'"`:;,=()<>|&]+/g) ?? []);
	return firstAbsent(paths, room);
}

/** By the fifth byte of an ELF file. */
function isNarrow(program: string): boolean {
	if (!isAbsolute(program) || !statSync(program, { throwIfNoEntry: false })?.isFile()) return false;
	return readFileSync(program).subarray(0, 5).toString("latin1") === "\x7fELF\x01";
}

/**
 * The same by what it shows: a program that says which directory it misses is at another question than outside, whose
 * truth is not in the table. Nethack, which keeps its scores in /var/games, asks to hit return, then space; mutt whether
 * to make the directory of letters that the case has made in its home.
 */
export function complains(screen: string, room: Room): string | null {
	const found = screen.match(/(?<![\w./~-])\/[\w.+-]+(?:\/[\w.+-]+)+/g) ?? [];
	const named = found.map((path) => path.replace(/\.+$/, ""));
	const atHome = named.find((path) => isWithin(path, HOME) && existsSync(join(room.workspace, relative(HOME, path))));
	// Its own name: ranger starts there, and not in the case's directory.
	if (atHome !== undefined)
		return `shows ${atHome === HOME ? "" : `${basename(atHome)} of `}its home directory, which is another one there`;
	return firstAbsent(named, room);
}

function firstAbsent(paths: readonly string[], { workspace, ro }: Room): string | null {
	const there = [workspace, ...ro, ...SYSTEM, ...PRIVATE];
	const absent = paths.find((path) => existsSync(path) && !there.some((directory) => isWithin(path, directory)));
	return absent === undefined ? null : `needs ${absent}, which is not there`;
}
