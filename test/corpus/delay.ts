// How long from the moment a program blocks to the moment its caller knows.
//
// The programs record that moment themselves, by the same monotonic clock: see fixtures/blocks.py.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Dialtone } from "../../src/index.ts";
import { percentile } from "./score.ts";

const fixture = (name: string) => join(import.meta.dirname, "fixtures", name);

/** What the kernel is certain of, and the one that needs quiet. */
export const ways = {
	prompt: ["python3", fixture("blocks.py"), "prompt"],
	later: ["python3", fixture("blocks.py"), "later"],
	silent: ["python3", fixture("blocks.py"), "silent"],
	slept: ["python3", fixture("blocks.py"), "slept"],
	key: ["python3", fixture("blocks.py"), "key"],
	poll: ["python3", fixture("blocks.py"), "poll"],
	"node readline": [process.execPath, fixture("blocks.mjs")],
} as const;

export type Way = keyof typeof ways;

export interface Delays {
	readonly way: Way;
	readonly p50: number;
	readonly p99: number;
	readonly worst: number;
	readonly early: number;
	readonly all: readonly number[];
}

export async function measure(dialtone: Dialtone, way: Way, times: number): Promise<Delays> {
	const directory = await mkdtemp(join(tmpdir(), "dialtone-delay-"));
	const file = join(directory, "blocked");
	const terminal = await dialtone.start({ argv: [...ways[way], file], timeoutMs: 20_000 });
	const told: bigint[] = [process.hrtime.bigint()];
	try {
		while (told.length < times) {
			const { returned, because } = await terminal.send({
				text: "x",
				submit: way !== "key" && way !== "poll",
				timeoutMs: 20_000,
			});
			told.push(process.hrtime.bigint());
			if (returned !== "waiting") throw new Error(`${way}: ${returned}, ${because}`);
		}
		const blocked = (await readFile(file, "utf8")).trim().split("\n").map(BigInt);
		// Told before it blocked, it would have noted fewer moments than we were told of.
		const early = told.filter((at, i) => blocked[i] === undefined || at < blocked[i]).length;
		const all = told.flatMap((at, i) => (blocked[i] === undefined ? [] : [Number(at - blocked[i]) / 1e6]));
		return { way, all, early, p50: percentile(all, 0.5), p99: percentile(all, 0.99), worst: Math.max(...all) };
	} finally {
		await terminal.close({ force: true });
		await rm(directory, { recursive: true, force: true });
	}
}

export function delayTable(rows: readonly Delays[]): string {
	const ms = (value: number) => value.toFixed(1).padStart(8);
	return [
		"",
		"blocked → told, ms      p50     p99   worst   n",
		...rows.map(
			(it) =>
				`${it.way.padEnd(16)}${ms(it.p50)}${ms(it.p99)}${ms(it.worst)}   ${it.all.length}${it.early > 0 ? `  ${it.early} too early` : ""}`,
		),
	].join("\n");
}
