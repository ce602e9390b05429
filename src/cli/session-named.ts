// Which session a word means. The daemon resolves a name, an id, its prefix, and `-` for the
// last one, the same for every interface; a person may also abbreviate the names of their own.

import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
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
		const full = await completed(client, given, owner);
		if (full === undefined) throw error;
		return act(full);
	}
}

/** The name of a running session of the caller, for a call that would otherwise start one. */
export async function runningNamed(invocation: Invocation, client: Client, given: string): Promise<string> {
	const { facts } = await client.call("list", { status: "running" });
	const own = facts.sessions.filter((one) => one.owner === invocation.dependencies.owner);
	const found = own.find(({ name, session }) => name === given || session === given);
	const name = found?.name ?? (await completed(client, given, invocation.dependencies.owner));
	if (name !== undefined) return name;
	throw new Fault("session_not_found", { id: given, open: own.map((one) => one.name) });
}

/** The one session of this owner whose name begins like this: a running one, or else one that ended. */
async function completed(client: Client, beginning: string, owner: string): Promise<string | undefined> {
	const { facts } = await client.call("list", {});
	const named = facts.sessions.filter((one) => one.owner === owner && one.name.startsWith(beginning));
	const running = named.filter(({ exit, status }) => exit === null && status === "running");
	const names = [...new Set((running.length > 0 ? running : named).map(({ name }) => name))];
	if (names.length > 1) throw badInput(`"${beginning}" may be ${names.join(" or ")}`);
	return names[0];
}
