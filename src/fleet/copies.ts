// How many copies the servers keep of a stream: three, where they are a cluster that can. They are asked for them, because
// nothing else says how many servers there are: a machine may have been given the address of one, or of a leaf node.

import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";

/** With so many, a cluster goes on without one of its servers. Two would be lost with either. */
const COPIES = 3;
/** What a server says that is none of a cluster, and a cluster that has fewer servers. */
const TOO_MANY: ReadonlySet<unknown> = new Set([10074, 10005]);

const isTooMany = (error: unknown): boolean => TOO_MANY.has((error as { readonly code?: unknown } | null)?.code);

/** Makes a stream with as many copies as there can be. */
export async function inCopies(make: (copies: number) => Promise<unknown>): Promise<void> {
	try {
		await make(COPIES);
	} catch (error) {
		if (!isTooMany(error)) throw error;
		await make(1);
	}
}

/** Has those of these that were made with fewer have as many. Admins may. */
export async function moreCopies(nats: NatsConnection, names: readonly string[]): Promise<void> {
	const { streams } = await jetstream(nats).jetstreamManager(false);
	for (const name of names) {
		const { config, cluster } = await streams.info(name);
		// One server by itself would take the number, and keep one copy.
		if (cluster === undefined || config.num_replicas >= COPIES) continue;
		try {
			await streams.update(name, { num_replicas: COPIES });
		} catch (error) {
			if (!isTooMany(error)) throw error;
		}
	}
}
