// Which session is meant: a name, an id, the beginning of either, or `-` for the
// last one this command line dealt with.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../protocol/fault.ts";
import type { Answer, Exchange } from "../tools/exchange.ts";
import type { Invocation } from "./verb.ts";

interface Listed {
	readonly session: string;
	readonly name: string;
	readonly createdAt?: number;
}

export async function listSessions(exchange: Exchange): Promise<readonly Listed[]> {
	const { facts } = await exchange.call("list", {});
	return (facts as { sessions: readonly Listed[] }).sessions;
}

const lastFile = (stateDir: string) => join(stateDir, "last");

function remember(stateDir: string, session: string): void {
	try {
		mkdirSync(stateDir, { recursive: true, mode: 0o700 });
		writeFileSync(lastFile(stateDir), session, { mode: 0o600 });
	} catch {
		// `-` is a convenience: a read-only home must not make a call fail that has already happened.
	}
}

async function last(exchange: Exchange, stateDir: string): Promise<string> {
	const sessions = await listSessions(exchange);
	let remembered = "";
	try {
		remembered = readFileSync(lastFile(stateDir), "utf8").trim();
	} catch {
		// Nothing was remembered yet: the newest one then.
	}
	const found =
		sessions.find(({ session }) => session === remembered) ??
		[...sessions].sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0))[0];
	if (found === undefined) throw new Fault("session_not_found", { id: "-", open: [] });
	return found.session;
}

/** The one session whose id or name begins like this, if it is only one. */
function byPrefix(sessions: readonly Listed[], word: string): string | undefined {
	const found = sessions.filter(({ session, name }) => session.startsWith(word) || name.startsWith(word));
	return found.length === 1 ? found[0]!.session : undefined;
}

/** Does something with the session that a word means; the word is looked up only where it is not a name or an id. */
export async function withSession<T>(
	it: Invocation,
	exchange: Exchange,
	word: string | undefined,
	act: (session: string) => Promise<T>,
): Promise<T> {
	if (word === undefined) throw new Fault("bad_input", { problems: ["a session is missing"] });
	const { stateDir } = it.wires;
	const first = word === "-" ? await last(exchange, stateDir) : word;
	try {
		const result = await act(first);
		remember(stateDir, sessionOf(result) ?? first);
		return result;
	} catch (fault) {
		if (!(fault instanceof Fault) || fault.code !== "session_not_found" || word === "-") throw fault;
		const meant = byPrefix(await listSessions(exchange), word);
		if (meant === undefined) throw fault;
		const result = await act(meant);
		remember(stateDir, meant);
		return result;
	}
}

export function rememberAnswer(it: Invocation, answer: Answer): void {
	const session = sessionOf(answer);
	if (session !== undefined) remember(it.wires.stateDir, session);
}

function sessionOf(result: unknown): string | undefined {
	const session = (result as Partial<Answer> | undefined)?.facts as { session?: unknown } | undefined;
	return typeof session?.session === "string" ? session.session : undefined;
}
