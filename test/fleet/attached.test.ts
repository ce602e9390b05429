// People who are attached to a session of another machine, or follow its log, while that machine or the servers are away:
// their terminal is one of ours, in this process.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test as vitestTest } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { Client } from "../../src/tools/client.ts";
import { gone } from "../alive.ts";
import { until } from "../condition.ts";
import { type Home, MAIN } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, type Brokers } from "./broker.ts";
import { called, TwoHosts } from "./two-hosts.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing(...BROKER_NEEDS), run);
const patient = { timeoutMs: 25_000 };
const patientPoll = { timeout: 25_000 };
/** Says each line that it reads, once. */
const ECHO = ["bash", "-c", 'stty -echo; n=0; while read -r line; do echo "got $((++n)) <$line>"; done'];

let hosts: TwoHosts;
let brokers: Brokers;
let alpha: Home;
let beta: Home;
let client: Client;
let desk: Dialtone;
let count = 0;
let name: string;

beforeAll(async () => {
	if (missing(...BROKER_NEEDS).length > 0) return;
	hosts = await TwoHosts.start();
	({ brokers, alpha, beta, client } = hosts);
	desk = await Dialtone.open();
}, 120_000);
afterAll(async () => {
	await desk?.[Symbol.asyncDispose]();
	await hosts?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
	if (missing(...BROKER_NEEDS).length > 0) return;
	name = `desk${++count}`;
	await until("beta answers", () =>
		called(client, "start", { host: "beta", name, argv: ECHO, ifExists: "use", ...patient }).then(
			() => true,
			() => false,
		),
	);
});

/** Somebody at a shell of their own on alpha. */
async function person() {
	const session = `person${++count}`;
	const env = { ...(alpha.env as Record<string, string>), PS1: "desk$ " };
	await desk.client.call("start", { name: session, argv: ["bash", "--norc"], env, cols: 120, rows: 30 });
	const call = async (tool: string, input: object) =>
		(await called(desk.client, tool, { session, ...patient, ...input })).facts as { text: string };
	const shows = async (tool: string, input: object, text: string) => {
		const facts = await call(tool, { ...input, until: { text, only: true } });
		expect(facts.text).toContain(text);
	};
	/** Everything that their terminal was sent. */
	const printed = async () => {
		const { base64 } = (await desk.client.call("read", { session, view: "raw", from: 0, maxTokens: 100_000 })).facts;
		return Buffer.from(base64!, "base64").toString();
	};
	return {
		/** In two pieces: the typed line comes back on the screen. */
		runs: (words: string, text: string) =>
			shows("send", { text: `${process.execPath} ${MAIN} ${words}; echo "left ""with $?"`, submit: true }, text),
		types: (line: string, text: string) => shows("send", { text: line, submit: true }, text),
		presses: (keys: string[], text: string) => shows("send", { keys }, text),
		/** Or has seen it: some of it is shown for a moment. */
		sees: (text: string) => expect.poll(printed, { ...patientPoll, message: `"${text}" is shown` }).toContain(text),
		/** Without waiting for anything. */
		hits: (line: string) => call("send", { text: line, submit: true, timeoutMs: 0 }),
		printed,
	};
}

/** All that the program has said, line by line, as its own machine has it. */
async function said(): Promise<string[]> {
	await using own = await beta.connect();
	const { base64 } = (await own.call("read", { session: name, view: "raw", from: 0 })).facts;
	return Buffer.from(base64!, "base64")
		.toString()
		.split("\r\n")
		.filter((line) => line !== "");
}

/** Somebody on its own machine takes it over. */
async function typedOnBeta(line: string): Promise<void> {
	await using own = await beta.connect();
	const { lease } = await own.act(name, { act: "take", who: "carol" });
	await own.act(name, { act: "keys", lease: lease!, base64: Buffer.from(`${line}\r`).toString("base64") });
	await until("it is read", async () => (await said()).some((one) => one.includes(`<${line}>`)));
	await own.act(name, { act: "hand-back", lease: lease! });
}

