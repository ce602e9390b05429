// A shell's files in its session's directory: made before it starts, found again
// by a daemon that adopts it.

import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ShellCommands, type ShellIdentity } from "./commands.ts";
import { shellKind, shells } from "./shells.ts";

/** Changes with the contract between shell/ and `deliver`. */
const SHELL_VERSION = 2;
const FOLDER = "shell";
const IDENTITY = "shell.json";
// For the helper of `separate`, which must not have it as an argument.
const NONCE = "nonce";

export interface ShellSpec {
	/** Its name. */
	readonly name: string;
	/** bash, /bin/zsh, … */
	readonly program: string;
	readonly clean?: boolean;
	readonly login?: boolean;
}

export interface Prepared {
	readonly argv: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly commands: ShellCommands;
}

/** Writes what the shell reads at its start. */
export async function prepareShell(
	directory: string,
	spec: ShellSpec,
	env: Readonly<Record<string, string>>,
): Promise<Prepared> {
	const dir = join(directory, FOLDER);
	const kind = shellKind(spec.program);
	const identity: ShellIdentity = {
		version: SHELL_VERSION,
		kind,
		program: spec.program,
		aid: randomBytes(16).toString("hex"),
		name: spec.name,
		dir,
	};
	const { clean = false, login = false } = spec;
	const start = shells[kind].start({ ...identity, clean, login, env });
	await mkdir(dir, { mode: 0o700 });
	await writeFiles(dir, { ...start.files, [IDENTITY]: JSON.stringify(identity), [NONCE]: identity.aid });
	return { argv: start.argv, env: start.env, commands: new ShellCommands(identity) };
}

/** The shell in this session's directory, if any. */
export async function rememberedShell(directory: string): Promise<ShellCommands | null> {
	const text = await readFile(join(directory, FOLDER, IDENTITY), "utf8").catch(() => null);
	if (text === null) return null;
	const identity = JSON.parse(text) as ShellIdentity;
	// A shell that read other start files than ours does not know the lines that we would type.
	return new ShellCommands(identity, { isOurs: identity.version === SHELL_VERSION });
}

/** Only this user may read these files: commands contain secrets, and the start files the nonce. */
export async function writeFiles(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
	await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(dir, name), text, { mode: 0o600 })));
}
