// A launch, confined: the same program on the same terminal, run by bwrap with a file system, a
// network and processes of its own. docs/sandbox.md says what is in it.
//
// Here only the command line is made. Who is confined is decided by the session's policy; the
// terminal, the system call filter and the exact exit status are the work of holder/sandbox/, whose
// outer half is the session's main process. Every doubt is a SandboxError: nothing then starts.
//
// What is on the system's own disk or in /proc is asked for synchronously: each takes microseconds, and through the
// thread pool a start took 5 ms longer. A home and a workspace may be on a server that does not answer.

import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import type { LaunchSpec } from "./launch-block.ts";
import { places } from "./places.ts";
import { type Bind, isWithin, resolveBind, SYSTEM } from "./sandbox-binds.ts";
import { confinedEnvironment, PROXY_PORT } from "./sandbox-environment.ts";
import { SandboxError } from "./sandbox-error.ts";

export { SandboxError } from "./sandbox-error.ts";

/** Absolute paths. */
export interface Sandbox {
	/** May be written, as may `rw`; `ro` only be read. What is named deeper wins: `ro` of a directory in the workspace. */
	readonly workspace: string;
	readonly ro: readonly string[];
	readonly rw: readonly string[];
	/** Nothing; what the machine has; or only these hosts, through a proxy. */
	readonly network: "none" | "host" | { readonly allow: readonly string[] };
}

interface Parts {
	/** Directories of ours that the program needs, to be written. */
	readonly also?: readonly string[];
	/** Programs of ours that it runs, by the same path. */
	readonly programs?: readonly string[];
	/** Where the proxy of `network.allow` listens, alone in its directory: the next daemon listens there again. */
	readonly proxySocket?: string | undefined;
	/** For tests: where to look for bwrap, and another helper than the one that was built with us. */
	readonly bwrapIn?: readonly string[];
	readonly helper?: string;
}

/** Only root can put a program here. A PATH may lead into a workspace, where a confined program could leave its own bwrap. */
const BWRAP_IN = ["/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"];

/** The same place whether this runs from src/ or from dist/. */
const ROOT = join(import.meta.dirname, "../..");
const HELPER = join(ROOT, "build/dialtone-sandbox");
const HELPER_WITHIN = "/run/dialtone-sandbox";
const PROXY_WITHIN = "/run/dialtone-proxy";

/** Of each directory that is made for the sandbox alone. They are in memory. */
const PRIVATE_BYTES = 1024 ** 3;

/** It takes a few milliseconds. */
const TRY_MS = 10_000;

/**
 * What root could change or read without any capability, because root owns it. The rest of its files ask for one.
 * bwrap leaves /proc/sys writable for uid 0: a program could have set core_pattern.
 */
const PROC_DIRECTORIES = ["sys", "acpi", "scsi"];
const PROC_FILES = ["kpagecgroup", "kpagecount", "kpageflags"];

/** The same launch, confined. Throws SandboxError: fails closed. */
export async function confined(launch: LaunchSpec, sandbox: Sandbox, parts: Parts): Promise<LaunchSpec> {
	const bwrap = foundBwrap(parts.bwrapIn ?? BWRAP_IN);
	const helper = parts.helper ?? HELPER;
	checkNamespaces(uidOf(launch), helper);
	const homes = await homesOf(launch);
	const binds = await resolveBinds(launch, sandbox, { homes, also: parts.also ?? [] });
	const proxied = typeof sandbox.network === "object";
	if (proxied && parts.proxySocket === undefined)
		throw new SandboxError("no_proxy", "no proxy listens for the hosts that are allowed");
	return {
		...launch,
		program: helper,
		argv: [
			"dialtone-sandbox",
			"outer",
			bwrap,
			...namespaces(sandbox),
			...systemMounts(sandbox),
			...processMounts(launch),
			...privateMounts(homes),
			...(parts.proxySocket === undefined ? [] : ["--ro-bind", dirname(parts.proxySocket), PROXY_WITHIN]),
			...binds.flatMap(({ path, writable }) => [writable ? "--bind" : "--ro-bind", path, path]),
			...(parts.programs ?? []).flatMap((path) => ["--ro-bind", path, path]),
			...["--ro-bind", helper, HELPER_WITHIN, "--remount-ro", "/"],
			...["--", HELPER_WITHIN, "inner"],
			...binds.flatMap(({ path, device, inode }) => ["same", path, String(device), String(inode)]),
			...(proxied ? ["proxy", String(PROXY_PORT), join(PROXY_WITHIN, basename(parts.proxySocket!))] : []),
			...["cwd", launch.cwd, "run", launch.program ?? "", ...launch.argv],
		],
		env: confinedEnvironment(launch.env, { proxied }),
		cwd: "/",
		noControllingTerminal: true,
		reportsLaunch: true,
	};
}

