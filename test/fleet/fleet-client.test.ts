import { describe, expect, test as vitestTest } from "vitest";
import { type Fault, isFault } from "../../src/protocol/fault.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { callOn, Member } from "./member.ts";
import { OneServer } from "./one-server.ts";

let server: OneServer;
let fleet: Map<string, Member>;
let a: Member;
let b: Member;

/** A test with a fleet of its own: what a member waits for lasts as long as it does. */
const test = (name: string, run: () => Promise<void>) =>
	vitestTest(name, needing("nats-server"), async () => {
		server = await OneServer.start();
		fleet = new Map();
		try {
			a = await Member.join(server, fleet, "alpha");
			b = await Member.join(server, fleet, "beta", { labels: { gpu: "a100" } });
			const knows = (one: Member, other: string) => one.registry.host(other)?.reachable === true;
			await until("they know each other", () => knows(a, "beta") && knows(b, "alpha"));
			await run();
		} finally {
			for (const member of fleet.values()) await member[Symbol.asyncDispose]();
			await server[Symbol.asyncDispose]();
		}
	});

const refusalOf = (call: Promise<unknown>): Promise<Fault> =>
	call.then(
		(answer) => Promise.reject(new Error(`it was answered: ${JSON.stringify(answer)}`)),
		(error: Fault) => error,
	);

