// Which session a word means. The daemon resolves a name, an id, its prefix, and `-` for the
// last one, the same for every interface; a person may also abbreviate the names of their own.

import type { ListedSession, SessionFacts } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import { listAll } from "../tools/list-pages.ts";
import type { Invocation } from "./command.ts";
import { badInput } from "./flags.ts";

/** Does what needs a session, with the abbreviation completed where there is no session of this name. */
export async function onSession<T>(
	{ dependencies: { owner } }: Invocation,
	client: Client,
	given: string,
	act: (session: string) => Promise<T>,
): Promise<T> {
	try {
		return await act(given);
	} catch (error) {
		if (!(error instanceof Fault) || error.code !== "session_not_found") throw error;
		const { sessions } = (await listAll(client)).facts;
		const named = sessions.filter((one) => one.owner === owner && one.name.startsWith(given));
		const running = named.filter(({ exit, status }) => exit === null && status === "running");
		const full = theOne(running.length > 0 ? running : named, given);
		if (full === undefined) throw error;
		return act(full);
	}
}

/** What is known of a session, to somebody who only looks. */
export function look(invocation: Invocation, client: Client, given: string): Promise<SessionFacts> {
	return onSession(invocation, client, given, async (session) => await lookAt(invocation, client, session));
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
export async function runningNamed(invocation: Invocation, client: Client, given: string): Promise<string> {
	const { facts } = await listAll(client);
	const { owner } = invocation.dependencies;
	const all = facts.sessions.filter((one) => one.owner === owner);
	const own = all.filter(({ status }) => status === "running");
	const isGiven = ({ name, session }: ListedSession) => name === given || session === given;
	const name = own.find(isGiven)?.name ?? theOne(own, given);
	if (name !== undefined) return name;
	const ended = all.find(isGiven);
	if (ended !== undefined)
		throw new Fault("session_ended", { id: ended.name, sessionId: ended.session, how: ended.because });
	throw new Fault("session_not_found", { id: given, open: own.map((one) => one.name) });
}

/** The one name that begins like this. */
function theOne(sessions: readonly { readonly name: string }[], beginning: string): string | undefined {
	const names = [...new Set(sessions.map(({ name }) => name).filter((name) => name.startsWith(beginning)))];
	if (names.length > 1) throw badInput(`"${beginning}" may be ${names.join(" or ")}`);
	return names[0];
}