async function betasDaemonIsKilled(): Promise<void> {
	await using found = await beta.find();
	const { pid } = await found!.status();
	process.kill(pid, "SIGKILL");
	await gone(pid);
}

const starts = async () => void (await (await beta.connect())[Symbol.asyncDispose]());

const ABSENCES = [
	{ what: "the other machine's daemon is killed", who: 'host "beta"', goes: betasDaemonIsKilled, comes: starts },
	{
		what: "the other machine's daemon is stopped",
		who: 'host "beta"',
		goes: async () => void (await beta.cli("daemon", "stop")),
		comes: starts,
	},
	{
		what: "all servers are killed",
		who: "the fleet",
		goes: () => brokers.kill(0),
		comes: () => brokers.restart(0),
	},
] as const;

describe.each(ABSENCES)("issue 15: while $what", ({ who, goes, comes }) => {
	test("who is attached there stays, is told, types nothing meanwhile, and goes on with what they drive", async () => {
		const ada = await person();
		await ada.runs(`attach beta/${name}`, "attached to beta/");
		await ada.types("before", "got 1 <before>");
		await goes();
		await ada.sees(`Ctrl+\\ twice detaches · ${who} is not reached since`);
		await ada.hits("secret");
		await expect.poll(ada.printed, patientPoll).toMatch(/keys are not sent[\s\S]*\x07/);
		await comes();
		await ada.sees("is reached again");
		await ada.types("after", "got 2 <after>");
		expect(await said()).toEqual(["got 1 <before>", "got 2 <after>"]);
		await ada.presses(["ctrl+\\", "ctrl+\\"], "left with 0");
		expect(await ada.printed()).not.toContain("secret");
		expect((await ada.printed()).split("is not reached since")).toHaveLength(2);
	});

	test("what is typed before that is known is typed once, or is told not to be sure", async () => {
		const ada = await person();
		await ada.runs(`attach beta/${name}`, "attached to beta/");
		await goes();
		await ada.hits("early");
		await ada.sees("is not reached since");
		await comes();
		await expect.poll(ada.printed, patientPoll).toMatch(/is reached again|may not have arrived/);
		await ada.types("after", "<after>");
		// A bell: it was known by then.
		const isUnsure = /may not have arrived|keys are not sent[\s\S]*\x07/.test(await ada.printed());
		const lines = (await said()).map((line) => line.replace(/^got \d+ /, ""));
		expect(isUnsure ? lines.filter((line) => line !== "<early>") : lines).toEqual(
			isUnsure ? ["<after>"] : ["<early>", "<after>"],
		);
		expect(new Set(lines).size).toBe(lines.length);
		await ada.presses(["ctrl+\\", "ctrl+\\"], "left with 0");
	});

	test("who watches or follows misses nothing, and leaves when they want", async () => {
		const [ada, bob, eve] = [await person(), await person(), await person()];
		const log = join(alpha.path, name);
		await ada.runs(`attach --watch beta/${name}`, "watching beta/");
		await bob.runs(`attach beta/${name}`, "attached to beta/");
		await bob.types("one", "got 1 <one>");
		await ada.sees("got 1 <one>");
		writeFileSync(log, "");
		await eve.hits(`${process.execPath} ${MAIN} logs -f beta/${name} >${log}; echo "left ""with $?"`);
		await until("it is followed", () => readFileSync(log, "utf8") === "got 1 <one>\r\n");
		await goes();
		for (const each of [ada, bob, eve]) await each.sees(`${who} is not reached since`);
		const asked = performance.now();
		await bob.presses(["ctrl+\\", "ctrl+\\"], "left with 0");
		expect(performance.now() - asked).toBeLessThan(2000);
		await comes();
		await ada.sees("is reached again");
		await typedOnBeta("two");
		await ada.sees("got 2 <two>");
		await until("it is followed", () => readFileSync(log, "utf8") === "got 1 <one>\r\ngot 2 <two>\r\n");
		await called(client, "close", { session: `beta/${name}`, force: true });
		for (const each of [ada, eve]) await each.sees("left with");
	});
});