/** Starts a program in the namespaces of a sandbox, to see whether this machine allows it. Returns the path of bwrap; throws SandboxError. */
export async function tryConfining(parts: Pick<Parts, "bwrapIn" | "helper"> = {}): Promise<string> {
	const bwrap = foundBwrap(parts.bwrapIn ?? BWRAP_IN);
	checkNamespaces(ownUid(), parts.helper ?? HELPER);
	const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", ...privateMount("/tmp")];
	try {
		// bwrap itself is the one program that is surely there.
		const argv = [...namespaces({ network: "none" }), ...mounts, "--", bwrap, "--version"];
		await promisify(execFile)(bwrap, argv, { timeout: TRY_MS, killSignal: "SIGKILL" });
		return bwrap;
	} catch (error) {
		const { stderr, message } = error as Error & { stderr?: string };
		throw new SandboxError("no_namespaces", stderr?.trim() || message, { cause: error });
	}
}

function foundBwrap(directories: readonly string[]): string {
	const path = directories.map((directory) => join(directory, "bwrap")).find(isExecutable);
	if (path !== undefined) return path;
	throw new SandboxError("no_bwrap", `bubblewrap (bwrap) is not installed: it is not in ${directories.join(", ")}`);
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false; // absent, or not for us
	}
}

/** What can be known beforehand. Whatever else forbids them (a container's filter, AppArmor) makes the launch fail with bwrap's words. */
function checkNamespaces(uid: number, helper: string): void {
	if (!isExecutable(helper))
		throw new SandboxError(
			"no_helper",
			"Dialtone's sandbox helper is not built (`npm run setup`), or not for this system",
		);
	const isOff = (file: string) => textOf(file).trim() === "0"; // absent: not a limit
	const off =
		isOff("/proc/sys/user/max_user_namespaces") || (uid !== 0 && isOff("/proc/sys/kernel/unprivileged_userns_clone"));
	if (off) throw new SandboxError("no_namespaces", "user namespaces are switched off on this machine");
}

/** Of a file of the system; "" if there is none. */
function textOf(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch {
		return ""; // not on this system
	}
}

const ownUid = () => process.getuid?.() ?? 0;
const uidOf = ({ uid }: LaunchSpec) => uid ?? ownUid();

/** Every directory that is a home to the program or to us, resolved. */
async function homesOf(launch: LaunchSpec): Promise<readonly string[]> {
	// Where users are named in another way, HOME has to do.
	const line = textOf("/etc/passwd")
		.split("\n")
		.find((entry) => entry.split(":")[2] === String(uidOf(launch)));
	const named = [launch.env.HOME, process.env.HOME, homedir(), line?.split(":")[5]];
	const absolute = named.flatMap((home) => (home?.startsWith(sep) && home !== sep ? [home] : []));
	const resolved = await Promise.all([...new Set(absolute)].map((home) => realpath(home).catch(() => home))); // one that is missing may come
	return [...new Set(resolved)];
}

