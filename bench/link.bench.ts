// A link of the fleet over a nats-server on loopback, client and host in processes of their own: bytes per second each
// way, and the round trip of a small frame.

import { fork } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { FleetConnection } from "../src/fleet/connection.ts";
import { FleetHost } from "../src/fleet/host.ts";
import { openLink } from "../src/fleet/link.ts";
import { OneBroker } from "../test/fleet/one-broker.ts";

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
	await using broker = await OneBroker.start();
	const host = fork(import.meta.filename, ["serve", broker.url]);
	await once(host, "message");
	await using connection = await broker.connect("client");
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
}
