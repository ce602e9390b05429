// This host's Client as callers on other hosts have it: their sessions here are called `host/name`. Who they are, and what
// the programs get that they start, is settled before (daemon/fleet-callers.ts).

import type { CallOptions, Client } from "../tools/client.ts";

/** The client to serve links with. */
export function asHost(client: Client, host: string): Client {
	const call = ((tool: string, input: unknown, options: CallOptions = {}) => {
		const caller = options.caller ?? { owner: host, cwd: "/", env: {} };
		return client.call(tool as never, input, { ...options, caller: { ...caller, onHost: host } });
	}) as Client["call"];
	return {
		call,
		tools: (sets) => client.tools(sets),
		events: (options) => client.events(options),
		output: (session, options) => client.output(session, options),
		snapshot: (session, options) => client.snapshot(session, options),
		view: (session, options) => client.view(session, options),
		drawn: (session, options) => client.drawn(session, options),
		act: (session, act, options) => client.act(session, act, options),
		drivers: (session, options) => client.drivers(session, options),
		people: (options) => client.people(options),
		approvals: () => client.approvals(),
		decide: (id, decision) => client.decide(id, decision),
		status: () => client.status(),
		[Symbol.asyncDispose]: async () => {}, // whoever made the client disposes of it
	};
}