async function resolveBinds(
	launch: LaunchSpec,
	sandbox: Sandbox,
	{ homes, also }: { homes: readonly string[]; also: readonly string[] },
): Promise<readonly Bind[]> {
	const { state, run } = places();
	const session = dirname(launch.directory);
	const ours = [state, run, launch.directory, dirname(launch.socketPath)];
	if (basename(session) === "sessions") ours.push(dirname(session));
	const kept = { ours: [...new Set([...ours, ...ours.map(resolved)])], programs: resolved(ROOT), homes };
	if (!(await stat(sandbox.workspace).catch(() => undefined))?.isDirectory())
		throw new SandboxError("no_workspace", `the workspace ${sandbox.workspace} is not a directory`);
	const binds = await Promise.all([
		resolveBind(sandbox.workspace, true, kept),
		...sandbox.rw.map((path) => resolveBind(path, true, kept)),
		...sandbox.ro.map((path) => resolveBind(path, false, kept)),
		...also.map((path) => ownBind(path)),
	]);
	const above = await Promise.all(directoriesAbove(binds).map((path) => resolveBind(path, true, kept)));
	// A parent first, or it would hide what is within; of the same path the read-only one is last.
	return [...binds, ...above].sort(
		(one, other) => one.path.length - other.path.length || Number(other.writable) - Number(one.writable),
	);
}

/**
 * The directories between what is only to be read and the writable directory that it is in. Bound, too, because nobody can move
 * what is a mount: with its parent moved away, another could be made in its place.
 */
function directoriesAbove(binds: readonly Bind[]): readonly string[] {
	const named = new Set(binds.map(({ path }) => path));
	const found = binds
		.filter(({ writable }) => !writable)
		.flatMap(({ path }) => {
			const between: string[] = [];
			for (let at = dirname(path); at !== sep && !named.has(at); at = dirname(at)) between.push(at);
			const around = binds.find((bind) => bind.path === dirname(between.at(-1) ?? path));
			return around?.writable ? between : [];
		});
	return [...new Set(found)];
}

/** Of what is ours or the system's. */
function resolved(path: string): string {
	try {
		return realpathSync.native(path);
	} catch {
		return path; // not made yet
	}
}

async function ownBind(path: string): Promise<Bind> {
	const facts = await stat(path);
	return { path, writable: true, device: facts.dev, inode: facts.ino };
}

function namespaces({ network }: Pick<Sandbox, "network">): readonly string[] {
	return [
		..."--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --as-pid-1".split(" "),
		...(network === "host" ? [] : ["--unshare-net"]),
		...["--cap-drop", "ALL"],
	];
}

function systemMounts({ network }: Sandbox): readonly string[] {
	const mounts = SYSTEM.flatMap((path) => {
		const facts = lstatSync(path, { throwIfNoEntry: false }); // not on every system
		if (facts === undefined) return [];
		return facts.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
	});
	// A resolver's file is often a link to what a service wrote in /run.
	const resolver = resolved("/etc/resolv.conf");
	const outside = network === "host" && existsSync(resolver) && !SYSTEM.some((path) => isWithin(resolver, path));
	return [...mounts, "@private", ...(outside ? ["--ro-bind", resolver, resolver] : [])];
}

function processMounts(launch: LaunchSpec): readonly string[] {
	const mounts = [
		"--dev",
		"/dev",
		...privateMount("/dev/shm"),
		"--dev-bind",
		"@terminal",
		"/dev/terminal",
		"--proc",
		"/proc",
	];
	if (uidOf(launch) !== 0) return mounts;
	const present = (name: string) => existsSync(`/proc/${name}`);
	return [
		...mounts,
		...PROC_DIRECTORIES.filter(present).flatMap((name) => ["--ro-bind", `/proc/${name}`, `/proc/${name}`]),
		...PROC_FILES.filter(present).flatMap((name) => ["--ro-bind", "/dev/null", `/proc/${name}`]),
	];
}

const privateMount = (path: string) => ["--perms", "1777", "--size", String(PRIVATE_BYTES), "--tmpfs", path];

function privateMounts(homes: readonly string[]): readonly string[] {
	const own = homes.filter((home) => !SYSTEM.some((path) => isWithin(home, path)));
	return [
		...["/tmp", "/run"].flatMap(privateMount),
		...["--symlink", "../tmp", "/var/tmp"],
		...own.flatMap((home) => ["--perms", "0700", "--size", String(PRIVATE_BYTES), "--tmpfs", home]),
	];
}
