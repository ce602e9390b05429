// A shell's files in its session's directory: made before it starts, found again
// by a daemon that adopts it.
//
// In its folder the shell writes, too, also a confined one: it may leave links and pipes there. So what we
// rely on is beside the folder, and nothing in it is written through what is there already.

import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import {
	CorruptState,
	checked,
	MAX_BYTES,
	parseObject,
	readCache,
	readState,
	replaceState,
} from "../../journal/state-file.ts";
import { ShellCommands, type ShellIdentity } from "./commands.ts";
import { NONCES, SHELL_KINDS, shellKind, shells } from "./shells.ts";

/** Changes with the contract between shell/ and `deliver`. */
const SHELL_VERSION = 3;
const FOLDER = "shell";
const IDENTITY = "shell.json";
const DEADLINE = "deadline.json";

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
		end: randomBytes(16).toString("hex"),
		name: spec.name,
		dir,
	};
	const { clean = false, login = false } = spec;
	const start = shells[kind].start({ ...identity, clean, login, env });
	await mkdir(dir, { mode: 0o700 });
	await writeFiles(dir, { ...start.files, [NONCES]: `${identity.aid} ${identity.end}\n` });
	await replaceState(join(directory, IDENTITY), JSON.stringify(identity));
	return { argv: start.argv, env: start.env, commands: new ShellCommands(identity) };
}

const schema = z.object({
	version: z.int(),
	kind: z.enum(SHELL_KINDS),
	program: z.string(),
	aid: z.string().min(1),
	/** One of an older version has none, and is typed nothing. */
	end: z.string().min(1).default("-"),
	name: z.string(),
	dir: z.string(),
});

/** The shell in this session's directory; null where there is none, or none that can be told: then it is a program like any other. */
export async function rememberedShell(directory: string): Promise<ShellCommands | null> {
	const dir = join(directory, FOLDER);
	// A shell of 0.1.0 has it in its folder.
	const identity = (await readIdentity(directory)) ?? (await readIdentity(dir));
	if (identity === null) return null;
	// A shell that read other start files than ours does not know the lines that we would type.
	return new ShellCommands({ ...identity, dir }, { isOurs: identity.version === SHELL_VERSION });
}

function readIdentity(directory: string): Promise<z.infer<typeof schema> | null> {
	return readState({
		path: join(directory, IDENTITY),
		maxBytes: MAX_BYTES.shell,
		parse: (text) => checked(schema, parseObject(text)),
	}).catch((error: unknown) => {
		if (error instanceof CorruptState) return null; // set aside
		throw error;
	});
}

/** When the newest command is to be stopped: for a daemon that finds it running. */
export interface Deadline {
	readonly run: string;
	/** In milliseconds since 1970; null: never. */
	readonly stopAt: number | null;
}

export const writeDeadline = (dir: string, deadline: Deadline): Promise<void> =>
	replaceState(join(dirname(dir), DEADLINE), JSON.stringify(deadline));

/** Null where there is none. */
export async function readDeadline(dir: string): Promise<Deadline | null> {
	return readCache({
		path: join(dirname(dir), DEADLINE),
		maxBytes: MAX_BYTES.shell,
		parse: (text) => checked(deadlineSchema, parseObject(text)),
	});
}

const deadlineSchema = z.object({ run: z.string(), stopAt: z.number().nullable() });

/** Only this user may read these files: commands contain secrets, and the shell reads its nonces from one. */
export async function writeFiles(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
	await Promise.all(
		Object.entries(files).map(async ([name, text]) => {
			const path = join(dir, name);
			await rm(path, { force: true });
			await writeFile(path, text, { mode: 0o600, flag: "wx" }); // never through a link
		}),
	);
}
