// One session of another machine, for who may look at it and knows of nothing else: a link that was shared. What its host
// refuses is told without what else there is.

import type { DriverView } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Client, ViewChunk } from "./client.ts";

/** What a stream or a page asks of one session. */
export type SessionClient = Pick<Client, "output" | "view" | "drawn" | "drivers" | "snapshot" | "act">;

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
	};
	return new Fault(fault.code, { ...facts, ...none } as never, { words: fault.words });
}
