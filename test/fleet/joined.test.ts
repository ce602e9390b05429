// The daemons of two machines that have joined a fleet, as a person and an agent use them: each in a home of its own,
// with the servers that `dialtone fleet init` configures.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { type Home, MAIN } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, type Brokers } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };

describe.each([1, 3] as const)("issue 15: two hosts and %i servers", (nodes) => {
	let hosts: TwoHosts;
	let brokers: Brokers;
	let alpha: Home;
	let beta: Home;
	let client: Client;
	beforeAll(async () => {
		if (missing(...BROKER_NEEDS).length > 0) return;
		hosts = await TwoHosts.start({ nodes });
		({ brokers, alpha, beta, client } = hosts);
	}, 120_000);
	afterAll(() => hosts?.[Symbol.asyncDispose]());

	test(
		"a session of the other one is started, used, listed and ended like one's own",
		needing(...BROKER_NEEDS),
		async () => {
			const started = await called(client, "start", { host: "beta", name: "cat", argv: ["cat"], ...patient });
			expect(started.facts).toMatchObject({ name: "beta/cat", activity: "waiting" });
			expect(started.text).toMatch(/^\[beta\/cat\] waiting/);
			const said = await called(client, "send", { session: "beta/cat", text: "hello", submit: true, ...patient });
			expect(said.text).toContain("hello");
			const ran = await called(client, "run", { host: "beta", command: "sh -c 'exit 3'", ...patient });
			expect(ran.facts).toMatchObject({ name: "beta/main", exitCode: 3 });
			const placed = await called(client, "start", {
				name: "placed",
				argv: ["cat"],
				placement: { labels: { is: "beta" } },
				...patient,
			});
			expect(placed.facts).toMatchObject({ name: "beta/placed" });
			await until("alpha lists them", async () => {
				const { stdout } = await alpha.cli("ls");
				return ["beta/cat", "beta/main", "beta/placed"].every((name) => stdout.includes(name));
			});
			expect((await beta.cli("ls")).stdout).not.toContain("beta/");
			expect((await called(client, "close", { session: "beta/placed" })).facts).toMatchObject({ status: "cancelled" });
			expect(await codeOf(called(client, "read", { session: "beta/none" }))).toBe("session_not_found");
			expect(await codeOf(called(client, "start", { host: "gamma", argv: ["cat"] }))).toBe("unknown_host");
		},
	);

	test(
		"a person attaches to one, watches it and follows its log, in their terminal",
		needing(...BROKER_NEEDS),
		async () => {
			await called(client, "start", { host: "beta", name: "desk", argv: ["cat"], ...patient });
			// Their terminal is one of ours, in this process.
			await using desk = await Dialtone.open();
			const env = { ...(alpha.env as Record<string, string>), PS1: "desk$ " };
			await desk.client.call("start", { name: "person", argv: ["bash", "--norc"], env, cols: 100, rows: 30 });
			const shows = async (input: object, text: string) => {
				const until = { text, only: true };
				const { facts } = await desk.client.call("send", { session: "person", ...input, until, ...patient });
				expect(facts.text, text).toContain(text);
			};
			// In two pieces: the typed line comes back on the screen.
			const line = (words: string, mark: string) => ({
				text: `${process.execPath} ${MAIN} ${words}; echo "${mark} ""left with $?"`,
				submit: true,
			});
			await shows(line("attach beta/desk", "first"), "attached to beta/desk");
			await shows({ text: "by hand", submit: true }, "by hand\nby hand");
			await shows({ keys: ["ctrl+\\", "ctrl+\\"] }, "first left with 0");
			await shows(line("attach --watch beta/desk", "second"), "watching beta/desk");
			// An agent is told that a person has typed before it may.
			await called(client, "read", { session: "beta/desk" });
			await called(client, "send", { session: "beta/desk", text: "from elsewhere", submit: true, ...patient });
			await desk.client.call("wait", { session: "person", until: { text: "from elsewhere", only: true }, ...patient });
			await shows({ keys: ["ctrl+\\", "ctrl+\\"] }, "second left with 0");
			await shows(line("logs -f beta/desk", "third"), "from elsewhere");
			await called(client, "send", { session: "beta/desk", text: "followed", submit: true, ...patient });
			await desk.client.call("wait", { session: "person", until: { text: "followed", only: true }, ...patient });
			// The end of the session ends what follows it.
			await called(client, "close", { session: "beta/desk" });
			const { facts } = await desk.client.call("wait", {
				session: "person",
				until: { text: "third left with 0", only: true },
				...patient,
			});
			expect(facts.text).toContain("third left with 0");
		},
	);

	test(
		"a host whose daemon was killed is told as unreachable, and is back with every session",
		needing(...BROKER_NEEDS),
		async () => {
			await called(client, "start", { host: "beta", name: "kept", argv: ["cat"], ...patient });
			await called(client, "send", { session: "beta/kept", text: "before", submit: true, ...patient });
			const found = await beta.find();
			const { pid } = await found!.status();
			await found![Symbol.asyncDispose]();
			process.kill(pid, "SIGKILL");
			await until(
				"it is told",
				async () => (await codeOf(called(client, "read", { session: "beta/kept" }))) === "host_unreachable",
			);
			// A call may be given up a moment before the lease ends.
			await until("it is listed so", async () =>
				/beta\/kept +unreachable for \d+s/.test((await alpha.cli("ls")).stdout),
			);
			const { text: listed } = await called(client, "list", {});
			expect(listed).toMatch(/\[beta\/kept\] unreachable for \d+ s, was/);
			await using _next = await beta.connect();
			await until(
				"it is back",
				async () => (await codeOf(called(client, "read", { session: "beta/kept", view: "screen" }))) === "done",
			);
			const after = await called(client, "send", { session: "beta/kept", text: "after", submit: true, ...patient });
			expect(after.facts).toMatchObject({ name: "beta/kept" });
			const { text } = (await called(client, "read", { session: "beta/kept", view: "screen" })).facts as {
				text: string;
			};
			expect(text.trim().split(/\s+/)).toEqual(["before", "before", "after", "after"]);
		},
	);

	test(
		"without its servers this host works as before, and the others are back with them",
		needing(...BROKER_NEEDS),
		async () => {
			await called(client, "start", { host: "beta", name: "far", argv: ["cat"], ...patient });
			for (const index of brokers.nodes.keys()) await brokers.kill(index);
			await until(
				"it is told",
				async () => (await codeOf(called(client, "read", { session: "beta/far" }))) === "fleet_unreachable",
			);
			const here = await called(client, "run", { command: "echo here", ...patient });
			expect(here.facts).toMatchObject({ text: "here\n", exitCode: 0 });
			await brokers.startAll();
			await until("it is back", async () => (await codeOf(called(client, "read", { session: "beta/far" }))) === "done");
			const said = await called(client, "send", { session: "beta/far", text: "again", submit: true, ...patient });
			expect(said.text).toContain("again");
		},
	);
});
