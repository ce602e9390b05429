// Two machines, or two users of one, that would have the same name in a fleet: real daemons with a real server.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { gone } from "../alive.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { called, codeOf } from "./two-hosts.ts";

const NAME = "alpha";

describe("issue 15: the name of a machine", () => {
	let brokers: Brokers;
	const homes = { first: new Home(), second: new Home(), other: new Home() };
	let other: SocketClient;
	const join = (home: Home, host: string) => home.cli("join", "--creds", brokers.credentials("admin"), "--as", host);
	const status = async (home: Home) => JSON.parse((await home.cli("fleet", "status", "--json")).stdout);
	/** The sessions that another machine finds under the name. */
	const seen = () => codeOf(called(other, "read", { session: `${NAME}/cat` }));
	const textOf = async (session: string) => {
		const { facts } = await called(other, "read", { session, view: "screen" });
		return String((facts as { text?: unknown }).text);
	};

	beforeAll(async () => {
		brokers = await Brokers.start();
		other = await homes.other.connect();
		await join(homes.first, NAME);
		await join(homes.other, "gamma");
		for (const [of, home] of Object.entries(homes)) {
			await using own = await home.connect();
			await own.call("start", { name: "cat", argv: ["sh", "-c", `echo of ${of}; exec cat`], timeoutMs: 60_000 });
		}
		await until("the first is reached", async () => (await seen()) === "done");
	}, 120_000);
	afterAll(async () => {
		await other?.[Symbol.asyncDispose]();
		for (const home of Object.values(homes)) await home[Symbol.asyncDispose]();
		await brokers?.[Symbol.asyncDispose]();
	}, 60_000);

	test("is refused to who joins while another has it, which is used as before", needing(...BROKER_NEEDS), async () => {
		const { stdout, code } = await homes.second.cli(
			"join",
			"--creds",
			brokers.credentials("admin"),
			"--as",
			NAME,
			"--json",
		);
		expect(code).not.toBe(0);
		expect(JSON.parse(stdout)).toMatchObject({ fault: "host_taken", next: expect.stringContaining("--as") });
		expect(await status(homes.second)).toBeNull();
		expect(await textOf(`${NAME}/cat`)).toContain("of first");
		expect((await status(homes.first)).problem).toBeNull();
	});

	test(
		"that another has taken while its daemon was away is told, and it is back when the other leaves",
		needing(...BROKER_NEEDS),
		async () => {
			const before = await homes.first.connect();
			const { daemonPid } = before;
			process.kill(daemonPid, "SIGKILL");
			await gone(daemonPid);
			await before[Symbol.asyncDispose]();
			await until("the second has joined in its place", async () => (await join(homes.second, NAME)).code === 0);
			await until("it is reached", async () => (await textOf(`${NAME}/cat`).catch(() => "")).includes("of second"));

			await using _again = await homes.first.connect();
			await until("the first says so", async () => /another machine or user/.test((await status(homes.first)).problem));
			const { stdout } = await homes.first.cli("fleet", "status");
			expect(stdout).toContain("--as NAME");
			// Neither ends the other's links, nor answers in its place.
			for (let i = 0; i < 10; i++) expect(await textOf(`${NAME}/cat`)).toContain("of second");

			expect((await homes.second.cli("fleet", "leave")).code).toBe(0);
			await until("the first is reached again", async () =>
				(await textOf(`${NAME}/cat`).catch(() => "")).includes("of first"),
			);
			await until("it says nothing any more", async () => (await status(homes.first)).problem === null);
			const listed = async () => JSON.stringify((await called(other, "list", {})).facts);
			await until("its sessions are listed", async () => (await listed()).includes(`"${NAME}/cat"`));
		},
	);
});
