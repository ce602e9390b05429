// What the fleet keeps at the broker: a lease for each host, a small record for each session, and where a start was
// placed. Who writes what is in publisher.ts and pins.ts, who reads it in view.ts.

import { type JetStreamClient, jetstream } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import { z } from "zod";
import { ACTIVITIES, SANDBOX_FACTS, STATUSES, WAITING_FOR } from "../protocol/answer.ts";
import { lineValues } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { within } from "../pty/wait.ts";
import { inCopies } from "./copies.ts";

/** How often a lease is written, and how long it lasts: three are missed before a host counts as unreachable. */
export const LEASE = { refreshMs: 3000, ttlMs: 10_000 } as const;
const DAY_MS = 86_400_000;
/**
 * Records last longer than any weekend. They are rewritten before (publisher.ts): so those of a host that is gone for
 * good, and the marks of removals, leave the broker by themselves, and no host needs the right to purge.
 */
export const RECORD = { rewriteMs: 3 * DAY_MS, ttlMs: 7 * DAY_MS } as const;
/** A retry comes within this. */
const PIN_TTL_MS = DAY_MS;
/** Of a value at the broker. A lease has at most a path and labels of 4 and 8 KiB, a record an owner of 6 and two lines of 1. */
export const MOST_VALUE_BYTES = 16 << 10;
/**
 * What a tenant's users may have the servers keep: these reserve it, so none of them fills the disk of the other tenants. A
 * million records take 410 MB.
 */
const MIB = 1 << 20;
const ROOM = {
	hosts: { max_bytes: 32 * MIB, maxValueSize: MOST_VALUE_BYTES },
	sessions: { max_bytes: 512 * MIB, maxValueSize: MOST_VALUE_BYTES },
	pins: { max_bytes: 64 * MIB, maxValueSize: 1024 },
} as const;

/** Of a text in a value. */
const MOST_TEXT_CHARS = 4096;
/** Of a time: later ones are none. */
const time = z.number().min(0).max(8.64e15);

const lease = z.object({
	host: z.string(),
	bootId: z.string(),
	/** Where on that machine: of two users of one there is a daemon each. */
	home: z.string().default(""),
	daemonEpoch: z.number(),
	version: z.string(),
	labels: z.record(z.string(), z.string()),
	capacity: z.object({ sessions: z.number() }),
	running: z.number(),
	/** Of the last minute, by processor: 1 is busy. */
	load: z.number(),
	/** When the daemon joined, ms since 1970. */
	since: time,
	/** What its clock said when it was written. An older version does not tell. */
	now: time.optional(),
});
export type Lease = z.infer<typeof lease>;

/** A session as other hosts list it. */
const sessionEntry = z.object({
	name: z.string(),
	command: z.string(),
	status: z.enum(STATUSES),
	activity: z.enum(ACTIVITIES).nullable(),
	waitingFor: z.enum(WAITING_FOR).nullable(),
	owner: z.string().nullable(),
	createdAt: time,
	/** When one of the others changed. */
	updatedAt: time,
	exit: z.object({ code: z.number().nullable(), signal: z.string().nullable() }).nullable(),
	sandbox: z.enum(SANDBOX_FACTS).nullable(),
	/** The boot of its host in which it ran: of one that is said to run, nothing is known after the next boot until its host has looked. */
	boot: z.string(),
});
export type SessionEntry = z.infer<typeof sessionEntry>;

/**
 * What another host has written; null where it is none, of another version or too large. Its texts may be shown, but for those
 * that are only compared.
 */
export const leaseIn = (text: string): Lease | null => valueIn(lease, text);
export const entryIn = (text: string): SessionEntry | null => valueIn(sessionEntry, text);

const COMPARED = ["owner", "home"];

function valueIn<T>(schema: z.ZodType<T>, text: string): T | null {
	if (text.length > MOST_VALUE_BYTES) return null;
	try {
		const { data } = schema.safeParse(JSON.parse(text));
		return data === undefined ? null : (lineValues(data, MOST_TEXT_CHARS, COMPARED) as T);
	} catch {
		return null; // not JSON: written by something else
	}
}

/** Enough of a boot id to tell two boots of a host apart. */
export const bootOf = (bootId: string): string => bootId.slice(0, 8);

export const WATCH_START_MS = 120_000;

export const BUCKETS = { hosts: "dt_hosts", sessions: "dt_sessions", pins: "dt_pins" } as const;

/** Of the stream behind a bucket. */
export const BUCKET_PREFIX = "KV_";

export interface Buckets {
	readonly js: JetStreamClient;
	/** To begin a watch: of a million keys the broker looks for the last of each before it answers. */
	readonly patient: JetStreamClient;
	readonly hosts: KV;
	readonly sessions: KV;
	readonly pins: KV;
	/** Makes those that are missing, or that the broker has lost; where this user may not, it leaves that to those who may. */
	ensure(): Promise<void>;
}

export interface BucketOptions {
	readonly leaseTtlMs?: number;
	/** Whether this user may make them. */
	readonly makes?: boolean;
}

/** Opens the buckets, and makes those that are missing where this user may. Who may not does not even ask what there is. */
export async function openBuckets(
	nats: NatsConnection,
	{ leaseTtlMs = LEASE.ttlMs, makes = true }: BucketOptions = {},
): Promise<Buckets> {
	const js = jetstream(nats);
	const patient = jetstream(nats, { timeout: WATCH_START_MS });
	const kvm = new Kvm(js);
	const open = (bucket: string) => kvm.open(bucket, { allow_direct: true });
	const [hosts, sessions, pins] = await Promise.all([open(BUCKETS.hosts), open(BUCKETS.sessions), open(BUCKETS.pins)]);
	const make = (bucket: keyof typeof BUCKETS, ttl: number) =>
		inCopies((replicas) => kvm.create(BUCKETS[bucket], { history: 1, ttl, replicas, ...ROOM[bucket] }));
	const ensure = async () => {
		if (!makes) return;
		await Promise.all([make("hosts", leaseTtlMs), make("sessions", RECORD.ttlMs), make("pins", PIN_TTL_MS)]);
	};
	await ensure();
	return { js, patient, hosts, sessions, pins, ensure };
}

const REQUEST_MS = 5000;

/** What a caller asks of the store: where it does not answer, the caller is told so. Conflicts are the caller's own. */
export async function stored<T>(what: string, work: Promise<T>): Promise<T> {
	try {
		return await within(REQUEST_MS, what, work);
	} catch (error) {
		if (isConflict(error)) throw error;
		const problem = error instanceof Error ? error.message : String(error);
		throw new Fault("fleet_unreachable", { problem: `${what}: ${problem}` }, { cause: error });
	}
}

/** What the server says where a write names a revision that is not the last one. */
const WRONG_LAST_SEQUENCE = 10071;

export const isConflict = (error: unknown): boolean =>
	(error as { readonly code?: unknown } | null)?.code === WRONG_LAST_SEQUENCE;
