// Where things are: $STATE and $RUN of DESIGN §3, and a socket path for every
// session that the kernel can take.

import { lstatSync } from "node:fs";
import { chmod, lstat, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** sun_path on macOS; Linux has 108. */
const MAX_SOCKET_PATH_BYTES = 104;
const LONGEST_ID = `${"0".repeat(26)}.sock`;

export interface Places {
	readonly state: string;
	readonly run: string;
	readonly sessions: string;
	socketFor(id: string): string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Paths only; `preparePlaces` makes the directories. */
export function places(env: Variables = process.env): Places {
	const home = absolute(env.DIALTONE_HOME);
	const state = home ?? join(absolute(env.XDG_STATE_HOME) ?? join(env.HOME || homedir(), ".local/state"), "dialtone");
	const run = short(home ? join(home, "run") : runtimeDirectory(env));
	return {
		state,
		run,
		sessions: join(state, "sessions"),
		socketFor: (id) => {
			const path = join(run, `${id}.sock`);
			return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : join(run, `${hash(id)}.sock`);
		},
	};
}

/** Makes the directories, private to this user: any process that can enter $RUN can connect to holders. */
export async function preparePlaces({ state, run, sessions }: Places): Promise<void> {
	await mkdir(sessions, { recursive: true, mode: 0o700 });
	const private_ = run.startsWith(shared()) ? [shared(), run] : [run];
	for (const directory of [state, ...private_]) {
		await mkdir(dirname(directory), { recursive: true, mode: 0o700 });
		await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
		});
		// lstat: a symbolic link planted in /tmp is another user's directory.
		const found = await lstat(directory);
		if (!found.isDirectory()) throw new Error(`${directory} is not a directory`);
		if (process.getuid && found.uid !== process.getuid()) throw new Error(`${directory} belongs to another user`);
		if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700);
	}
}

function runtimeDirectory(env: Variables): string {
	const given = absolute(env.XDG_RUNTIME_DIR);
	return given && isOurs(given) ? join(given, "dialtone") : shared();
}

/** Replaces a path that does not fit in a socket address with a short one. */
function short(run: string): string {
	return Buffer.byteLength(join(run, LONGEST_ID)) <= MAX_SOCKET_PATH_BYTES ? run : join(shared(), hash(run));
}

/** Not TMPDIR: it may be long, and every process of this user must find the same. */
const shared = () => `/tmp/dialtone-${process.getuid?.() ?? 0}`;

// Loaded only where a path is too long: importing it costs every CLI call 2 ms.
const hash = (text: string) => {
	const { createHash } = createRequire(import.meta.url)("node:crypto") as typeof import("node:crypto");
	return createHash("sha256").update(text).digest("hex").slice(0, 16);
};

const absolute = (path: string | undefined) => (path ? (isAbsolute(path) ? path : resolve(path)) : undefined);

function isOurs(directory: string): boolean {
	try {
		const found = lstatSync(directory);
		return found.isDirectory() && found.uid === process.getuid?.();
	} catch {
		return false; // after `su`, the variable often names another user's directory or none
	}
}
