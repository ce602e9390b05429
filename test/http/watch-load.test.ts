// What the live list costs the daemon while people watch it, in processor time.

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { Person } from "./person.ts";
import { RealServer } from "./real-server.ts";

const SESSIONS = 50;
const MEASURED_MS = 8000;
/** Of five, three wait, one prints each second, and one is at work without a word. */
const COMMANDS = ["cat", "cat", "cat", "while :; do date; sleep 1; done", "sleep 1000"];

test("R4.11: 50 live sessions that three people watch take at most a tenth of a core", async () => {
	await using server = await RealServer.start();
	const person = await Person.logIn(server);
	const start = (name: string, command: string) => person.call("start", { name, command, timeoutMs: 0 });
	for (let at = 0; at < SESSIONS; at++) await start(`s${at}`, COMMANDS[at % COMMANDS.length]!);
	const lists = [await person.watch(), await person.watch(), await person.watch()];
	for (const list of lists) await list.row("s0", ({ state }) => state === "waiting");
	for (const list of lists) await list.row("s4", ({ state }) => state === "working");
	const [ranBefore, begun] = [server.ranMs, performance.now()];
	await delay(MEASURED_MS); // the measured time, not a wait
	const share = (server.ranMs - ranBefore) / (performance.now() - begun);
	const told = lists.map(({ messages }) => messages.length);
	for (const list of lists) await list[Symbol.asyncDispose]();
	expect(Math.min(...told)).toBeGreaterThan(5);
	expect(share).toBeLessThan(0.1);
}, 120_000);
