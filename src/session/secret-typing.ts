// Whether a secret may be typed now: the program at the terminal asks for one, shows nothing of it, and is one that may have it.

import { readlinkSync, statSync } from "node:fs";
import { Fault } from "../protocol/fault.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { PtyIoError } from "../pty/errors.ts";
import { matchesGlob, type NamedSecret } from "./policy.ts";
import type { Secrets } from "./secrets.ts";
import type { Session } from "./session.ts";

const ECHOES = "the terminal would show it";

export interface SecretToType {
	/** Null: a person has to type it. */
	readonly value: string | null;
	/** Throws unless the program still asks for it. For the moment it is typed. */
	readonly check: () => void;
	/** What the holder's refusal means: it looks at the terminal last. */
	readonly explained: (error: unknown) => unknown;
}

/** Throws unless this owner may have it typed, and the program asks for it at this moment. */
export async function secretToType(
	session: Session,
	{ name, owner, secrets, signal }: { name: string; owner: string; secrets: Secrets; signal: AbortSignal },
): Promise<SecretToType> {
	const secret = secrets.named(name, owner);
	// First without its value: nothing is read, and no key has to be touched, for a program that may not have it.
	await mayType(session, name, secret);
	const value = await secrets.read(name, secret, signal);
	const check = await mayType(session, name, secret);
	const explained = (error: unknown) =>
		error instanceof PtyIoError && error.code === "echo"
			? new Fault("secret_refused", { name, because: ECHOES, forProgram: false }, { cause: error })
			: error;
	return { value, check, explained };
}

async function mayType(session: Session, name: string, { programs }: NamedSecret): Promise<() => void> {
	const refused = (because: string) => new Fault("secret_refused", { name, because, forProgram: false });
	const forOthers = (because: string) => new Fault("secret_refused", { name, because, forProgram: true });
	const facts = await session.facts();
	await session.refresh();
	const check = () => {
		if (facts.echo) throw refused(ECHOES);
		if (session.attention.waitingFor !== "secret") throw refused("the program does not ask for a secret now");
		const readers = readersOf(facts);
		if (programs === undefined) return;
		if (readers.length === 0) throw forOthers("which program would read it cannot be seen");
		for (const pid of readers) {
			const executable = executableOf(pid);
			if (executable === null) throw forOthers("the executable of the program that would read it cannot be verified");
			if (!programs.some((pattern) => matchesGlob(pattern, executable)))
				throw forOthers(`it is not for ${executable}, which would read it`);
		}
	};
	check();
	return check;
}

/** The processes that read the terminal. */
function readersOf({ threads }: KernelFacts): readonly number[] {
	const reads = threads.filter(({ doing }) => doing === "tty-read" || doing === "tty-poll");
	return [...new Set(reads.map(({ pid }) => pid))];
}

/** The path of what a process executes; null where that path names another file by now, or none, or is not readable (set-uid). */
function executableOf(pid: number): string | null {
	try {
		const link = `/proc/${pid}/exe`;
		const path = readlinkSync(link);
		const [runs, named] = [statSync(link), statSync(path)];
		return runs.dev === named.dev && runs.ino === named.ino ? path : null;
	} catch {
		return null; // gone, deleted, or another user's
	}
}