describe("a session of another host", () => {
	test("is started, typed into and read by its name there", async () => {
		const started = await callOn(a, "start", { command: "cat", name: "c1", host: "beta" });
		expect(started.facts.name).toBe("beta/c1");
		expect(started.facts.session).toMatch(/^beta\/[0-9a-z]{26}$/);
		expect(started.text).toMatch(/^\[beta\/c1\] /);
		const sent = await callOn(a, "send", { session: "beta/c1", text: "hello there", submit: true });
		expect(sent.text).toContain("hello there");
		expect(sent.text).toMatch(/^\[beta\/c1\] /);
		const byId = await callOn(a, "read", { session: started.facts.session, view: "lines" });
		expect(byId.facts.name).toBe("beta/c1");
		// As a header writes it, and with the host in a field of its own.
		expect((await callOn(a, "read", { session: "[beta/c1]", view: "screen" })).facts.name).toBe("beta/c1");
		expect((await callOn(a, "read", { session: "c1", host: "beta", view: "screen" })).facts.name).toBe("beta/c1");
		await callOn(a, "close", { session: "beta/c1" });
	});

	test("has the environment and directory of its own machine", async () => {
		const caller = { owner: "test", cwd: "/", env: { FROM_HERE: "1", PATH: process.env.PATH ?? "" } };
		const ran = await callOn(a, "run", { command: "echo [$FROM_HERE] $HOME; pwd", host: "beta" }, { caller });
		expect(ran.facts.text).toContain(`[] ${b.home}\n${b.home}`);
		expect(ran.facts.shell).toBe("beta/main");
		const again = await callOn(a, "run", { command: "echo again", shell: ran.facts.shell }, { caller });
		expect(again.text).toMatch(/^\[beta\/main\] exit code 0/);
	});

	test("spells the call for what was cut so that it can be made", async () => {
		const ran = await callOn(a, "run", { command: "seq 1 5000", host: "beta", maxTokens: 200 });
		const [, call = ""] = /left out: read (\{.*?\}) …\]/.exec(ran.text) ?? [];
		const input = JSON.parse(call) as { session: string };
		expect(input.session).toBe("beta/main");
		expect((await callOn(a, "read", input)).facts.text).toContain("\n");
	});

	test("is named in refusals", async () => {
		await callOn(a, "run", { command: "true", host: "beta" });
		const fault = await refusalOf(callOn(a, "read", { session: "beta/nope" }));
		expect(fault.code).toBe("session_not_found");
		expect(fault.message).toContain('"beta/nope"');
		expect(fault.next).toContain("beta/main");
		const taken = await callOn(a, "start", { command: "cat", name: "twice", host: "beta" });
		expect(taken.facts.name).toBe("beta/twice");
		const refused = await refusalOf(callOn(a, "start", { command: "cat", name: "beta/twice" }));
		expect(refused.message).toContain('"beta/twice"');
		await callOn(a, "close", { session: "beta/twice" });
	});

	test("is known by its own id in every dialect", async () => {
		const exec = await callOn(a, "unified_exec", { cmd: "cat", host: "beta", yield_time_ms: 500 });
		const { session_id } = exec.facts as { session_id: string };
		expect(session_id).toMatch(/^beta\//);
		const written = await callOn(
			a,
			"write_stdin",
			{ session_id, chars: "abc\n", yield_time_ms: 500 },
			{ sets: ["exec"] },
		);
		expect(written.text).toContain("abc");
		expect(JSON.parse(written.text).session_id).toBe(session_id);
		await callOn(a, "close_pty_session", { session_id });

		const created = await callOn(a, "pty_create", { cmd: "cat", host: "beta" });
		const { terminal_id } = created.facts as { terminal_id: string };
		expect(terminal_id).toMatch(/^beta\//);
		await callOn(a, "pty_send_keys", { terminal_id, keys: "xyz" });
		await until("it is shown", async () => (await callOn(a, "pty_capture", { terminal_id })).text.includes("xyz"));
		await callOn(a, "pty_kill", { terminal_id });
		const missing = await callOn(a, "pty_capture", { terminal_id: "beta/none" });
		expect(missing.text).toContain("beta/none");

		// A number has no room for a name: the host is in its upper digits.
		const local = await callOn(a, "exec_command", { cmd: "cat", yield_time_ms: 300 });
		const remote = await callOn(a, "exec_command", { cmd: "cat", host: "beta", yield_time_ms: 300 });
		const number = (remote.facts as { session_id: number }).session_id;
		expect(number).not.toBe((local.facts as { session_id: number }).session_id);
		expect(remote.text).toContain(`session ID ${number}`);
		const codex = { sets: ["codex"] } as const;
		const typed = await callOn(a, "write_stdin", { session_id: number, chars: "on beta\n", yield_time_ms: 500 }, codex);
		expect(typed.text).toContain("on beta");
		for (const session_id of [number, (local.facts as { session_id: number }).session_id])
			await callOn(a, "write_stdin", { session_id, chars: "\u0004", yield_time_ms: 2000 }, codex);

		const background = await callOn(a, "start_background_process", {
			command: "echo bg; sleep 60",
			host: "beta",
		});
		const { process_id } = background.facts as { process_id: string };
		expect(process_id).toMatch(/^beta\/bg_/);
		await until("it printed", async () => (await callOn(a, "get_process_output", { process_id })).text.includes("bg"));
		await callOn(a, "stop_background_process", { process_id });
	});

	test("is streamed, shown and driven by its name there", async () => {
		const { facts } = await callOn(a, "start", { command: "cat", name: "watched", host: "beta" });
		await callOn(a, "send", { session: "beta/watched", text: "streamed", submit: true });
		const stop = new AbortController();
		let seen = "";
		for await (const chunk of a.client.output("beta/watched", { from: 0, signal: stop.signal })) {
			if ("bytes" in chunk) seen += Buffer.from(chunk.bytes).toString();
			if (seen.includes("streamed")) break;
		}
		expect((await a.client.snapshot(facts.session)).content).toContain("streamed");
		for await (const chunk of a.client.view("beta/watched", { signal: stop.signal })) {
			expect("snapshot" in chunk).toBe(true);
			break;
		}
		for await (const { driver } of a.client.drivers("beta/watched", { signal: stop.signal })) {
			expect(driver.kind).toBe("agent");
			break;
		}
		await callOn(a, "close", { session: "beta/watched" });
	});
});

describe("routing", () => {
	test("issue 15: what names no known host is local, and where there is no such session either, that there is no such host is said", async () => {
		const missing = await refusalOf(callOn(a, "read", { session: "gamma/x" }));
		expect(missing).toMatchObject({ code: "unknown_host", facts: { host: "gamma" } });
		expect(missing.next).toContain("beta");
		expect((await refusalOf(callOn(a, "read", { session: "no host/x" }))).code).toBe("session_not_found");
		const inside = { id: "x", owner: "test", parent: null, sandbox: null, within: [] };
		for (const limits of [{ inside }, { scope: { owner: "mcp:*" } }, { scope: { parent: "talk" } }]) {
			const caller = { owner: "test", cwd: "/", env: {}, ...limits };
			const refused = await refusalOf(callOn(a, "read", { session: "gamma/x" }, { caller }));
			expect(JSON.stringify(refused)).not.toContain("beta");
		}
		const fault = await refusalOf(callOn(a, "read", { session: "x", host: "betta" }));
		expect(fault.code).toBe("unknown_host");
		expect(fault.next).toContain("beta");
		expect((await refusalOf(callOn(a, "read", { session: "beta/x", host: "alpha" }))).code).toBe("bad_input");
		const own = await callOn(a, "start", { command: "cat", name: "here", host: "alpha" });
		expect(own.facts.name).toBe("here");
		expect((await callOn(a, "read", { session: "alpha/here" })).facts.name).toBe("here");
		await callOn(a, "close", { session: "here" });
	});

	test("a caller inside a session, or with a narrow token, reaches no other host", async () => {
		const inside = { id: "x", owner: "test", parent: null, sandbox: null, within: [] };
		const caller = { owner: "test", cwd: "/", env: {} };
		const call = (more: object) => callOn(a, "read", { session: "beta/main" }, { caller: { ...caller, ...more } });
		expect((await refusalOf(call({ inside }))).code).toBe("inside_session");
		expect((await refusalOf(call({ scope: { session: "x" } }))).code).toBe("not_allowed");
		expect((await refusalOf(call({ scope: { owner: "mcp:*" } }))).code).toBe("not_allowed");
		const link = { ...caller, scope: { session: "gone/01" } };
		const refused = await refusalOf(callOn(a, "read", { session: "gone/01" }, { caller: link }));
		expect([refused.code, JSON.stringify(refused.facts)]).toEqual([
			"unknown_host",
			expect.not.stringContaining("beta"),
		]);
		const listed = await callOn(a, "list", {}, { caller: { ...caller, scope: { owner: "nobody" } } });
		expect(listed.facts.sessions).toEqual([]);
	});

	test("tools have the field only here", async () => {
		const [start] = await a.client.tools();
		expect(Object.keys(start!.inputSchema.properties as object)).toEqual(expect.arrayContaining(["host", "placement"]));
		const [local] = await a.local.tools();
		expect(Object.keys(local!.inputSchema.properties as object)).not.toContain("host");
	});
});

describe("the list", () => {
	test("has the sessions of all hosts, from what they have told", async () => {
		await callOn(a, "start", { command: "cat", name: "mine-here" });
		await callOn(a, "start", { command: "cat", name: "mine-there", host: "beta" });
		await callOn(a, "start", { command: "cat", name: "another", host: "beta" });
		await b.registry.told();
		b.asked.length = 0;
		await until("it is listed", async () => {
			const { facts } = await callOn(a, "list", { status: "running" });
			const names = facts.sessions.map(({ name }) => String(name));
			return ["mine-here", "beta/mine-there", "beta/another"].every((name) => names.includes(name));
		});
		const listed = await callOn(a, "list", {});
		expect(b.asked).toEqual([]);
		expect(listed.text).toContain("[beta/mine-there] ");
		const page = await callOn(a, "list", { status: "running", limit: 1 });
		const { next } = page.facts;
		expect(next).toMatch(/^beta\./);
		const rest = (await callOn(a, "list", { status: "running", after: next })).facts;
		const first = page.facts.sessions;
		expect(rest.sessions.some(({ session }) => first.some((one) => one.session === session))).toBe(false);
		const there = await callOn(a, "list", { host: "beta", status: "running" });
		expect(b.asked).toEqual(["list"]);
		expect(there.text).toContain("[beta/mine-there] ");
		await callOn(a, "close", { session: "beta/mine-there" });
		await callOn(a, "close", { session: "mine-here" });
	});
});

describe("the list of a dialect", () => {
	test("has the sessions of all hosts, in its words, and they can be used by these names", async () => {
		const sets = ["exec", "pty"] as const;
		await callOn(a, "start", { host: "beta", name: "listed", argv: ["cat"], timeoutMs: 60_000 });
		const inDialect = (tool: string, input: object) => a.client.call(tool, input, { sets });
		const found = await until("the exec list has it", async () => {
			const { facts, text } = await inDialect("list_pty_sessions", {});
			const { sessions } = facts as { sessions: { session_id: string; running: boolean; cmd: string }[] };
			const one = sessions.find(({ session_id, cmd }) => session_id.startsWith("beta/") && cmd === "cat");
			expect(JSON.parse(text)).toEqual(facts);
			return one?.running === true && one;
		});
		const { facts } = await inDialect("pty_list", {});
		const cards = facts as unknown as { terminal_id: string; name: string; is_running: boolean }[];
		expect(cards.filter(({ name }) => name === "beta/listed")).toMatchObject([{ is_running: true }]);
		expect(cards.find(({ name }) => name === "beta/listed")!.terminal_id).toMatch(/^beta\//);
		const wrote = await inDialect("write_stdin", { session_id: found.session_id, chars: "seen\n", yield_time_ms: 500 });
		expect(wrote.facts).toMatchObject({ success: true, session_id: found.session_id });
		const of = async (input: object) => JSON.stringify((await inDialect("pty_list", input)).facts);
		expect(await of({ state: "failed" })).not.toContain("beta/listed");
		expect(await of({ host: "alpha" })).not.toContain("beta/listed");
	});
});

describe("events", () => {
	test("of other hosts come with their names, and can be replayed", async () => {
		const stop = new AbortController();
		const seen: string[] = [];
		const listening = (async () => {
			for await (const event of a.client.events({ signal: stop.signal }))
				if (event.event !== "dropped") seen.push(`${event.event} ${event.name}`);
		})();
		await b.local.call("start", { command: "true", name: "told" });
		await until("it is heard", () => seen.includes("ended beta/told"));
		expect(seen).toContain("started beta/told");
		stop.abort();
		await listening;
		const again = new AbortController();
		const replayed: string[] = [];
		for await (const event of a.client.events({ afterSeq: 0, signal: again.signal })) {
			if (event.event !== "dropped") replayed.push(`${event.event} ${event.name}`);
			if (replayed.includes("ended beta/told")) break;
		}
		expect(replayed).toContain("started beta/told");
	});
});

describe("a host that is away", () => {
	test("is refused at once, and its sessions are listed as unreachable, never as ended", async () => {
		const c = await Member.join(server, fleet, "gone");
		await c.local.call("start", { command: "cat", name: "left" });
		await c.registry.told();
		await until("it is known", () => a.registry.host("gone")?.reachable === true);
		await until("it is listed", async () => (await callOn(a, "list", {})).text.includes("[gone/left] "));
		c.isCut = true;
		const lost = await refusalOf(callOn(a, "read", { session: "gone/left" }));
		expect(isFault(lost, "host_unreachable")).toBe(true);
		const home = c.registry;
		await home[Symbol.asyncDispose](); // its lease is gone
		await until("it is away", () => a.registry.host("gone")?.reachable === false);
		const since = performance.now();
		const fault = await refusalOf(callOn(a, "read", { session: "gone/left" }));
		expect(performance.now() - since).toBeLessThan(200);
		expect(fault.code).toBe("host_unreachable");
		expect(fault.message).toMatch(/since \d{4}-/);
		const listed = await callOn(a, "list", {});
		const left = listed.facts.sessions.find(({ name }) => String(name) === "gone/left")!;
		expect(left.unreachableSince).toBeGreaterThan(0);
		expect(left.activity).toBe("unresponsive");
		expect(left.exit).toBeNull();
		expect(listed.text).toMatch(/\[gone\/left\] unreachable for \d+ s, was running/);
		fleet.delete("gone");
		await c[Symbol.asyncDispose]();
	});

	test("without the broker, this host is used as before and others are refused at once", async () => {
		await server.down();
		await until("it is noticed", () => a.registry.awaySince !== null);
		const since = performance.now();
		expect((await refusalOf(callOn(a, "read", { session: "beta/main" }))).code).toBe("fleet_unreachable");
		expect(performance.now() - since).toBeLessThan(200);
		expect((await callOn(a, "run", { command: "echo local" })).facts.text).toContain("local");
		const listed = await callOn(a, "list", {});
		expect(listed.text).toContain("servers are not reached since");
		await server.up();
		await until("it is back", () => a.registry.awaySince === null);
		await until("it answers", async () =>
			(await callOn(a, "run", { command: "echo back", host: "beta" })).text.includes("back"),
		);
		expect(a.registry.host("beta")?.reachable).toBe(true);
	});
});

describe("placement", () => {
	const started = async () => {
		const all = await Promise.all([...fleet.values()].map(({ local }) => local.call("list", { status: "running" })));
		return all.flatMap(({ facts }) => facts.sessions.map(({ name }) => String(name)));
	};

	test("by labels, by another session, and to the least loaded host", async () => {
		const labelled = await callOn(a, "start", { command: "cat", name: "l", placement: { labels: { gpu: "a100" } } });
		expect(labelled.facts.name).toBe("beta/l");
		const same = await callOn(a, "start", { command: "cat", name: "s", placement: { sameAs: "beta/l" } });
		expect(same.facts.name).toBe("beta/s");
		const alike = await callOn(a, "start", { command: "cat", name: "t", placement: { "same-as": "beta/l" } as never });
		expect(alike.facts.name).toBe("beta/t");
		const here = await callOn(b, "start", { command: "cat", name: "h", placement: { host: "alpha" } });
		expect(here.facts.name).toBe("alpha/h");
		const fault = await refusalOf(callOn(a, "start", { command: "cat", placement: { labels: { gpu: "h100" } } }));
		expect(fault.code).toBe("no_host_fits");
		expect(fault.message).toContain("beta: gpu is a100");
		expect(fault.message).toContain("alpha: has no label gpu");
		expect((await refusalOf(callOn(a, "start", { command: "cat", placement: "anywhere" as never }))).code).toBe(
			"bad_input",
		);
		await callOn(a, "start", { command: "cat", name: "any", placement: "least-loaded" });
		expect((await started()).filter((name) => name === "any")).toHaveLength(1);
	});

	test("issue 15: nothing is started beside a session that there is not, or that this caller may not see", async () => {
		const theirs = (await callOn(b, "start", { command: "cat", name: "theirs" })).facts.session;
		const starts = (sameAs: string, caller?: object) => {
			const by = { owner: "test", cwd: "/", env: {}, ...caller };
			const input = { command: "cat", name: "beside", placement: { sameAs } };
			return callOn(a, "start", input, { caller: by }).then(
				({ facts }) => String(facts.name),
				({ code }) => code,
			);
		};
		for (const missing of ["nope", "alpha/nope", "beta/nope"]) expect(await starts(missing)).toBe("session_not_found");
		expect(await starts("zz/nope")).toBe("unknown_host");
		expect(await starts("beta/theirs", { scope: { owner: "mcp:*" } })).toBe("not_allowed");
		b.isCut = true;
		expect(await starts("beta/theirs")).toBe("host_unreachable");
		b.isCut = false;
		expect((await started()).filter((name) => name === "beside")).toEqual([]);
		// What is new to the caller stays new: to look where it is is not to read it.
		const other = { owner: "other", cwd: "/", env: {} };
		await callOn(b, "send", { session: theirs, text: "unread", submit: true }, { caller: other });
		expect(await starts("beta/theirs")).toBe("beta/beside");
		expect((await callOn(a, "read", { session: "beta/theirs" })).facts.text).toContain("unread");
	});

	test("a lost answer is never a second start, whoever repeats it", async () => {
		b.losesAnswers = 1;
		const start = { command: "cat", name: "once", placement: { labels: { gpu: "a100" } } };
		const lost = await refusalOf(callOn(a, "start", start));
		expect(lost.code).toBe("host_unreachable");
		expect(lost.message).toContain("may have been done");
		// Now another host would fit better, and another daemon is asked.
		const c = await Member.join(server, fleet, "gamma", { labels: { gpu: "a100" } });
		await until("it is known", () => c.registry.host("beta")?.reachable === true);
		const repeated = await refusalOf(callOn(c, "start", { ...start, placement: "least-loaded" }));
		expect(repeated.code).toBe("name_taken");
		expect(repeated.message).toContain("beta/once");
		const used = await callOn(c, "start", { ...start, ifExists: "use" });
		expect(used.facts.name).toBe("beta/once");
		// While the host is away it is not started elsewhere, either.
		b.isCut = true;
		const away = await refusalOf(callOn(c, "start", { ...start, ifExists: "use" }));
		expect(away.code).toBe("host_unreachable");
		expect(away.next).toContain("not repeated on another host");
		b.isCut = false;
		expect((await started()).filter((name) => name === "once")).toHaveLength(1);
		// Once it has ended and that is told, the name is free to be placed again.
		await callOn(a, "close", { session: "beta/once" });
		await b.registry.told();
		const again = await callOn(a, "start", start);
		expect(again.facts.name).toMatch(/^(beta|gamma)\/once$/);
		expect((await started()).filter((name) => name === "once")).toHaveLength(1);
	});

	test("a full host refuses, and the next one takes it", async () => {
		const c = await Member.join(server, fleet, "small", { labels: { kind: "x" }, capacity: 2 });
		const d = await Member.join(server, fleet, "other", { labels: { kind: "x" }, capacity: 2 });
		const both = () => a.registry.host("small")?.reachable === true && a.registry.host("other")?.reachable === true;
		await until("both are known", both);
		const starts = [1, 2, 3, 4].map((i) =>
			callOn(a, "start", { command: "cat", name: `p${i}`, placement: { labels: { kind: "x" } } }),
		);
		const names = (await Promise.all(starts)).map(({ facts }) => String(facts.name));
		expect(names.filter((name) => name.startsWith("small/"))).toHaveLength(2);
		expect(names.filter((name) => name.startsWith("other/"))).toHaveLength(2);
		const fault = await refusalOf(callOn(a, "start", { command: "cat", placement: { labels: { kind: "x" } } }));
		expect(fault.code).toBe("no_host_fits");
		expect([c, d].map(({ sessions }) => sessions.runningCount())).toEqual([2, 2]);
	});
});

describe("a daemon that joins while another host is away", () => {
	test("says so of its sessions, and of those of no host that they are not there", async () => {
		await callOn(b, "start", { command: "cat", name: "kept" });
		await until("it is told of", () => b.registry.hasSessionsOf("beta"));
		fleet.delete("beta");
		await b[Symbol.asyncDispose]();
		const c = await Member.join(server, fleet, "gamma");
		const { signal } = new AbortController();
		const away = { code: "host_unreachable", facts: { host: "beta", since: null } };
		expect(await refusalOf(callOn(c, "read", { session: "beta/kept" }))).toMatchObject(away);
		expect(await refusalOf(c.client.output("beta/kept", { from: 0, signal }).next())).toMatchObject(away);
		expect(await refusalOf(callOn(c, "read", { session: "delta/kept" }))).toMatchObject({ code: "unknown_host" });
		const there = { command: "cat", host: "beta" };
		expect(await refusalOf(callOn(c, "start", there))).toMatchObject(away);
		expect((await refusalOf(callOn(c, "start", { ...there, host: "delta" }))).code).toBe("unknown_host");
		const ran = (shell: string) => refusalOf(callOn(c, "run", { command: "true", shell }));
		expect(await ran("beta/main")).toMatchObject(away);
		expect(await ran("delta/main")).toMatchObject({ code: "unknown_host" });
		expect(await refusalOf(callOn(c, "start", { command: "cat", name: "beta/new" }))).toMatchObject(away);
		// Which hosts there are is not known where the servers do not tell.
		process.kill(server.pid(), "SIGSTOP");
		try {
			const asked = [callOn(c, "read", { session: "beta/kept" }), callOn(c, "start", { ...there, host: "delta" })];
			for (const { code } of await Promise.all(asked.map(refusalOf))) expect(code).toBe("fleet_unreachable");
		} finally {
			process.kill(server.pid(), "SIGCONT");
		}
	});
});
