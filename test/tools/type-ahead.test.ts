// T4: what is typed while a program is busy is echoed by the terminal, and again by the line editor that reads it. Neither
// is what a caller waits for.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";

let dialtone: Dialtone;
let directory: string;
beforeAll(async () => {
	directory = mkdtempSync(join(tmpdir(), "dt-ahead-"));
	dialtone = await Dialtone.open({ owner: "model" });
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(directory, { recursive: true, force: true });
});

const patient = { timeoutMs: 60_000 };

/** A bash that is busy until its fifo is written to. */
async function busy(name: string) {
	const fifo = join(directory, name);
	execFileSync("mkfifo", [fifo]);
	const env = { PS1: "$ ", HOME: directory };
	const session = await dialtone.start({ command: "exec bash --norc --noprofile -i", env, name, ...patient });
	await session.send({ text: `cat ${fifo}`, submit: true, timeoutMs: 0 });
	await until("cat runs", async () => (await session.read({ view: "screen" })).activity === "working");
	const shows = async (text: string) => (await session.read({ view: "screen" })).text.includes(text);
	return { session, shows, release: () => writeFileSync(fifo, "released\n") };
}

test("T4: neither echo of what `send` types ahead ends its wait", async () => {
	const { session, shows, release } = await busy("send");
	const sent = session.send({ text: "echo DO''NE", submit: true, until: { text: "echo DO" }, ...patient });
	await until("the terminal has echoed it", () => shows("echo DO"));
	release();
	const facts = await sent;
	expect(facts).toMatchObject({ matched: false, returned: "waiting" });
	expect(facts.text).toContain("echo DO''NE\nDONE");
	await session.close({ force: true });
});

test("T4: neither echo of what was typed ahead ends a later wait, and what the program prints does", async () => {
	const { session, shows, release } = await busy("wait");
	await session.send({ text: "echo DO''NE", submit: true, timeoutMs: 0 });
	await until("the terminal has echoed it", () => shows("echo DO"));
	const waited = session.wait({ until: { text: "echo DO", pattern: "^DONE" }, ...patient });
	release();
	expect(await waited).toMatchObject({ matched: true, matchedBy: "pattern" });
	await session.close({ force: true });
});
