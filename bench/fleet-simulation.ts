// A fleet that is only told of: hosts that write leases and records over a real nats-server, and what it costs to know
// them. `npm run simulate:fleet [-- --records N --only records|hosts]`; the figures of docs/fleet-scale.md are from here.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Buckets, LEASE, openBuckets } from "../src/fleet/buckets.ts";
import { Connected } from "../src/fleet/connected.ts";
import { othersSessions, PAGE, renderFleetList } from "../src/fleet/fleet-list.ts";
import { place } from "../src/fleet/placement.ts";
import { Publisher } from "../src/fleet/publisher.ts";
import { FleetView, type HostView } from "../src/fleet/view.ts";
import type { SessionRecord } from "../src/journal/records.ts";
import { newId } from "../src/session/identity.ts";
import { OneServer } from "../test/fleet/one-server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const { values } = parseArgs({ options: { records: { type: "string", default: "100000" }, only: { type: "string" } } });
const RECORDS = Number(values.records);

const say = (what: string, value: string | number) => console.log(`${what.padEnd(64)} ${value}`);
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));

async function timed<T>(act: () => Promise<T> | T): Promise<{ readonly ms: number; readonly value: T }> {
	const from = performance.now();
	const value = await act();
	return { ms: performance.now() - from, value };
}

/** Seconds of the processor that a process has used. */
function processorSeconds(pid: number): number {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) / 100;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function recordOf(i: number): SessionRecord {
	const owner = `mcp:agent-${i % 50}`;
	const command = "npm run dev -- --port 3000 --host 127.0.0.1";
	return {
		id: newId(),
		name: `session-${i}`,
		command,
		state: "running",
		owner,
		bootId: "b",
		createdAt: Date.now(),
		exit: null,
		sandbox: null,
	} as unknown as SessionRecord;
}

