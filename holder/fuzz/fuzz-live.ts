// A real holder with a real terminal under random clients: they come and go, read or
// do not, know the secret or not, and send frames that are right, changed or cut,
// while the log goes from segment to segment. Afterwards it must answer as ever, end
// its session and write the exit. What a sanitizer finds is in its reports.
//
//   node --import tsx holder/fuzz/fuzz-live.ts SECONDS [SEED]    DIALTONE_TEST_HOLDER: the holder to try
import { randomBytes, randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	Client,
	cleanUp,
	exitFile,
	gone,
	launch,
	lives,
	record,
	Tag,
	u16,
	u32,
	u64,
} from "../../test/holder/raw-holder.ts";

const seconds = Number(process.argv[2] ?? 30);
const seed = Number(process.argv[3] ?? randomInt(2 ** 31));
console.error(`live fuzz for ${seconds} s, seed ${seed}`);

let state = seed >>> 0;
const random = (below: number): number => {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return Math.floor((state / 2 ** 32) * below);
};
const chance = (percent: number) => random(100) < percent;
const pick = <T>(values: readonly T[]): T => values[random(values.length)]!;
const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => random(256)));
/** Small ones, edges and anything. */
const number = (bits: 16 | 32 | 64): bigint => {
	const top = (1n << BigInt(bits)) - 1n;
	return pick([0n, 1n, BigInt(random(100)), BigInt(random(100_000)), top, top - 1n, bytes(8).readBigUInt64LE() & top]);
};
const n16 = () => u16(Number(number(16)));
const n32 = () => u32(Number(number(32)));
const n64 = () => u64(number(64));

const secret = randomBytes(32);
/** Goes to and fro between raw and canonical mode, reads and writes; says when it is interrupted. */
const PROGRAM = `trap 'echo interrupted' INT TERM HUP QUIT USR1 USR2 TSTP; while :; do
	stty raw -echo; head -c 500 | od -c | head -n 40; stty cooked echo; seq 1 300; read -t 0.05 line; echo "$line"; done`;

// By type; everything but the request number, which each request has.
const requests: Readonly<Record<number, () => Buffer>> = {
	2: () => Buffer.concat([n64(), n64()]),
	3: () => n64(),
	4: () =>
		Buffer.concat([
			n32(),
			u32(random(2)),
			chance(70) ? u64(2n ** 64n - 1n) : n64(),
			chance(50) ? Buffer.alloc(16) : bytes(16).fill(random(3), 1),
			chance(90)
				? bytes(1 + random(200))
				: Buffer.alloc(1 + random(100_000), pick(["x", "x\n", "\x03", "\x04", "\x16"])),
		]),
	5: () => Buffer.concat([n32(), n16(), n16(), n16(), n16()]),
	// No KILL or STOP to the tree: the session would only end.
	6: () => Buffer.concat([n32(), Buffer.from([pick([0, 1, 2, 3, 10, 12, 18, 28, 65, 255]), random(4), 0, 0])]),
	8: () => n32(),
	9: () => Buffer.concat([n32(), n32(), n32()]),
};

const framed = (type: number, payload: Buffer) =>
	Buffer.concat([u32(payload.length), Buffer.from([type, 0, 0, 0]), payload]);
const hello = (epoch: bigint, known: boolean) =>
	framed(1, Buffer.concat([u32(0x314e5444), u16(1, 1), u32(random(4), 0), u64(epoch), known ? secret : bytes(32)]));

function frame(): Buffer {
	const type = Number(pick(Object.keys(requests)));
	const right = framed(type, requests[type]!());
	if (chance(97)) return right;
	if (chance(30)) return bytes(1 + random(64));
	if (chance(30)) return right.subarray(0, random(right.length));
	right[random(right.length)] = random(256);
	return right;
}

let frames = 0;
let connections = 0;

/** One connection, from HELLO (or what is sent in its place) to its end. */
async function client(path: string, epoch: () => bigint): Promise<void> {
	connections++;
	const socket: Socket = connect(path);
	let open = true;
	socket
		.on("error", () => {})
		.on("close", () => {
			open = false;
		});
	if (chance(80)) socket.resume();
	const send = (what: Buffer) => {
		frames++;
		// In any pieces.
		const cut = chance(20) ? random(what.length) : what.length;
		socket.write(what.subarray(0, cut));
		if (cut < what.length) socket.write(what.subarray(cut));
	};
	if (chance(5)) await delay(random(200));
	if (chance(95)) send(hello(epoch(), chance(95)));
	for (let left = random(400); left > 0 && open; left--) {
		send(frame());
		if (socket.writableLength > 100_000 || left % 20 === 0) await delay(random(5));
	}
	if (chance(50)) socket.end();
	await delay(random(20));
	socket.destroy();
}

/** One session under fire until `until`. */
async function session(until: number): Promise<void> {
	const small = [record(Tag.segment, u64(4096)), record(Tag.quota, u64(65_536)), record(Tag.secret, secret)];
	const it = await launch({ argv: ["bash", "-c", PROGRAM], records: small });
	if (!it.ok) throw new Error(`not launched: ${JSON.stringify(it)}`);
	let epoch = 1n;
	const next = () => {
		if (chance(10)) epoch++;
		return epoch;
	};
	await Promise.all(
		Array.from({ length: 12 }, async () => {
			while (Date.now() < until && lives(it.holder)) await client(it.socket, next);
		}),
	);
	// A program that ended by a signal before it had its traps; a holder that died leaves no exit.
	if (!lives(it.holder)) {
		if (!exitFile(it).closed) throw new Error(`the holder died: ${it.dir}`);
		return;
	}
	const owner = await Client.open(it.socket, { epoch: Number(epoch) + 1, secret, attach: null });
	const facts = await owner.facts();
	// A signal may have ended the program, and something of it goes on.
	if (typeof facts.inputOffset !== "number" && facts.code !== "ended")
		throw new Error(`no facts: ${JSON.stringify(facts)}`);
	const ended = await owner.end(0);
	if (ended.done !== 0) throw new Error(`not ended: ${JSON.stringify(ended)}`);
	owner.close();
	await gone(it.holder);
	const exit = exitFile(it);
	if (!exit.closed) throw new Error(`not the last exit: ${JSON.stringify(exit)}`);
	for (const left of ["s", "secret", "exit.tmp"])
		if (existsSync(join(it.dir, left))) throw new Error(`left behind: ${left}`);
}

const over = Date.now() + seconds * 1000;
let sessions = 0;
while (Date.now() < over) {
	await session(Math.min(over, Date.now() + 10_000));
	sessions++;
}
await cleanUp();
console.error(`live fuzz: ${frames} frames over ${connections} connections to ${sessions} sessions`);
process.exit(0);
