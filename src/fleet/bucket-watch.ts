// Follows a bucket: first all that is there, then each change. Or reads only what is there.

import type { JsMsg } from "@nats-io/jetstream";
import { within } from "../pty/wait.ts";
import { BUCKET_PREFIX, type Buckets, MOST_VALUE_BYTES } from "./buckets.ts";
import type { Connected } from "./connected.ts";
import { StreamWatch, type StreamWatchParts } from "./stream-watch.ts";

interface Change {
	/** Removed with all that was there of it. */
	readonly isForGood: boolean;
	/** The broker's time of it, in ns. */
	readonly written: bigint;
}

export interface BucketWatchParts extends Pick<StreamWatchParts, "always" | "silentMs" | "mostAnswerMs"> {
	readonly buckets: Pick<Buckets, "js" | "patient" | "ensure">;
	readonly bucket: string;
	/** Keys with wildcards. */
	readonly filter?: string;
	readonly connected: Connected;
	/** The value is null where the key was removed. */
	readonly onChange: (key: string, value: Uint8Array | null, how: Change) => void;
	/** All is read: what is not among these keys is gone. Not called where it went on behind what it had. */
	readonly onComplete?: (keys: ReadonlySet<string>) => void;
}

const operationOf = ({ headers }: JsMsg): string => headers?.get("KV-Operation") ?? "";
const isPurge = (message: JsMsg): boolean => operationOf(message) === "PURGE";
const isRemoval = (message: JsMsg): boolean => isPurge(message) || operationOf(message) === "DEL";
const prefixOf = (bucket: string) => `$KV.${bucket}.`;

export function watchBucket(parts: BucketWatchParts): StreamWatch {
	const { buckets, bucket, filter = ">", onChange, onComplete, ...rest } = parts;
	const prefix = prefixOf(bucket);
	const keyOf = (subject: string) => subject.slice(prefix.length);
	return new StreamWatch({
		...rest,
		...buckets,
		stream: `${BUCKET_PREFIX}${bucket}`,
		filter: `${prefix}${filter}`,
		onMessage: (message) =>
			onChange(keyOf(message.subject), isRemoval(message) ? null : message.data, {
				isForGood: isPurge(message),
				written: message.timestampNanos,
			}),
		...(onComplete && { onComplete: (subjects) => onComplete(new Set([...subjects].map(keyOf))) }),
	});
}

export interface BucketReadParts extends Pick<BucketWatchParts, "buckets" | "bucket" | "connected"> {
	/** Keys with wildcards. */
	readonly filter: string;
	readonly withinMs: number;
}

/** A value as it was written last. */
export interface Written {
	readonly revision: number;
	/** Of the broker, ms since 1970. */
	readonly at: number;
	/** Null: it is larger than any that is ours. */
	readonly text: string | null;
}

/**
 * What a bucket has now, by key; rejects where that is not known in time. The `history` of the library ends only with the
 * next heartbeat, half a minute later, when a key is written while it reads.
 */
export async function readBucket(parts: BucketReadParts): Promise<ReadonlyMap<string, Written>> {
	const { buckets, bucket, connected, filter, withinMs } = parts;
	const prefix = prefixOf(bucket);
	const found = new Map<string, Written>();
	const watch = new StreamWatch({
		...buckets,
		connected,
		stream: `${BUCKET_PREFIX}${bucket}`,
		filter: `${prefix}${filter}`,
		onMessage: (message) => {
			const key = message.subject.slice(prefix.length);
			const { seq: revision, time, data } = message;
			const text = data.length > MOST_VALUE_BYTES ? null : message.string();
			if (isRemoval(message)) found.delete(key);
			else found.set(key, { revision, at: time.getTime(), text });
		},
	});
	try {
		await within(withinMs, `reading ${bucket}`, watch.ready());
		return found;
	} finally {
		void watch[Symbol.asyncDispose](); // what it has asked the broker for may be answered much later
	}
}
