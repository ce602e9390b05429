// A link of the fleet over a nats-server on loopback, client and host in processes of their own: bytes per second each
// way, and the round trip of a small frame; and a session over it, beside the same over the daemon's socket.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { SocketClient } from "../src/daemon/socket-client.ts";
import { FleetConnection } from "../src/fleet/connection.ts";
import { FleetHost } from "../src/fleet/host.ts";
import { openLink } from "../src/fleet/link.ts";
import { connectToHost } from "../src/fleet-links.ts";
import { until } from "../test/condition.ts";
import { Home } from "../test/daemon/home.ts";
import { OneServer } from "../test/fleet/one-server.ts";

const MB = 1_000_000;
const as = { role: "admin", owner: null } as const;
const PIECE = Buffer.alloc(64 * 1024, "x");

/** The host's side: echoes, swallows or floods, as the first line says. */
async function serve(url: string): Promise<void> {
	const options = { servers: [url], host: "host", labels: {}, as };
	const connection = await FleetConnection.connect(options);
	const accept = (link: Duplex) => {
		link.once("data", (first: Buffer) => {
			const [what, bytes] = first.toString().split(" ");
			link.write("ok");
			if (what === "echo") link.on("data", (chunk: Buffer) => link.write(chunk));
			if (what === "take") {
				let left = Number(bytes);
				link.on("data", (chunk: Buffer) => {
					left -= chunk.length;
					if (left <= 0) link.write("done");
				});
			}
			if (what === "give") void give(link, Number(bytes));
		});
	};
	new FleetHost(connection, { accept, epoch: 1, bootId: "b" });
	process.send?.("ready");
	process.once("message", () => process.exit(0));
}

async function give(link: Duplex, bytes: number): Promise<void> {
	for (let sent = 0; sent < bytes; sent += PIECE.length) if (!link.write(PIECE)) await once(link, "drain");
}

if (process.argv[2] === "serve") await serve(process.argv[3]!);

export async function run({ quick }: { quick: boolean }): Promise<void> {
	await using broker = await OneServer.start();
	const host = fork(import.meta.filename, ["serve", broker.url]);
	await once(host, "message");
	await using connection = await broker.join("client");
	const open = async (wish: string): Promise<Duplex> => {
		const link = await openLink(connection, "host", as);
		link.write(wish);
		await once(link, "data");
		return link;
	};
	const bytes = (quick ? 100 : 400) * MB;

	const taking = await open(`take ${bytes}`);
	let at = performance.now();
	await give(taking, bytes);
	await once(taking, "data");
	console.log(`client to host: ${(bytes / MB / ((performance.now() - at) / 1000)).toFixed(0)} MB/s`);
	taking.destroy();

	const giving = await open(`give ${bytes}`);
	at = performance.now();
	let got = 0;
	for await (const chunk of giving) {
		got += (chunk as Buffer).length;
		if (got >= bytes) break;
	}
	console.log(`host to client: ${(bytes / MB / ((performance.now() - at) / 1000)).toFixed(0)} MB/s`);
	giving.destroy();

	const echo = await open("echo");
	const times: number[] = [];
	for (let i = 0; i < (quick ? 1000 : 5000); i++) {
		at = performance.now();
		echo.write("k");
		await once(echo, "data");
		times.push(performance.now() - at);
	}
	times.sort((a, b) => a - b);
	const of = (part: number) => times[Math.floor(times.length * part)]!.toFixed(3);
	console.log(`round trip of one byte: p50 ${of(0.5)} ms, p99 ${of(0.99)} ms`);
	echo.destroy();
	host.send("over");
	await once(host, "exit");
	await measureSessions(broker, quick);
}

/** A machine with the daemon as it is installed, which has joined. */
async function joined(broker: OneServer, host: string): Promise<Home> {
	const home = new Home();
	await using own = await home.connect();
	await own.fleet({ servers: [broker.url], host, labels: {} });
	return home;
}

/**
 * A session of a machine: its output from the beginning, and keys until their echo is back. Used over a link, as another
 * machine's daemon (and so its page) does; from another machine's command line, through that daemon; and on the machine.
 */
async function measureSessions(broker: OneServer, quick: boolean): Promise<void> {
	await using home = await joined(broker, "gpu-1");
	await using elsewhere = await joined(broker, "desk-1");
	await using connection = await broker.join("client");
	await using link = await connectToHost({ connection, host: "gpu-1", as, caller: { owner: "b", cwd: "/", env: {} } });
	await using through = await elsewhere.connect();
	await using own = await home.connect();
	await until("each knows the other", () =>
		through.call("list", { host: "gpu-1" } as object).then(
			() => true,
			() => false,
		),
	);
	const ways = [
		{ way: "over a link", client: link, prefix: "" },
		{ way: "through the daemon of another machine", client: through, prefix: "gpu-1/" },
		{ way: "over the unix socket", client: own, prefix: "" },
	];
	const last = String(quick ? 3_000_000 : 6_000_000);
	await own.call("start", { name: "seq", argv: ["seq", last], timeoutMs: 120_000 });
	await own.call("wait", { session: "seq", timeoutMs: 120_000 });
	for (const { way, client, prefix } of ways) {
		const at = performance.now();
		const before = [process.cpuUsage(), cpuMs(own.daemonPid)] as const;
		let bytes = 0;
		for await (const chunk of client.output(`${prefix}seq`, { from: 0, signal: new AbortController().signal }))
			if ("bytes" in chunk) bytes += chunk.bytes.length;
		const used = process.cpuUsage(before[0]);
		const per = (ms: number) => `${((ms / (bytes / MB)) * 100).toFixed(0)} ms`;
		const cost = `client ${per((used.user + used.system) / 1000)}, host ${per(cpuMs(own.daemonPid) - before[1])} per 100 MB`;
		console.log(
			`output ${way}: ${(bytes / MB / ((performance.now() - at) / 1000)).toFixed(0)} MB/s; processor: ${cost}`,
		);
	}
	await own.call("start", { name: "cat", argv: ["cat"], timeoutMs: 60_000 });
	// In turns: what else the machine does is the same for all. The first keys are those for which node compiles the code.
	for (const round of ["the first", "the next", "the next"])
		for (const { way, client, prefix } of ways)
			console.log(`key to echo ${way}, ${round} ${await keys(client, `${prefix}cat`, quick ? 500 : 1500)}`);
}

async function keys(client: SocketClient, session: string, count: number): Promise<string> {
	const { lease = "" } = await client.act(session, { act: "take", who: "bench" });
	const stop = new AbortController();
	const { offset } = (await client.call("read", { session, view: "screen" })).facts;
	const echoes = client.output(session, { from: offset, signal: stop.signal });
	const times: number[] = [];
	for (let i = 0; i < count; i++) {
		const since = performance.now();
		const typed = client.act(session, { act: "keys", lease, base64: "eA==" });
		await echoes.next();
		times.push(performance.now() - since);
		await typed;
	}
	stop.abort();
	await client.act(session, { act: "keys", lease, base64: Buffer.from("\n").toString("base64") });
	times.sort((a, b) => a - b);
	const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(2);
	return `${count}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms`;
}

/** Processor time of a process so far. */
function cpuMs(pid: number): number {
	const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ").slice(11, 13);
	return (Number(user) + Number(system)) * 10;
}
