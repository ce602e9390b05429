// Which session a word means. The daemon resolves a name, an id, its prefix, and `-` for the
// last one, the same for every interface; a person may also abbreviate the names of their own.

import type { ListedSession, SessionFacts } from "../protocol/answer.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import { listAll } from "../tools/list-pages.ts";
import type { Invocation } from "./command.ts";
import { badInput } from "./flags.ts";
import { hostIn } from "./session-host.ts";

/** Does what needs a session, with the abbreviation completed where there is no session of this name. */
export async function onSession<T>(client: Client, given: string, act: (session: string) => Promise<T>): Promise<T> {
	try {
		return await act(given);
	} catch (error) {
		if (!isFault(error, "session_not_found")) throw error;
		const own = await ownSessions(client, given);
		const running = own.filter(({ exit, status }) => exit === null && status === "running");
		const full = theOne(running, given) ?? theOne(own, given);
		if (full === undefined) throw error;
		return act(full);
	}
}

/** What is known of a session, to somebody who only looks. */
export function look(invocation: Invocation, client: Client, given: string): Promise<SessionFacts> {
	return onSession(client, given, async (session) => await lookAt(invocation, client, session));
}

/** The same by its id or whole name. */
export async function lookAt(
	{ dependencies: { observer } }: Invocation,
	client: Client,
	session: string,
): Promise<SessionFacts> {
	return (await client.call("read", { session, view: "screen" }, { caller: observer() })).facts;
}

/** The name of a running session of the caller, for a call that would otherwise start one. */
export async function runningNamed(client: Client, given: string): Promise<string> {
	const all = await ownSessions(client, given);
	const own = all.filter(({ status }) => status === "running");
	const isGiven = ({ name, session }: Called) => [name, session].includes(spelled(given));
	const name = own.find(isGiven)?.name ?? theOne(own, given);
	if (name !== undefined) return name;
	const ended = all.find(isGiven);
	if (ended !== undefined)
		throw new Fault("session_ended", { id: ended.name, sessionId: ended.session, how: ended.because });
	throw new Fault("session_not_found", { id: given, open: own.map((one) => one.name) });
}

type Called = Pick<ListedSession, "status" | "exit" | "because"> & { readonly name: string; readonly session: string };

/** The caller's own, of the machine that is named or of all. A machine is asked itself: its records here may be of before. */
async function ownSessions(client: Client, given: string): Promise<readonly Called[]> {
	const host = hostIn(given);
	const { sessions } = (await listAll(client, host === null ? {} : { host })).facts;
	const own = sessions.filter(({ mine }) => mine);
	if (host === null) return own;
	// Where this machine is named, its own are listed without it.
	const called = (name: string) => (hostIn(name) === null ? `${host}/${name}` : name);
	return own.map(({ name, session, ...one }) => ({ ...one, name: called(name), session: called(session) }));
}

/** As lists spell it: the names of hosts are in small letters. */
function spelled(given: string): string {
	const host = hostIn(given) ?? "";
	return host + given.slice(host.length);
}

/** The one name that begins like this; nothing is the beginning of none. */
function theOne(sessions: readonly Called[], given: string): string | undefined {
	const beginning = spelled(given);
	if (beginning === "" || beginning.endsWith("/")) return undefined;
	const names = [...new Set(sessions.map(({ name }) => name).filter((name) => name.startsWith(beginning)))];
	if (names.length > 1) throw badInput(`"${given}" may be ${names.join(" or ")}`);
	return names[0];
}
