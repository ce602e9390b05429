// `--host` where a word names a session: declared for every such command, and put before the word, so that each of them
// has to know `host/name` alone.

import type { Command, Flag, Word } from "./command.ts";
import { badInput, type Flags } from "./flags.ts";

const HOST: Flag = { kind: "text", value: "HOST", summary: "On this machine of the fleet: the same as HOST/SESSION" };
const SESSIONS: ReadonlySet<unknown> = new Set<Word["is"]>(["session", "running session", "ended session"]);

const isSession = (word: Word | undefined) => SESSIONS.has(word?.is);

export const takesSession = ({ words = [] }: Pick<Command, "words">): boolean => words.some(isSession);

export function withHost(command: Command): Command {
	return takesSession(command) ? { ...command, flags: { ...command.flags, host: HOST } } : command;
}

interface Given {
	readonly words: readonly string[];
	readonly flags: Flags;
}

/** The words with the host that was given, and the flags without it. */
export function onHost({ words: declared = [] }: Command, { words, flags }: Given): Given {
	const host = flags.string("host");
	if (host === undefined || !declared.some(isSession)) return { words, flags };
	// The last one used, where a session may be left out.
	const named = words.length === 0 ? ["-"] : words;
	const wordAt = (index: number) => declared[Math.min(index, declared.length - 1)];
	return {
		words: named.map((word, index) => (isSession(wordAt(index)) ? sessionOn(host.trim(), word) : word)),
		flags: flags.without("host"),
	};
}

function sessionOn(host: string, session: string): string {
	if (host === "" || host.includes("/")) throw badInput("--host takes the name of a host of the fleet");
	const own = hostIn(session);
	if (own === null) return `${host}/${session}`;
	if (own === host.toLowerCase()) return session;
	throw badInput(`"${session}" names its host, and --host another one (${host})`);
}

/** The host in `host/name`; null where there is none. No session's own name or id has a slash. */
export function hostIn(session: string): string | null {
	const at = session.indexOf("/");
	return at < 1 ? null : session.slice(0, at).toLowerCase();
}