/** All sessions, page by page, as `list` answers them; how long each page took. */
function listAll(view: FleetView): { readonly pages: readonly number[]; readonly count: number } {
	const pages: number[] = [];
	let count = 0;
	let after: string | undefined;
	do {
		const from = performance.now();
		const request = {
			since: 0,
			limit: PAGE.usual,
			after,
			owner: "mcp:agent-1",
			scope: undefined,
			version: "1",
			except: "none",
		};
		const { sessions, next } = othersSessions(view, request);
		renderFleetList({ sessions, now: Date.now(), status: null, ...(next !== null && { next }) });
		pages.push(performance.now() - from);
		count += sessions.length;
		after = next ?? undefined;
	} while (after !== undefined);
	return { pages, count };
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

function publish(at: { readonly buckets: Buckets; readonly connected: Connected }, host: string, count: number) {
	const list = Array.from({ length: count }, (_, i) => ({ record: recordOf(i), session: null }));
	const sessions = {
		list: () => list,
		events: { onEvent: () => () => {} },
		runningCount: () => count,
		onCount: () => () => {},
	};
	const own = { host, labels: {}, version: "1", bootId: "b", home: "h", daemonEpoch: 1, capacity: 200, sessions };
	return new Publisher({ own, ...at, ...LEASE, onProblem: (problem) => console.error(problem) });
}

async function hundredHosts(server: OneServer): Promise<void> {
	console.log("\n100 hosts with 100 sessions each, for real");
	const nats = await server.connect();
	const buckets = await openBuckets(nats);
	const connected = new Connected(nats);
	const written = await timed(async () => {
		const all = Array.from({ length: 100 }, (_, i) => publish({ buckets, connected }, `host-${i}`, 100));
		await Promise.all(all.map((one) => one.settled()));
		return all;
	});
	say("all hosts join and write 10,000 records", `${Math.round(written.ms)} ms`);
	const other = await server.connect();
	const looking = new Connected(other);
	const view = new FleetView({ buckets: await openBuckets(other), connected: looking, ttlMs: LEASE.ttlMs });
	const first = await timed(async () => {
		await view.ready();
		await view.withSessions();
		return listAll(view);
	});
	say(`the first list of ${first.value.count} sessions, with reading all records`, `${Math.round(first.ms)} ms`);
	const again = await timed(() => listAll(view));
	say("the same again, ten pages", `${Math.round(again.ms)} ms`);
	say("reachable hosts", view.hosts().filter(({ reachable }) => reachable).length);
	await leases(server, 100, [1, 25, 100]);
	await view[Symbol.asyncDispose]();
	looking[Symbol.dispose]();
	await Promise.all(written.value.map((one) => one[Symbol.asyncDispose]()));
	connected[Symbol.dispose]();
}

/** As many as a cluster has at most; they have no sessions. Each tenth watches, and all of these in one process. */
async function thousandHosts(server: OneServer): Promise<void> {
	const nats = await server.connect();
	const at = { buckets: await openBuckets(nats), connected: new Connected(nats) };
	const joined = await timed(async () => {
		const all = Array.from({ length: 1000 }, (_, i) => publish(at, `many-${i}`, 0));
		await Promise.all(all.map((one) => one.settled()));
		return all;
	});
	say("1,000 hosts join at once", `${Math.round(joined.ms)} ms`);
	await leases(server, 1000, [1, 30, 100]);
	await Promise.all(joined.value.map((one) => one[Symbol.asyncDispose]()));
	at.connected[Symbol.dispose]();
}

/** What the broker and a daemon spend on leases, by how many watch them. */
async function leases(server: OneServer, hosts: number, watching: readonly number[]): Promise<void> {
	console.log(
		`\nleases: ${hosts} hosts write ${Math.round((hosts * 1000) / LEASE.refreshMs)} a second, so many daemons watch`,
	);
	for (const watchers of watching) {
		const nats = await server.connect();
		const buckets = await openBuckets(nats);
		const connected = new Connected(nats);
		const views = Array.from({ length: watchers }, () => new FleetView({ buckets, connected, ttlMs: LEASE.ttlMs }));
		const ready = await timed(() => Promise.all(views.map((view) => view.ready())));
		const [broker, own] = [processorSeconds(server.pid()), processorSeconds(process.pid)];
		const before = nats.stats().inMsgs;
		const from = performance.now();
		await pause(9000);
		const seconds = (performance.now() - from) / 1000;
		const delivered = (nats.stats().inMsgs - before) / seconds;
		const brokerShare = (processorSeconds(server.pid()) - broker) / seconds;
		const ownShare = (processorSeconds(process.pid) - own) / seconds;
		say(
			`${watchers} watchers: deliveries a second; processor of broker, of this process`,
			`${Math.round(delivered)}; ${rounded(brokerShare * 100)} %, ${rounded(ownShare * 100)} %`,
		);
		const seen = views.map((view) => view.hosts().filter(({ reachable }) => reachable).length);
		say(
			"all were read in; the fewest reachable hosts that one of them sees",
			`${Math.round(ready.ms)} ms; ${Math.min(...seen)}`,
		);
		await Promise.all(views.map((view) => view[Symbol.asyncDispose]()));
		connected[Symbol.dispose]();
		await nats.close();
	}
}

async function fill(buckets: Buckets, hosts: number, each: number): Promise<void> {
	const text = (i: number) => {
		const { name, command, owner, createdAt } = recordOf(i);
		const state = {
			status: "running",
			activity: "waiting",
			waitingFor: "line",
			exit: null,
			sandbox: "none",
			boot: "12345678",
		};
		return JSON.stringify({ name, command, owner, createdAt, updatedAt: createdAt, ...state });
	};
	for (let host = 0; host < hosts; host++) {
		const puts = Array.from({ length: each }, (_, i) =>
			buckets.js.publish(`$KV.dt_sessions.big-${host}.mcp=3Aagent-${i % 50}.${newId()}`, text(i), { timeout: 30_000 }),
		);
		await Promise.all(puts);
	}
}

async function manyRecords(server: OneServer): Promise<void> {
	const each = 1000;
	const hosts = Math.ceil(RECORDS / each);
	console.log(`\n${hosts * each} records of ${hosts} hosts`);
	const nats = await server.connect();
	const buckets = await openBuckets(nats);
	const filled = await timed(() => fill(buckets, hosts, each));
	say("written by one process: records a second", Math.round((hosts * each) / (filled.ms / 1000)));
	const connected = new Connected(nats);
	const view = new FleetView({ buckets, connected, ttlMs: LEASE.ttlMs });
	await view.ready();
	collectGarbage();
	const { heapUsed: before } = process.memoryUsage();
	const read = await timed(() => view.withSessions());
	collectGarbage();
	const bytes = process.memoryUsage().heapUsed - before;
	say(
		"a view reads all: time; records a second",
		`${Math.round(read.ms)} ms; ${Math.round((hosts * each) / (read.ms / 1000))}`,
	);
	say("memory of a view, for each record", `${Math.round(bytes / (hosts * each))} bytes`);
	const listed = listAll(view);
	say(
		`a page of ${PAGE.usual}: mean; longest`,
		`${rounded(sum(listed.pages) / listed.pages.length)} ms; ${rounded(Math.max(...listed.pages))} ms`,
	);
	say("all pages", `${Math.round(sum(listed.pages))} ms for ${listed.count} sessions`);
	const one = await timed(() => openFor(buckets, connected, "mcp:agent-7"));
	say("a view of one owner (a fiftieth of all)", `${Math.round(one.ms)} ms for ${one.value} records`);
	await view[Symbol.asyncDispose]();
	connected[Symbol.dispose]();
	say("memory of the broker", `${Math.round(residentBytes(server.pid()) / 2 ** 20)} MiB`);
}

async function openFor(buckets: Buckets, connected: Connected, owner: string): Promise<number> {
	const view = new FleetView({ buckets, connected, owner, ttlMs: LEASE.ttlMs });
	await view.withSessions();
	const count = [...view.sessions()].length;
	await view[Symbol.asyncDispose]();
	return count;
}

const residentBytes = (pid: number) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;

function placements(): void {
	console.log("\nplacement");
	for (const count of [100, 1000]) {
		const hosts: HostView[] = Array.from({ length: count }, (_, i) => {
			const labels = { zone: `z${i % 10}` };
			const lease = {
				host: `h${i}`,
				bootId: "b",
				home: "h",
				daemonEpoch: 1,
				version: "1",
				labels,
				capacity: { sessions: 2000 },
				running: (i * 37) % 1000,
				load: (i % 40) / 10,
				since: 0,
			};
			return { host: `h${i}`, lease, reachable: i % 97 !== 0, since: 0 };
		});
		const from = performance.now();
		for (let i = 0; i < 1000; i++) place({ labels: { zone: `z${i % 10}` } }, { hosts, key: `k${i}` });
		say(`one of ${count} hosts, by label and load`, `${rounded((performance.now() - from) / 1000, 3)} ms`);
	}
}

const server = await OneServer.start();
try {
	if (values.only === undefined) await hundredHosts(server);
	if (values.only !== "records") await thousandHosts(server);
	if (values.only !== "hosts") {
		await manyRecords(server);
		placements();
	}
} finally {
	await server[Symbol.asyncDispose]();
}
