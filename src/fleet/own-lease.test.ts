import type { KV, KvEntry } from "@nats-io/kv";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Listeners } from "../protocol/listeners.ts";
import type { Buckets } from "./buckets.ts";
import type { Connected } from "./connected.ts";
import { OwnLease } from "./own-lease.ts";

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

/** A bucket whose servers may elect a leader: what is asked of them meanwhile is dropped. */
class ElectingBucket {
	isElecting = false;
	readonly written: number[] = [];
	#value = "";

	#answer<T>(value: () => T): Promise<T> {
		return this.isElecting ? new Promise(() => {}) : Promise.resolve(value());
	}

	readonly get = () =>
		this.#answer(() => {
			const { length } = this.written;
			return length === 0 ? null : ({ operation: "PUT", revision: length, string: () => this.#value } as KvEntry);
		});

	readonly put = (_key: string, value: string) =>
		this.#answer(() => {
			this.#value = value;
			return this.written.push(Date.now());
		});
}

const own = {
	...{ host: "h", labels: {}, version: "1", bootId: "b", home: "h", daemonEpoch: 1, capacity: 1 },
	sessions: { runningCount: () => 0 },
};

test("a lease is written again as soon as its servers have elected a leader, and told as failed once", async () => {
	const bucket = new ElectingBucket();
	const changes = new Listeners<boolean>("test");
	const connected = { awaySince: null, onChange: (listener: () => void) => changes.add(listener) };
	const problems: string[] = [];
	using lease = new OwnLease({
		own,
		// Until there is a leader, nothing can be made either.
		buckets: { hosts: bucket as unknown as KV, ensure: () => new Promise<void>(() => {}) } as unknown as Buckets,
		connected: connected as unknown as Connected,
		...{ refreshMs: 3000, ttlMs: 10_000, onTried: () => {} },
		onProblem: (problem) => problems.push(String(problem)),
	});
	await vi.advanceTimersByTimeAsync(6100);
	expect(bucket.written).toHaveLength(3);
	bucket.isElecting = true;
	await vi.advanceTimersByTimeAsync(6000);
	expect(lease.isOurs).toBe(true);
	expect(lease.isHeld).toBe(false);
	bucket.isElecting = false;
	const leader = Date.now();
	await vi.advanceTimersByTimeAsync(3000);
	expect(bucket.written[3]! - leader).toBeLessThan(2600);
	expect(bucket.written[3]! - bucket.written[2]!).toBeLessThan(9000);
	expect(lease.isHeld).toBe(true);
	expect(problems).toHaveLength(1);
	await vi.advanceTimersByTimeAsync(9000);
	expect(bucket.written.length).toBeGreaterThanOrEqual(6);
});
