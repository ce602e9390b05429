// What a session of another machine has to bear beside single calls: long waits, callers that go away, much output,
// secrets, starts that are repeated.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { ReadFacts, SessionFacts } from "../../src/protocol/answer.ts";
import type { Answer, Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { missing } from "../programs.ts";
import { filesBelow } from "../secrets/files-below.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, TwoHosts } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };
const SECRET = "Kq4-tangled/Harbour+91";

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("a session of another machine", () => {
	let directory: string;
	let hosts: TwoHosts;
	let client: Client;
	beforeAll(async () => {
		directory = mkdtempSync(join(tmpdir(), "dt-far-"));
		writeFileSync(join(directory, "secret"), SECRET, { mode: 0o600 });
		hosts = await TwoHosts.start({ policy: { secrets: { db: { from: { file: join(directory, "secret") } } } } });
		client = hosts.client;
	});
	afterAll(async () => {
		await hosts?.[Symbol.asyncDispose]();
		if (directory !== undefined) rmSync(directory, { recursive: true });
	});

	const facts = async <F = SessionFacts>(tool: string, input: object): Promise<F> =>
		(await called(client, tool, input)).facts as F;
	const start = (name: string, script: string) => {
		const argv = ["bash", "-c", `echo begun; ${script}`];
		return facts("start", { host: "beta", name, argv, until: { text: "begun" }, ...patient });
	};
	/** What a program waits for, as a file that is there. */
	const cue = (name: string) => join(directory, name);
	const awaited = (name: string) => `until [ -e ${cue(name)} ]; do sleep 0.02; done`;
	const text = async (session: string) =>
		(await facts<ReadFacts>("read", { session, view: "lines", maxTokens: 10_000 })).text;

	test("a wait that is longer than any request of the broker is answered when it comes true", async () => {
		await start("long", `${awaited("long")}; echo now; read x`);
		const waiting = called(client, "wait", { session: "beta/long", until: { text: "now", only: true }, ...patient });
		// Longer than a link may be silent, a request may take and a lease lasts.
		await delay(15_000);
		const given = performance.now();
		writeFileSync(cue("long"), "");
		expect((await waiting).facts).toMatchObject({ matched: true, text: expect.stringContaining("now") });
		expect(performance.now() - given).toBeLessThan(5000); // of the 45 s that it had left
	});

	test("a wait there ends in its own time, and an answer comes when its caller has to have one", async () => {
		await start("timed", "read x");
		// The first call opens a link.
		await text("beta/timed");
		const elapsed = async (call: () => Promise<Answer>): Promise<[SessionFacts, number]> => {
			const since = performance.now();
			const { facts: told } = await call();
			return [told as SessionFacts, performance.now() - since];
		};
		const never = { session: "beta/timed", until: { text: "never", only: true } };
		const soon = (ms: number) => {
			expect(ms).toBeGreaterThan(950);
			expect(ms).toBeLessThan(1000 + 4000); // on a busy machine; 60 s if it were not honoured
		};
		const [timed, timedMs] = await elapsed(() => called(client, "wait", { ...never, timeoutMs: 1000 }));
		expect(timed).toMatchObject({ returned: "timeout", matched: false });
		soon(timedMs);

		const limit = { answerWithinMs: 1000 };
		const [limited, limitedMs] = await elapsed(() => client.call("wait", { ...never, timeoutMs: 60_000 }, limit));
		expect(limited).toMatchObject({ returned: "timeout", limited: { askedMs: 60_000 } });
		soon(limitedMs);

		const slow = { command: `${awaited("command")}; echo done`, host: "beta", shell: "timed-shell" };
		const [left, leftMs] = await elapsed(() => client.call("run", { ...slow, ...patient }, limit));
		expect(left).toMatchObject({ limited: { askedMs: 60_000 } });
		soon(leftMs);
		writeFileSync(cue("command"), "");
		const ended = await called(client, "wait", { session: "beta/timed-shell", until: { text: "done" }, ...patient });
		expect(ended.facts).toMatchObject({ text: expect.stringContaining("done") });
	});

	test("a wait whose caller goes away is over there, too: what comes then is new to the next call", async () => {
		const printed = (name: string) => until("it is printed", async () => (await text(`beta/${name}`)).includes("two"));
		const waitFor = (name: string, signal?: AbortSignal) =>
			called(client, "wait", { session: `beta/${name}`, until: { text: "two", only: true }, ...patient }, signal);
		for (const name of ["left", "stayed"]) await start(name, `${awaited(name)}; echo two; read x`);
		const away = new AbortController();
		const left = waitFor("left", away.signal);
		const stayed = waitFor("stayed");
		// Both are there: what is asked next over the same link comes after them.
		await text("beta/left");
		away.abort();
		await expect(left).rejects.toThrow();
		for (const name of ["left", "stayed"]) writeFileSync(cue(name), "");
		await Promise.all([printed("left"), printed("stayed")]);
		expect((await stayed).facts).toMatchObject({ matched: true });
		expect((await facts("read", { session: "beta/left" })).text).toContain("two");
		expect((await facts("read", { session: "beta/stayed" })).text).not.toContain("two");
	});

	test("five megabytes are the same as a stream from any offset, live, and in pages", async () => {
		const count = 720_000;
		const all = Buffer.from(`begun\r\n${Array.from({ length: count }, (_, n) => n + 1).join("\r\n")}\r\n`);
		expect(all.length).toBeGreaterThan(5_000_000);
		await start("large", `${awaited("large")}; seq ${count}`);
		const streamed = async (from: number): Promise<Buffer> => {
			const pieces: Uint8Array[] = [];
			const { signal } = new AbortController();
			for await (const piece of client.output("beta/large", { from, signal })) {
				if ("gap" in piece) throw new Error(`bytes ${piece.gap.from} to ${piece.gap.to} are missing`);
				pieces.push(piece.bytes);
			}
			return Buffer.concat(pieces);
		};
		const live = streamed(0);
		writeFileSync(cue("large"), "");
		expect((await live).equals(all)).toBe(true);
		for (const from of [1, 65_536, 1_048_577, 3_333_333, all.length - 1, all.length])
			expect((await streamed(from)).equals(all.subarray(from)), `from ${from}`).toBe(true);
		const pages: Buffer[] = [];
		for (let from = 0; from < all.length; ) {
			const page = await facts<ReadFacts>("read", { session: "beta/large", view: "raw", from, to: from + 1_000_000 });
			const bytes = Buffer.from(page.base64!, "base64");
			expect(bytes.length).toBeGreaterThan(0);
			pages.push(bytes);
			from += bytes.length;
		}
		expect(Buffer.concat(pages).equals(all)).toBe(true);
		const lines = await facts<ReadFacts>("read", {
			session: "beta/large",
			view: "lines",
			from: 400_001,
			to: 400_100,
			maxTokens: 50_000,
		});
		expect(lines.text.trimEnd().split("\n")).toEqual(Array.from({ length: 100 }, (_, n) => String(400_000 + n)));
	});

	test("a secret that is typed into it from here is in no answer, stream, event, log or file of either machine", async () => {
		const seen: string[] = [];
		const stop = new AbortController();
		const { signal } = stop;
		const listening = (async () => {
			for await (const event of client.events({ signal })) seen.push(JSON.stringify(event));
		})();
		const asks = `read -s -p 'Password: ' p; echo; echo "in the open $p and \${#p}"; read -s -p 'Again: ' q; echo; echo "shown $q"; read x`;
		await start("secret", asks);
		const watching = (async () => {
			for await (const piece of client.output("beta/secret", { from: 0, signal }))
				if ("bytes" in piece) seen.push(Buffer.from(piece.bytes).toString("latin1"));
		})();
		await until("it asks", async () => (await text("beta/secret")).includes("Password"));
		const answers = [
			await called(client, "send", {
				session: "beta/secret",
				secret: "db",
				submit: true,
				until: { text: "Again:" },
				...patient,
			}),
		];
		await client.act("beta/secret", { act: "secret", who: "anna", text: SECRET });
		await until("it is shown", async () => (await text("beta/secret")).includes("shown"));
		answers.push(await called(client, "read", { session: "beta/secret", view: "lines" }));
		answers.push(await called(client, "close", { session: "beta/secret" }));
		await until("its end is heard of", () => seen.some((one) => /"event":"ended".*beta\/secret/.test(one)));
		stop.abort();
		await Promise.all([listening, watching]);
		const told = [...answers.map((answer) => JSON.stringify(answer)), ...seen].join("\n");
		expect(told).toContain("in the open");
		expect(told).toContain(`and ${SECRET.length}`);
		expect(told).not.toContain(SECRET);
		const files = [hosts.alpha.path, hosts.beta.path, hosts.brokers.directory].flatMap((path) => [...filesBelow(path)]);
		expect(files.some(([, content]) => content.includes("in the open"))).toBe(true);
		expect(files.filter(([, content]) => content.includes(SECRET)).map(([path]) => path)).toEqual([]);
	});

	test("the same start from both machines at once is one session", async () => {
		await using there = await hosts.beta.connect();
		for (const [round, placement] of ["least-loaded", { labels: { is: "beta" } }, "least-loaded"].entries()) {
			const name = `same-${round}`;
			const input = { name, argv: ["cat"], placement, ifExists: "use", ...patient };
			const asked = [client, there].flatMap((one, index) =>
				[1, 2].map(async () => {
					const { session } = (await called(one, "start", input)).facts as SessionFacts;
					return session.includes("/") ? session : `${["alpha", "beta"][index]}/${session}`;
				}),
			);
			expect(new Set(await Promise.all(asked)).size).toBe(1);
			const running = (
				await Promise.all([called(client, "list", { host: "alpha" }), called(there, "list", { host: "beta" })])
			)
				.flatMap(({ facts: listed }) => (listed as { sessions: readonly { name: string }[] }).sessions)
				.filter((one) => one.name === name);
			expect(running).toHaveLength(1);
		}
	});

	test("is used by a program through the library as one of its own", async () => {
		await using dialtone = await Dialtone.connect({ home: hosts.alpha.path, owner: "library" });
		await using terminal = await dialtone.start({ argv: ["cat"], host: "beta", name: "library", ...patient });
		expect([terminal.name, terminal.id]).toEqual(["beta/library", expect.stringMatching(/^beta\/\w{26}$/)]);
		const said = await terminal.send({ text: "hello", submit: true, until: { text: "hello" }, ...patient });
		expect(said.text).toContain("hello");
		expect((await dialtone.find("beta/library")).id).toBe(terminal.id);
		expect(await dialtone.run({ command: "exit 3", host: "beta", ...patient })).toMatchObject({ shell: "beta/main" });
		const { sessions } = await dialtone.list({ host: "beta" });
		expect(sessions.map(({ name }) => name)).toContain("beta/library");
		expect((await terminal.close()).status).toBe("cancelled");
	});

	test("what is repeated after its answer was lost is typed once", async () => {
		await start("once", "stty -echo; echo ready; cat");
		const write = { session: "beta/once", text: "once", submit: true, id: "once-1", timeoutMs: 500 };
		await Promise.all([called(client, "send", write), called(client, "send", write)]);
		await called(client, "send", { session: "beta/once", text: "after", submit: true, ...patient });
		await until("both are typed", async () => (await text("beta/once")).includes("after"));
		expect((await text("beta/once")).match(/once/g)).toHaveLength(1);
	});
});
