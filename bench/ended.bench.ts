// What a start, a list and the opening of the daemon cost after 10 and after 10,000 ended
// sessions (S23): nothing should cost more because more has ended.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Dialtone } from "../src/index.ts";

const ID_LENGTH = 26;

/** A session as a daemon leaves it on disk. */
function makeEnded(home: string, number: number): void {
	const id = `${number}`.padStart(ID_LENGTH, "0");
	const directory = join(home, "sessions", id);
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const record = {
		id,
		name: `job-${number}`,
		command: "true",
		argv: ["true"],
		cwd: "/",
		state: "succeeded",
		exit: { code: 0, signal: null },
		createdAt: number,
		updatedAt: number,
		resolvedAt: number,
	};
	writeFileSync(join(directory, "meta.json"), JSON.stringify(record), { mode: 0o600 });
	writeFileSync(join(directory, "out.00000000000000000000"), "hello\r\n");
}

const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1] ?? 0;

async function timed(times: number, act: () => Promise<unknown>): Promise<number> {
	const taken: number[] = [];
	for (let i = 0; i < times; i++) {
		const startedAt = performance.now();
		await act();
		taken.push(performance.now() - startedAt);
	}
	return median(taken);
}

async function measure(ended: number): Promise<Record<string, string>> {
	const home = mkdtempSync(join(tmpdir(), "dt-ended-"));
	try {
		for (let number = 1; number <= ended; number++) makeEnded(home, number);
		const opening: number[] = [];
		for (let i = 0; i < 3; i++) {
			const startedAt = performance.now();
			const dialtone = await Dialtone.open({ home });
			opening.push(performance.now() - startedAt);
			await dialtone[Symbol.asyncDispose]();
		}
		await using dialtone = await Dialtone.open({ home });
		let number = 0;
		const start = await timed(30, () => dialtone.start({ name: `x${number++}`, argv: ["true"], timeoutMs: 10_000 }));
		const list = await timed(30, () => dialtone.list());
		const find = await timed(30, () => dialtone.client.call("read", { session: "job-1", view: "lines", lines: 1 }));
		const ms = (value: number) => `${value.toFixed(1)} ms`;
		return {
			"first open": ms(opening[0] ?? 0),
			"open again": ms(opening.at(-1) ?? 0),
			"start and its end": ms(start),
			list: ms(list),
			"read the oldest": ms(find),
		};
	} finally {
		rmSync(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const rows: Record<string, Record<string, string>> = {};
	for (const ended of [10, quick ? 1000 : 10_000]) rows[`${ended} ended`] = await measure(ended);
	console.table(rows);
}
