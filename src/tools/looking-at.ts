// Sessions of other machines for tokens that are limited: to one of them, by a link that was shared, whose holder knows of
// nothing else and is told of refusals without what else there is; or to an owner, by a daemon that asks as that owner.

import type { DriverView } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Client, SessionClient, ViewChunk } from "./client.ts";

/** `session`: by the id that it has here. */
export function lookingAt(client: SessionClient, session: string): SessionClient {
	const told = (error: unknown) => (error instanceof Fault ? withoutOthers(error) : error);
	async function* stream<T>(reference: string, open: () => AsyncIterable<T>): AsyncGenerator<T> {
		mustBe(session, reference);
		try {
			yield* open();
		} catch (error) {
			throw told(error);
		}
	}
	return {
		output: (reference, options) => stream<OutputChunk>(reference, () => client.output(session, options)),
		view: (reference, options) => stream<ViewChunk>(reference, () => client.view(session, options)),
		drawn: (reference, options) => stream<Uint8Array>(reference, () => client.drawn(session, options)),
		// With a lease it would be who drives.
		drivers: (reference, { signal }) => stream<DriverView>(reference, () => client.drivers(session, { signal })),
		snapshot: async (reference, options) => {
			mustBe(session, reference);
			return client.snapshot(session, options).catch((error: unknown) => {
				throw told(error);
			});
		},
		act: async () => {
			throw new Fault("not_allowed", { what: "Acting on a session of another machine with a token for that session" });
		},
	};
}

/** References have been looked at: what is on this machine is the id of one within the scope. */
export function asOwner(client: Client, owner: string): SessionClient {
	const of = (reference: string): SessionClient => {
		if (!reference.includes("/")) return client;
		const there = client.ofOwner?.(owner);
		if (there === undefined) throw new Fault("session_not_found", { id: reference, open: [], ids: [] });
		return there;
	};
	return {
		output: (reference, options) => of(reference).output(reference, options),
		view: (reference, options) => of(reference).view(reference, options),
		drawn: (reference, options) => of(reference).drawn(reference, options),
		drivers: (reference, options) => of(reference).drivers(reference, options),
		snapshot: async (reference, options) => of(reference).snapshot(reference, options),
		act: async (reference, act, options) => of(reference).act(reference, act, options),
	};
}

/** Throws where another one is named. */
export function mustBe(session: string, reference: string): string {
	if (reference === session) return session;
	throw new Fault("session_not_found", { id: reference, open: [], ids: [] });
}

/** Refusals may name what else there is. */
export function withoutOthers(fault: Fault): Fault {
	const { open, ids, others: _, hosts, ...facts } = fault.facts as Readonly<Record<string, unknown>>;
	const none = {
		...(open !== undefined && { open: [] }),
		...(ids !== undefined && { ids: [] }),
		...(hosts !== undefined && { hosts: [] }),
		// It may name servers.
		...(fault.code === "fleet_unreachable" && { problem: "its servers are not reached" }),
	};
	return new Fault(fault.code, { ...facts, ...none } as never, { words: fault.words });
}
