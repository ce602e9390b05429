// Follows a bucket: first all that is there, then each change.

import { BUCKET_PREFIX, type Buckets } from "./buckets.ts";
import type { Connected } from "./connected.ts";
import { StreamWatch, type StreamWatchParts } from "./stream-watch.ts";

export interface BucketWatchParts extends Pick<StreamWatchParts, "always" | "silentMs"> {
	readonly buckets: Pick<Buckets, "js" | "patient" | "ensure">;
	readonly bucket: string;
	/** Keys with wildcards. */
	readonly filter?: string;
	readonly connected: Connected;
	/** The value is null where the key was removed. */
	readonly onChange: (key: string, value: Uint8Array | null) => void;
	/** All is read: what is not among these keys is gone. Not called where it went on behind what it had. */
	readonly onComplete?: (keys: ReadonlySet<string>) => void;
}

const REMOVED = new Set(["DEL", "PURGE"]);

export function watchBucket(parts: BucketWatchParts): StreamWatch {
	const { buckets, bucket, filter = ">", onChange, onComplete, ...rest } = parts;
	const prefix = `$KV.${bucket}.`;
	const keyOf = (subject: string) => subject.slice(prefix.length);
	return new StreamWatch({
		...rest,
		...buckets,
		stream: `${BUCKET_PREFIX}${bucket}`,
		filter: `${prefix}${filter}`,
		onMessage: ({ subject, headers, data }) =>
			onChange(keyOf(subject), REMOVED.has(headers?.get("KV-Operation") ?? "") ? null : data),
		...(onComplete && { onComplete: (subjects) => onComplete(new Set([...subjects].map(keyOf))) }),
	});
}
