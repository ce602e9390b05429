// Where things are: $STATE and $RUN of DESIGN §3, and a socket path for every
// session that the kernel can take. That they are safe is checked in private-directory.ts.

import { createRequire } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { makePrivate } from "./private-directory.ts";

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
	// Never in $XDG_RUNTIME_DIR: a logout removes it, and with it the way to every running session.
	const run = short(join(state, "run"));
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
export function preparePlaces({ state, run, sessions }: Places): void {
	for (const directory of [state, run, sessions]) makePrivate(directory);
}

/** Replaces a path that does not fit in a socket address with a short one. */
function short(run: string): string {
	return Buffer.byteLength(join(run, LONGEST_ID)) <= MAX_SOCKET_PATH_BYTES ? run : join(shared(), hash(run));
}

/** Not TMPDIR: it may be long, and every process of this user must find the same. Checked like every other place. */
const shared = () => `/tmp/dialtone-${process.getuid?.() ?? 0}`;

// Loaded only where a path is too long: importing it costs every CLI call 2 ms.
const hash = (text: string) => {
	const { createHash } = createRequire(import.meta.url)("node:crypto") as typeof import("node:crypto");
	return createHash("sha256").update(text).digest("hex").slice(0, 16);
};

const absolute = (path: string | undefined) => (path ? (isAbsolute(path) ? path : resolve(path)) : undefined);
