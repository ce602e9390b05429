// Loaded into a daemon under test (`node --expose-gc --import probe.mjs?file=…`): on SIGUSR2 it collects
// garbage and writes what the process has in use. No part of the product.

import { renameSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get("file");
const { openSubscriptions } = await import(searchParams.get("listeners"));
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

process.on("SIGUSR2", () => {
	const longestStallMs = delay.max / 1e6;
	globalThis.gc();
	delay.reset();
	const { heapUsed, external, rss } = process.memoryUsage();
	const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
	const facts = { heap: heapUsed + external, rss, subscriptions: openSubscriptions(), timers, longestStallMs };
	writeFileSync(`${file}.tmp`, JSON.stringify(facts));
	renameSync(`${file}.tmp`, file);
});
