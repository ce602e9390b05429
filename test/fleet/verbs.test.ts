// Every verb of the command line that takes a session, run on alpha for one of beta, called `beta/x` and `x --host beta`,
// and for one of alpha itself with `--host alpha`. The other machine has a session of the same name, to which nothing
// happens.

import { afterAll, beforeAll, describe, expect, test as vitestTest } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { takesSession } from "../../src/cli/session-host.ts";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { Dialtone } from "../../src/index.ts";
import { type Home, MAIN } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing(...BROKER_NEEDS), run);
const patient = { timeoutMs: 60_000 };
const CAT = ["cat"];
const PRINTS = ["bash", "-c", "echo here; exec cat"];

interface Ran {
	readonly code: number;
	readonly out: string;
	/** The session's name, and as alpha calls it. */
	readonly name: string;
	readonly named: string;
	readonly id: string;
	/** Of its machine. */
	readonly own: SocketClient;
}

interface Row {
	/** What runs in the session; null: a shell. */
	readonly argv: readonly string[] | null;
	readonly flags?: readonly string[];
	/** Behind the session. */
	readonly words?: readonly string[];
	readonly run?: (args: readonly string[]) => Promise<Pick<Ran, "code" | "out">>;
	readonly did: (ran: Ran) => Promise<void> | void;
}

const ended =
	(how: object) =>
	async ({ own, name }: Ran): Promise<void> => {
		const { facts } = await called(own, "wait", { session: name, until: { only: true }, ...patient });
		expect(facts).toMatchObject(how);
	};
const bySignal = (signal: string) => ended({ exit: { code: null, signal } });

/** What its machine tells people that it needs. */
async function needsOf({ own, id }: Ran): Promise<unknown> {
	const { signal } = new AbortController();
	for await (const { sessions } of own.people({ signal })) return sessions.find(({ session }) => session === id)?.needs;
	return undefined;
}

let hosts: TwoHosts;
let alpha: Home;
let desk: Dialtone;
const clients: Record<string, SocketClient> = {};

/** In a terminal of this process: types a line, and detaches. */
async function inTerminal(args: readonly string[]): Promise<Pick<Ran, "code" | "out">> {
	const argv = [process.execPath, MAIN, ...args];
	const env = alpha.env as Record<string, string>;
	const attached = { text: "attached to", only: true };
	const { session } = (await desk.client.call("start", { argv, env, until: attached, ...patient })).facts;
	const typed = { text: "by hand", submit: true, until: { pattern: "by hand\\s+by hand", only: true } };
	const { text } = (await desk.client.call("send", { session, ...typed, ...patient })).facts;
	const leaves = { keys: ["ctrl+\\", "ctrl+\\"], until: { only: true } };
	const { exit } = (await desk.client.call("send", { session, ...leaves, ...patient })).facts;
	return { code: exit?.code ?? -1, out: text };
}

const ROWS: Readonly<Record<string, readonly Row[]>> = {
	send: [
		{
			argv: CAT,
			words: ["hello"],
			did: async ({ out, own, name, named }) => {
				expect(out).toMatch(`[${named}] waiting`);
				const { facts } = await called(own, "read", { session: name, view: "screen" });
				expect(facts).toMatchObject({ text: "hello\nhello" });
			},
		},
	],
	read: [{ argv: PRINTS, flags: ["-v", "lines"], did: ({ out, named }) => expect(out).toMatch(`[${named}]`) }],
	screen: [{ argv: PRINTS, did: ({ out }) => expect(out).toBe("here\n") }],
	wait: [
		{
			argv: PRINTS,
			flags: ["--from", "0", "--until", "here", "--json"],
			did: ({ out, named }) => expect(JSON.parse(out)).toMatchObject({ name: named, matched: true }),
		},
	],
	exec: [
		{
			argv: null,
			flags: ["-t", "60s"],
			words: ["cd / && echo in $PWD"],
			did: async ({ out, own, name }) => {
				expect(out).toBe("in /\n");
				const there = await called(own, "run", { shell: name, command: "pwd", ...patient });
				expect(there.facts).toMatchObject({ text: "/\n" });
			},
		},
	],
	stop: [{ argv: CAT, did: ended({ status: "cancelled" }) }],
	kill: [
		{ argv: CAT, did: ended({ status: "cancelled" }) },
		{ argv: CAT, flags: ["-s", "HUP"], did: bySignal("SIGHUP") },
	],
	signal: [{ argv: CAT, words: ["QUIT"], did: bySignal("SIGQUIT") }],
	resize: [
		{
			argv: CAT,
			words: ["101x31"],
			did: async ({ own, name }) => expect(await own.snapshot(name)).toMatchObject({ cols: 101, rows: 31 }),
		},
	],
	"ask-human": [
		{
			argv: CAT,
			words: ["what", "now"],
			did: async (ran) => {
				expect(ran.out).toContain(`dialtone attach ${ran.named.replace(ran.name, ran.id)}`);
				expect(await needsOf(ran)).toMatchObject({ kind: "question", question: "what now" });
			},
		},
	],
	attach: [{ argv: CAT, run: inTerminal, did: ({ out }) => expect(out).toContain("by hand\nby hand") }],
	logs: [{ argv: PRINTS, did: ({ out }) => expect(out).toBe("here\r\n") }],
	rm: [
		{
			argv: ["true"],
			did: async ({ out, own, id, named }) => {
				expect(out).toBe(`Removed ${named}.\n`);
				expect(await codeOf(called(own, "read", { session: id }))).toBe("session_not_found");
			},
		},
	],
	export: [{ argv: PRINTS, flags: ["-f", "text"], did: ({ out }) => expect(out.trim()).toBe("here") }],
	replay: [{ argv: PRINTS, did: ({ out }) => expect(out).toBe("here\r\n") }],
	share: [
		{
			argv: PRINTS,
			flags: ["--json"],
			did: async ({ out, id, name, named }) => {
				const { session, link } = JSON.parse(out) as { session: string; link: string };
				expect(session).toBe(named.replace(name, id));
				expect((await fetch(link)).status).toBe(200);
			},
		},
	],
};

