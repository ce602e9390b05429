// Which directories of the machine a sandbox may be given: resolved once, refused where they would
// let the program out. What was resolved is what is bound; that it is still the same is checked
// within the sandbox (holder/sandbox/inner.c), because a path can become a link in between.

import { readdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { SandboxError } from "./sandbox-error.ts";

export interface Bind {
	readonly path: string;
	readonly writable: boolean;
	readonly device: number;
	readonly inode: number;
}

/** The parts of the system that every program needs. Read-only, and therefore refused as a place to write. */
export const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store"] as const;

/** Neither these nor what is below them: devices, the kernel's settings, sockets of services. */
const NEVER_WITHIN = ["/proc", "/sys", "/dev", "/run", "/boot", "/var/lib/docker", "/var/lib/containerd"];

/** Not these, but what is below them: others keep sockets and files there. */
const NEVER_WHOLE = ["/tmp", "/var", "/var/tmp", "/home", "/root", "/opt", "/srv", "/mnt", "/media"];

/** In a home: what proves who somebody is. */
const CREDENTIALS = [
	...".ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .npmrc .pypirc .password-store .pgpass .my.cnf".split(
		" ",
	),
	...".config/gcloud .config/gh .config/op .config/hub .config/git/credentials .local/share/keyrings .cargo/credentials.toml".split(
		" ",
	),
	...".mozilla .thunderbird .config/google-chrome .config/chromium .claude.json .codex .gem/credentials .terraform.d".split(
		" ",
	),
];

/** In a home: what is executed by the next shell, editor or desktop, and so not in the sandbox. */
const START_FILES = [
	...".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin".split(
		" ",
	),
	...".zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .xsessionrc .xsession".split(
		" ",
	),
	...".pam_environment .vimrc .vim .emacs .emacs.d .gitconfig .tmux.conf .screenrc .gdbinit .lldbinit .config .local/bin".split(
		" ",
	),
	...".local/lib .local/share/applications .local/share/systemd .oh-my-zsh .cargo/env .cargo/bin .cargo/config.toml".split(
		" ",
	),
];

export const isWithin = (path: string, directory: string) =>
	path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
const overlap = (one: string, other: string) => isWithin(one, other) || isWithin(other, one);

interface Private {
	/** Directories of our own: state, sockets, the session's. */
	readonly ours: readonly string[];
	/** Our programs: whoever can write them is outside with the next start. */
	readonly programs: string;
	readonly homes: readonly string[];
}

/** Throws SandboxError `bad_bind`. */
export async function resolveBind(named: string, writable: boolean, kept: Private): Promise<Bind> {
	const refuse = (why: string) => new SandboxError("bad_bind", `${named} cannot be part of a sandbox: ${why}`);
	if (!named.startsWith(sep)) throw refuse("it is not an absolute path");
	const path = await realpath(named).catch((cause: NodeJS.ErrnoException) => {
		throw new SandboxError("bad_bind", `${named} cannot be part of a sandbox: ${cause.message}`, { cause });
	});
	const facts = await stat(path);
	if (!facts.isDirectory() && !facts.isFile()) throw refuse("it is neither a directory nor a file");
	const why = await problemOf(path, writable, kept);
	if (why !== undefined) throw refuse(why);
	return { path, writable, device: facts.dev, inode: facts.ino };
}

async function problemOf(path: string, writable: boolean, kept: Private): Promise<string | undefined> {
	const within = (directories: readonly string[]) => directories.find((directory) => isWithin(path, directory));
	const system = within(SYSTEM);
	if (path === sep || NEVER_WHOLE.includes(path)) return "it holds what belongs to others";
	if (within(NEVER_WITHIN)) return `it is in ${within(NEVER_WITHIN)}`;
	if (NEVER_WITHIN.some((directory) => isWithin(directory, path))) return "it holds the sockets of services";
	if (system === "/etc" || (system && writable)) return `${system} is the system's, and there to be read already`;
	if (kept.ours.some((directory) => overlap(path, directory))) return "Dialtone keeps its own state there";
	if (writable && overlap(path, kept.programs)) return "Dialtone's own programs are there";
	for (const home of kept.homes) {
		const problem = await problemInHome(path, writable, home);
		if (problem !== undefined) return problem;
	}
	return undefined;
}

async function problemInHome(path: string, writable: boolean, home: string): Promise<string | undefined> {
	if (home === sep) return undefined;
	if (isWithin(home, path)) return "it holds a home directory";
	const found = CREDENTIALS.find((name) => overlap(path, join(home, name)));
	if (found !== undefined) return `credentials are in ${found}`;
	if (!writable) return undefined;
	const dotted = dirname(path) === home && basename(path).startsWith(".") && basename(path) !== ".cache";
	if (dotted) return "what starts with a dot in a home directory configures programs outside of the sandbox";
	const started = START_FILES.find((name) => overlap(path, join(home, name)));
	if (started !== undefined) return `${started} is executed outside of the sandbox`;
	const led = (await linkedWithin(home, START_FILES)).find(({ target }) => overlap(path, target));
	return led && `${led.name} leads there, and is executed outside of the sandbox`;
}

interface Linked {
	/** Of the start file, below the directory. */
	readonly name: string;
	readonly target: string;
}

/** Those that are elsewhere because they or a directory above them are links, into a repository of dotfiles, say. */
async function linkedWithin(directory: string, names: readonly string[]): Promise<readonly Linked[]> {
	const led = async (name: string): Promise<Linked> => ({ name, target: await targetOf(join(directory, name)) });
	const listed = await readdir(directory, { withFileTypes: true }).catch(({ code }: NodeJS.ErrnoException) =>
		code === "ENOENT" || code === "ENOTDIR" ? [] : undefined,
	);
	if (listed === undefined) return Promise.all(names.map(led)); // it may not be listed
	const found = listed.map(async (entry): Promise<readonly Linked[]> => {
		const here = names.filter((name) => isWithin(name, entry.name));
		if (entry.isSymbolicLink()) return Promise.all(here.map(led));
		const below = here.flatMap((name) => (name === entry.name ? [] : [name.slice(entry.name.length + 1)]));
		if (below.length === 0) return [];
		const within = await linkedWithin(join(directory, entry.name), below);
		return within.map(({ name, target }) => ({ name: join(entry.name, name), target }));
	});
	return (await Promise.all(found)).flat();
}

/** Where a path leads, or would lead if it were made. */
async function targetOf(path: string): Promise<string> {
	if (path === sep) return path;
	const whole = await realpath(path).catch(() => undefined); // absent, or a link to what is
	if (whole !== undefined) return whole;
	const link = await readlink(path).catch(() => undefined);
	return link === undefined ? join(await targetOf(dirname(path)), basename(path)) : resolve(dirname(path), link);
}
