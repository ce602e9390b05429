// This host's Client as callers on other hosts have it: their sessions here are called `host/name`, and what they
// start has the environment and directory of this machine, not of theirs.

import type { CallOptions, Client } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

/** What a program gets that is started from another host. */
export type Surroundings = Pick<Caller, "cwd" | "env"> &
	Partial<Pick<Caller, "umask" | "nice" | "rlimits" | "inheriting">>;

/** The client to serve links with. */
export function asHost(client: Client, host: string, here: Surroundings): Client {
	// A call without a caller is this host's own.
	const call = ((tool: string, input: unknown, options: CallOptions = {}) => {
		const { env: _, withheld: __, umask: ___, nice: ____, rlimits: _____, ...who } = options.caller ?? { owner: host };
		return client.call(tool as never, input, { ...options, caller: { ...who, ...here, onHost: host } });
	}) as Client["call"];
	return {
		call,
		tools: (sets) => client.tools(sets),
		events: (options) => client.events(options),
		output: (session, options) => client.output(session, options),
		snapshot: (session, options) => client.snapshot(session, options),
		view: (session, options) => client.view(session, options),
		act: (session, act) => client.act(session, act),
		drivers: (session, options) => client.drivers(session, options),
		approvals: () => client.approvals(),
		decide: (id, decision) => client.decide(id, decision),
		status: () => client.status(),
		[Symbol.asyncDispose]: async () => {}, // whoever made the client disposes of it
	};
}
