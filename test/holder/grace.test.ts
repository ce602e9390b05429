// Between TERM and KILL a program has the whole grace, whatever else is hung up or dies.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { Client, cleanUp, launch, sessionDirectory } from "./raw-holder.ts";

afterEach(cleanUp);

/** Cleans up for 1.5 s of the 2 s of grace, and dies of a hang-up. */
const CLEANER = `
import os, signal, sys, time
def clean(*_):
    time.sleep(1.5)
    os.write(1, (sys.argv[1] + " is clean\\n").encode())
    os._exit(0)
signal.signal(signal.SIGTERM, clean)
os.write(1, (sys.argv[1] + " is up\\n").encode())
while True: signal.pause()
`;

function cleaner(): string {
	const path = join(sessionDirectory(), "cleaner.py");
	writeFileSync(path, CLEANER);
	return `python3 ${path}`;
}

async function ended(argv: string[], typed: string[], up: string[]) {
	const session = await launch({ argv });
	const client = await Client.open(session.socket);
	for (const line of typed) await client.type(`${line}\n`);
	for (const name of up) await client.until(() => client.text.includes(`${name} is up`));
	expect(await client.end(2000)).toEqual({ done: 0 });
	return { exit: await client.exited(), text: client.text };
}

describe("R4.4 H10 HUP does not shorten the grace", needing("python3"), () => {
	test("of the main program", async () => {
		const { exit, text } = await ended(["sh", "-c", `exec ${cleaner()} it`], [], ["it"]);
		expect(text).toContain("it is clean");
		expect(exit).toMatchObject({ code: 0, signal: null });
	});

	test("of an interactive shell's jobs, in the foreground and in the background", async () => {
		const program = cleaner();
		const typed = [`${program} back &`, `${program} front`];
		const { exit, text } = await ended(["bash", "--norc", "-i"], typed, ["back", "front"]);
		expect(text).toContain("front is clean");
		expect(text).toContain("back is clean");
		expect(exit).toMatchObject({ signal: 1 }); // and then the shell went, by HUP, before KILL
	});

	test("of what a script runs, and the script does not go on to its next command", async () => {
		const { exit, text } = await ended(["sh", "-c", `${cleaner()} it; echo next`], [], ["it"]);
		expect(text).toContain("it is clean");
		expect(text).not.toContain("next");
		expect(exit).toMatchObject({ signal: 15 });
	});

	test("of what shares the terminal with a program that goes at once", async () => {
		const { text } = await ended(["sh", "-c", `(${cleaner()} it &); exec sleep 300`], [], ["it"]);
		expect(text).toContain("it is clean");
	});
});

test("H9 the main program cannot leave its own session", async () => {
	const session = await launch({ argv: ["bash", "-c", "kill -50 $PPID; echo up; exec sleep 300"] });
	const client = await Client.open(session.socket);
	await client.until(() => client.text.includes("up"));
	expect(await client.end(2000)).toEqual({ done: 0 });
	expect(await client.exited()).toMatchObject({ signal: 15 });
});

test("a program that takes longer than the grace is killed when it is over, not before", async () => {
	const session = await launch({
		argv: ["bash", "-c", "trap 'echo asked' TERM; echo up; while :; do sleep 0.02; done"],
	});
	const client = await Client.open(session.socket);
	await client.until(() => client.text.includes("up"));
	const before = performance.now();
	expect(await client.end(700)).toEqual({ done: 0 });
	expect(performance.now() - before).toBeGreaterThanOrEqual(690);
	expect(client.text).toContain("asked");
	expect(await client.exited()).toMatchObject({ signal: 9 });
});
