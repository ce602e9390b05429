// Events of a fleet as readers of a daemon's HTTP have them: over joins and leaves, and as far as a token reaches.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import type { EventsDropped, SessionEvent } from "../../src/protocol/events.ts";
import { until } from "../condition.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, TwoHosts } from "./two-hosts.ts";

type Told = SessionEvent | EventsDropped;
const patient = { timeoutMs: 60_000 };

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("issue 15: events of a fleet", () => {
	let hosts: TwoHosts;
	let here: SocketClient;
	let url: string;
	let over: AbortController;
	const reading: Promise<void>[] = [];
	beforeEach(async () => {
		hosts = await TwoHosts.start();
		here = await hosts.alpha.connect();
		url = await here.http({ port: 0, exact: false, keep: "pin" });
		over = new AbortController();
	}, 120_000);
	afterEach(async () => {
		over?.abort();
		await Promise.all(reading.splice(0));
		await here?.[Symbol.asyncDispose]();
		await hosts?.[Symbol.asyncDispose]();
	});

	const token = async (...limits: string[]): Promise<string> =>
		JSON.parse((await hosts.alpha.cli("token", "create", "reader", ...limits, "--json")).stdout).token;

	/** A reader of the stream, and what it was told. */
	async function read(bearer: string, after?: number): Promise<{ readonly told: readonly Told[]; isOpen: boolean }> {
		const headers = { authorization: `Bearer ${bearer}` };
		const query = after === undefined ? "" : `?after=${after}`;
		const { body } = await fetch(`${url}/v1/events${query}`, { headers, signal: over.signal });
		const told: Told[] = [];
		const reader = { told, isOpen: true };
		const frames = async () => {
			let text = "";
			for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
				const parts = `${text}${piece}`.split("\n\n");
				text = parts.pop()!;
				for (const part of parts) {
					const [, data] = /^data: (.*)$/m.exec(part) ?? [];
					if (data !== undefined) told.push(JSON.parse(data));
				}
			}
		};
		reading.push(
			frames()
				.catch(() => {}) // the test is over
				.finally(() => {
					reader.isOpen = false;
				}),
		);
		return reader;
	}
	const started = (told: readonly Told[]) =>
		told.flatMap((one) => (one.event === "started" ? [{ name: one.name, seq: one.seq }] : []));
	const hears = async ({ told }: { readonly told: readonly Told[] }, name: string) =>
		until(`${name} is heard`, () => started(told).find((one) => one.name === name));

	async function startThere(owner: string, name: string): Promise<string> {
		await using there = await hosts.beta.connect({ caller: { owner, cwd: "/", env: {} } });
		const { facts } = await called(there, "start", { name, argv: ["cat"], ...patient });
		return (facts as SessionFacts).session;
	}

	test("a reader of HTTP and one of the socket go on when the fleet is joined again and left, and can resume", async () => {
		const all = await token("--role", "view");
		const reader = await read(all);
		const heardBySocket: string[] = [];
		const bySocket = (async () => {
			for await (const event of here.events({ signal: over.signal }))
				if (event.event === "started") heardBySocket.push(event.name);
		})();
		reading.push(bySocket.catch(() => {}));
		await startThere("test", "before");
		const { seq } = await hears(reader, "beta/before");
		const credentials = hosts.brokers.credentials("admin");
		await here.fleet({ servers: [], credentials, host: "alpha", labels: { is: "another" } });
		await startThere("test", "again");
		await called(here, "start", { name: "own", argv: ["cat"], ...patient });
		const again = await hears(reader, "beta/again");
		await hears(reader, "own");
		expect(again.seq).toBeGreaterThan(seq);
		const resumed = await read(all, seq);
		await hears(resumed, "own");
		expect(started(resumed.told)).toEqual(started(reader.told).filter((one) => one.seq > seq));
		expect((await hosts.alpha.cli("fleet", "leave")).code).toBe(0);
		await called(here, "start", { name: "alone", argv: ["cat"], ...patient });
		const alone = await hears(reader, "alone");
		expect(alone.seq).toBeGreaterThan(again.seq);
		await hears(await read(all, seq), "alone");
		await until("the socket's reader hears it, too", () => heardBySocket.at(-1) === "alone");
		expect(heardBySocket).toEqual(started(reader.told).map(({ name }) => name));
		expect(reader.isOpen).toBe(true);
	});

	test("a token for one owner hears of that owner's sessions there, from their start until they are gone; others of none", async () => {
		const readers = {
			own: await read(await token("--owner", "bot")),
			pattern: await read(await token("--owner", "b*")),
			conversation: await read(await token("--parent", "talk")),
			all: await read(await token("--role", "view")),
		};
		const session = await startThere("bot", "ofbot");
		await startThere("else", "ofelse");
		await startThere("bot:observer", "alike");
		await called(here, "close", { session: `beta/${session}`, forget: true });
		await until("its end is heard of", () => readers.own.told.some(({ event }) => event === "closed"));
		await startThere("bot", "last");
		for (const reader of [readers.own, readers.all]) await hears(reader, "beta/last");
		expect(started(readers.all.told).map(({ name }) => name)).toEqual(
			expect.arrayContaining(["beta/ofbot", "beta/ofelse", "beta/alike", "beta/last"]),
		);
		const names = readers.own.told.map((one) => ("name" in one ? one.name : one.event));
		expect(new Set(names)).toEqual(new Set(["beta/ofbot", "beta/last"]));
		expect([readers.pattern.told, readers.conversation.told]).toEqual([[], []]);
	});

	test.each([
		["--owner", "*"],
		["--owner", "t*"],
		["--parent", "talk"],
	])("a token with %s %s is listed no session that it may not read", async (...limits) => {
		const bearer = await token("--role", "drive", ...limits);
		await startThere("test", "far");
		const list = async (by: string, path: string) => {
			const headers = { authorization: `Bearer ${by}`, "content-type": "application/json" };
			const method = path === "sessions" ? "GET" : "POST";
			const answer = await fetch(`${url}/v1/${path}`, { method, headers, ...(method === "POST" && { body: "{}" }) });
			return answer.text();
		};
		const all = await token("--role", "drive", "--owner", "test");
		for (const path of ["sessions", "tools/list", "tools/pty_list", "tools/list_pty_sessions"]) {
			await until(`${path} has it`, async () => (await list(all, path)).includes("beta/"));
			expect(await list(bearer, path), path).not.toContain("beta");
		}
	});

	test.each(["stop", "kill"] as const)(
		"what other hosts tell while this daemon is away (%s) is told by the next one, and what was told is not told again",
		async (how) => {
			const there = await hosts.beta.connect();
			const start = async (name: string) => {
				await called(there, "start", { name, argv: ["true"], ...patient });
			};
			await start("before");
			const bearer = await token();
			const { told } = await read(bearer);
			await start("last");
			const ends = (events: readonly Told[], name: string) =>
				events.filter((event) => event.event === "ended" && event.name === `beta/${name}`).length;
			await until("the last one is told", () => ends(told, "last") === 1);
			const kept = join(hosts.alpha.path, "fleet-events.json");
			if (how === "stop") await here.stop({ sessions: false });
			else {
				const before = existsSync(kept) ? readFileSync(kept, "utf8") : "";
				await start("kept");
				await until("how far was told is kept", () => existsSync(kept) && readFileSync(kept, "utf8") !== before);
				await until("all of it", () => ends(told, "kept") === 1);
				await setTimeout(500); // twice as long as it takes to be kept
				process.kill(here.daemonPid, "SIGKILL");
			}
			await here[Symbol.asyncDispose]();
			await start("meanwhile");
			here = await hosts.alpha.connect();
			const heard: Told[] = [];
			const stop = new AbortController();
			const listening = (async () => {
				for await (const event of here.events({ afterSeq: 0, signal: stop.signal })) heard.push(event);
			})();
			await until("what came meanwhile is told", () => ends(heard, "meanwhile") === 1);
			await start("after");
			await until("what comes now is told", () => ends(heard, "after") === 1);
			stop.abort();
			await listening;
			expect(["before", "last", "kept", "meanwhile", "after"].map((name) => ends(heard, name))).toEqual([
				0, 0, 0, 1, 1,
			]);
			await there[Symbol.asyncDispose]();
		},
	);
});
