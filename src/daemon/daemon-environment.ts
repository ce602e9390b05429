// The environment of a daemon: what it needs for its own work. Every later caller's
// programs can read it in /proc, so the keys of the caller that happened to start it must
// not be in it, nor what changes how node or the dynamic linker work (NODE_OPTIONS, LD_*).

import { optionVariables } from "../session/options.ts";

const ALLOWED = new Set([
	// For callers over HTTP, which have no environment of their own.
	...["PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ"],
	// For the commands that read secrets: places, not secrets.
	...["GNUPGHOME", "PASSWORD_STORE_DIR"],
	...["DIALTONE_HOME", "DIALTONE_LOG_LEVEL", "DIALTONE_PORT", "DIALTONE_FONTS"],
	...optionVariables(),
]);

/** The allow-listed part of the environment of the process that starts the daemon. */
export function daemonEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
	const own: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) {
		if (value !== undefined && (ALLOWED.has(name) || name.startsWith("LC_"))) own[name] = value;
	}
	return own;
}
