// A session as it happened: timestamped output, resizes and the end, in order. The
// exports and the player are built on it.

import { readLog, type Stretch } from "./segments.ts";
import { readTiming, type TimingEntry } from "./timing.ts";

export type Moment = { readonly atUs: number } & (
	| { readonly kind: "output"; readonly offset: number; readonly bytes: Uint8Array }
	| { readonly kind: "gap"; readonly from: number; readonly to: number }
	| { readonly kind: "resized"; readonly cols: number; readonly rows: number }
	| { readonly kind: "header"; readonly name: string; readonly value: string }
);

type GapMoment = Moment & { readonly kind: "gap" };

/** Everything on disk, oldest first. Bytes without a time come last, at the last time. A gap is told once, however often its output came. */
export async function* replay(directory: string): AsyncGenerator<Moment> {
	let gap: GapMoment | null = null;
	for await (const moment of moments(directory)) {
		if (moment.kind === "gap") {
			const first: GapMoment = gap ?? moment;
			gap = { ...first, to: moment.to };
			continue;
		}
		if (gap !== null) yield gap;
		gap = null;
		yield moment;
	}
	if (gap !== null) yield gap;
}

async function* moments(directory: string): AsyncGenerator<Moment> {
	const log = new LogCursor(directory);
	let atUs = 0;
	try {
		for await (const entry of readTiming(directory)) {
			atUs += entry.afterUs;
			if (entry.kind === "output") yield* timed(atUs, log.take(entry.bytes));
			else yield { ...withoutDelay(entry), atUs };
		}
		yield* timed(atUs, log.take(Number.POSITIVE_INFINITY));
	} finally {
		await log.close();
	}
}

async function* timed(atUs: number, stretches: AsyncIterable<Stretch>): AsyncGenerator<Moment> {
	for await (const { from, to, bytes } of stretches)
		yield bytes === null ? { atUs, kind: "gap", from, to } : { atUs, kind: "output", offset: from, bytes };
}

function withoutDelay({ afterUs: _, ...entry }: Exclude<TimingEntry, { kind: "output" }>) {
	return entry;
}

/** The log in consecutive portions. */
class LogCursor {
	readonly #stretches: AsyncGenerator<Stretch>;
	#rest: Stretch | null = null;

	constructor(directory: string) {
		this.#stretches = readLog(directory, 0);
	}

	async *take(count: number): AsyncGenerator<Stretch> {
		let left = count;
		while (left > 0) {
			this.#rest ??= (await this.#stretches.next()).value ?? null;
			if (this.#rest === null) return;
			const { from, to, bytes } = this.#rest;
			const cut = Math.min(to, from + left);
			left -= cut - from;
			this.#rest = cut < to ? { from: cut, to, bytes: bytes?.subarray(cut - from) ?? null } : null;
			yield { from, to: cut, bytes: bytes?.subarray(0, cut - from) ?? null };
		}
	}

	async close(): Promise<void> {
		await this.#stretches.return(undefined);
	}
}