beforeAll(async () => {
	if (missing(...BROKER_NEEDS).length > 0) return;
	hosts = await TwoHosts.start({ env: { DIALTONE_PORT: "0" } });
	({ alpha } = hosts);
	// As the command line calls them.
	const caller = (home: Home) => ({
		caller: { owner: "cli", cwd: home.path, env: home.env as Record<string, string> },
	});
	for (const host of ["alpha", "beta"] as const) clients[host] = await hosts[host].connect(caller(hosts[host]));
	desk = await Dialtone.open();
}, 120_000);
afterAll(async () => {
	for (const client of Object.values(clients)) await client[Symbol.asyncDispose]();
	await desk?.[Symbol.asyncDispose]();
	await hosts?.[Symbol.asyncDispose]();
});

test("no verb that takes a session is missing here", async () => {
	expect(Object.keys(ROWS).sort()).toEqual(
		COMMANDS.filter(takesSession)
			.map(({ name }) => name)
			.sort(),
	);
});

const WAYS = [
	{ way: "beta/x", host: "beta", other: "alpha", given: (name: string) => [`beta/${name}`] },
	{ way: "--host beta x", host: "beta", other: "alpha", given: (name: string) => ["--host", "beta", name] },
	{ way: "--host alpha x", host: "alpha", other: "beta", given: (name: string) => ["--host", "alpha", name] },
] as const;

describe.each(WAYS)("issue 15: with $way", ({ host, other, given }) => {
	const rows = Object.entries(ROWS).flatMap(([verb, all]) =>
		all.map((row) => ({ verb, row, line: [verb, ...(row.flags ?? []), "x", ...(row.words ?? [])].join(" ") })),
	);
	for (const { verb, row, line } of rows)
		test(`\`dialtone ${line}\` is for the session of ${host}`, async () => {
			const name = `x-${verb}`;
			const { argv, flags = [], words = [], run = (args) => runOnAlpha(args), did } = row;
			const own = clients[host]!;
			const start = { name, ifExists: "replace", ...(argv !== null && { argv }), ...patient };
			const { session: id } = (await called(own, "start", start)).facts as { session: string };
			// A program that would show what is typed into it.
			await called(clients[other]!, "start", { name, argv: CAT, cols: 80, rows: 24, ifExists: "replace", ...patient });
			const { code, out } = await run([verb, ...flags, ...given(name), ...words]);
			expect({ code, out }).toEqual({ code: 0, out });
			await did({ code, out, name, named: host === "alpha" ? name : `${host}/${name}`, id, own });
			await untouched(clients[other]!, name);
		});
});

const runOnAlpha = async (args: readonly string[]) => {
	const { code, stdout } = await alpha.cli(...args);
	return { code, out: stdout };
};

async function untouched(client: SocketClient, name: string): Promise<void> {
	const { facts } = await called(client, "read", { session: name, view: "screen" });
	expect(facts).toMatchObject({ status: "running", driver: "agent", text: "" });
	expect(await client.snapshot(name)).toMatchObject({ cols: 80, rows: 24 });
	await called(client, "close", { session: name });
}

test("`attach --host beta` is for the session that was used last there", async () => {
	await called(clients.alpha!, "start", { name: "used-here", argv: CAT, ...patient });
	await called(clients.beta!, "start", { name: "used-there", argv: CAT, ...patient });
	expect(await inTerminal(["attach", "--host", "beta"])).toMatchObject({ code: 0 });
	const { facts } = await called(clients.beta!, "read", { session: "used-there", view: "screen" });
	expect(facts).toMatchObject({ text: "by hand\nby hand" });
});

test("the beginning of a name is enough, on the other machine and on this one", async () => {
	for (const host of ["alpha", "beta"]) {
		await called(clients[host]!, "start", { name: `long-name-${host}`, argv: PRINTS, ...patient });
		expect(await runOnAlpha(["screen", "--host", host, "long-n"])).toEqual({ code: 0, out: "here\n" });
		expect(await runOnAlpha(["logs", `${host}/long-n`])).toEqual({ code: 0, out: "here\r\n" });
	}
});

test("`exec` opens no shell where there is none, and names no host twice", async () => {
	await called(clients.alpha!, "start", { name: "only-here", ...patient });
	const refused = async (...args: string[]) => {
		const { code, out } = await runOnAlpha(["exec", "--json", ...args, "pwd"]);
		return [code, JSON.parse(out).fault];
	};
	expect(await refused("--host", "beta", "only-here")).toEqual([125, "session_not_found"]);
	expect(await refused("--host", "gamma", "only-here")).toEqual([125, "unknown_host"]);
	expect(await refused("--host", "beta", "alpha/only-here")).toEqual([2, "bad_input"]);
	expect(await codeOf(called(clients.beta!, "read", { session: "only-here" }))).toBe("session_not_found");
});
