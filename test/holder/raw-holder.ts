// A holder spoken to in raw frames: docs/holder.md and nothing between. Kept
// apart from src/pty, so that the two sides of the contract are tested by
// different hands.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const HOLDER = process.env.DIALTONE_TEST_HOLDER ?? join(import.meta.dirname, "../../build/dialtone-holder");
/** What runs the holder in every test: valgrind, when scripts/check-holder.mjs asks for it. */
const THROUGH = (process.env.DIALTONE_TEST_THROUGH ?? "").split(" ").filter(Boolean);
/** A holder with a sanitizer or under valgrind: fewer repetitions, and its memory is not its own. */
export const SLOWED = process.env.DIALTONE_TEST_SLOWED === "1";
export const END_OF_LOG = 0xffff_ffff_ffff_ffffn;
export const ALL = 0xffff_ffff_ffff_fffen;

export const Tag = {
	protocol: 1,
	dir: 2,
	socket: 3,
	arg: 4,
	env: 5,
	cwd: 6,
	size: 7,
	limit: 8,
	identity: 9,
	quota: 10,
	segment: 11,
	program: 12,
	flags: 13,
	wall: 14,
	umask: 15,
	rlimit: 16,
	nice: 17,
	secret: 18,
} as const;

export function record(tag: number, value: Uint8Array | string): Buffer {
	const bytes = Buffer.from(value as string);
	const header = Buffer.alloc(8);
	header.writeUInt16LE(tag, 0);
	header.writeUInt32LE(bytes.length, 4);
	return Buffer.concat([header, bytes]);
}

export const u16 = (...values: number[]) => Buffer.from(new Uint16Array(values).buffer);
export const u32 = (...values: number[]) => Buffer.from(new Uint32Array(values).buffer);
export const u64 = (...values: (number | bigint)[]) => Buffer.from(new BigUint64Array(values.map(BigInt)).buffer);

export interface Launch {
	argv: string[];
	cwd?: string;
	env?: Record<string, string>;
	/** Further records of the launch block. */
	records?: Buffer[];
	/** What runs the holder, such as unshare. */
	through?: string[];
	/** Another copy of it. */
	holder?: string;
	dir?: string;
	/** Its socket, if not in the session's directory. */
	socket?: string;
}

export interface Launched {
	ok: boolean;
	holder: number;
	pid: number;
	pts: string;
	stage: string;
	errno: number;
	code: string;
	message: string;
	dir: string;
	socket: string;
}

const made: string[] = [];
export function sessionDirectory(): string {
	const dir = mkdtempSync(join(tmpdir(), "dth-"));
	made.push(dir);
	return dir;
}
/** What only a hang takes longer than, also with a sanitizer, under valgrind and on a busy machine. */
const HANG_MS = 180_000;

const holders: number[] = [];
/** For afterEach: ends every session that the tests of this file started and removes what they made. */
export async function cleanUp(): Promise<void> {
	for (const pid of holders.splice(0)) {
		if (lives(pid)) process.kill(pid, "SIGTERM");
		await gone(pid);
	}
	for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
}

export function launchBlock(dir: string, launch: Launch): Buffer {
	const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", TERM: "xterm-256color", LANG: "C.UTF-8", ...launch.env };
	return Buffer.concat([
		record(Tag.protocol, u32(1)),
		record(Tag.dir, dir),
		record(Tag.socket, launch.socket ?? join(dir, "s")),
		...launch.argv.map((arg) => record(Tag.arg, arg)),
		...Object.entries(env).map(([key, value]) => record(Tag.env, `${key}=${value}`)),
		record(Tag.cwd, launch.cwd ?? "/"),
		...(launch.records ?? []),
		record(0, ""),
		KEEP,
	]);
}

/** Behind the block, or later: the session is to stay. Without it, end of file means that the launch was given up. */
export const KEEP = Buffer.from([1]);

export async function say(
	block: Uint8Array,
	through: string[] = [],
	holder = HOLDER,
): Promise<{ line: string; status: number | null }> {
	const [program = holder, ...args] = [...through, ...THROUGH, holder];
	const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
	child.stdin.on("error", () => {}); // it may refuse before it has read all
	child.stdin.end(block);
	let line = "";
	child.stdout.on("data", (data) => {
		line += data;
	});
	const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
	return { line, status };
}

export async function launch(options: Launch): Promise<Launched> {
	const dir = options.dir ?? sessionDirectory();
	const { line } = await say(launchBlock(dir, options), options.through, options.holder);
	const launched: Launched = { ...JSON.parse(line), dir, socket: options.socket ?? join(dir, "s") };
	if (launched.ok) holders.push(launched.holder);
	return launched;
}

export const exitFile = (session: { dir: string }) => JSON.parse(readFileSync(join(session.dir, "exit"), "utf8"));

/** Alive, and not a zombie that its parent has yet to notice. */
export function lives(pid: number): boolean {
	try {
		return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return false; // no such process
	}
}

/** Waits until a process that is not our child is gone. */
export async function gone(pid: number): Promise<void> {
	while (lives(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The processes that have something in this directory open, as far as they may be looked at. */
export function processesIn(dir: string): number[] {
	const orNothing = <T>(read: () => T, nothing: T): T => {
		try {
			return read();
		} catch {
			return nothing; // gone meanwhile, or another user's
		}
	};
	const filesOf = (pid: string) =>
		orNothing(() => readdirSync(`/proc/${pid}/fd`), []).map((fd) =>
			orNothing(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ""),
		);
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && filesOf(name).some((file) => file.startsWith(dir)))
		.map(Number);
}

export type Frame = { type: number; payload: Buffer };
const Type = {
	welcome: 0x81,
	output: 0x82,
	gap: 0x83,
	done: 0x84,
	refused: 0x85,
	facts: 0x86,
	event: 0x87,
	exit: 0x88,
	fenced: 0x89,
};

// biome-ignore lint/suspicious/noExplicitAny: what the holder says is what the tests are about
type Json = any;

/** One connection. Output is gathered, and its offsets are checked: no byte twice, none skipped but by a GAP. */
export class Client {
	readonly socket: Socket;
	readonly frames: Frame[] = [];
	readonly events: Json[] = [];
	readonly pushed: Json[] = [];
	readonly gaps: { from: number; to: number }[] = [];
	#chunks: Buffer[] = [];
	bytes = 0;
	cursor = 0;
	exit: Json = null;
	exits: Json[] = [];
	fencedBy: bigint | null = null;
	closed = false;
	keepOutput = true;
	#pending: Buffer[] = [];
	#have = 0;
	#answers = new Map<number, Frame>();
	#watchers = new Set<() => void>();
	#request = 0;

	constructor(path: string) {
		this.socket = connect(path);
		this.socket.on("data", (data) => this.#receive(data));
		this.socket.on("error", () => {});
		this.socket.on("close", () => {
			this.closed = true;
			this.#stir();
		});
	}

	static async open(
		path: string,
		{ owner = true, epoch = 1, attach = 0n as bigint | null, secret = Buffer.alloc(0) } = {},
	): Promise<Client & { welcome: Json }> {
		const client = new Client(path);
		client.send(0x01, Buffer.concat([u32(0x314e5444), u16(1, 1), u32(owner ? 1 : 0, 0), u64(epoch), secret]));
		const first = await client.frame((frame) => frame.type === Type.welcome || frame.type === Type.refused);
		if (first.type === Type.refused) throw new Error(first.payload.subarray(8).toString());
		if (attach !== null) client.attach(attach);
		return Object.assign(client, { welcome: JSON.parse(first.payload.toString()) });
	}

	send(type: number, payload: Uint8Array): void {
		const header = Buffer.alloc(8);
		header.writeUInt32LE(payload.length, 0);
		header.writeUInt8(type, 4);
		this.socket.write(Buffer.concat([header, payload]));
	}

	attach(from: bigint, until: bigint = ALL): void {
		if (from !== END_OF_LOG) this.cursor = Number(from);
		else this.cursor = -1;
		this.send(0x02, u64(from, until));
	}
	credit(until: number): void {
		this.send(0x03, u64(until));
	}

	async ask(type: number, make: (request: number) => Uint8Array): Promise<Json> {
		const request = ++this.#request;
		this.send(type, make(request));
		await this.until(() => this.#answers.has(request));
		const frame = this.#answers.get(request)!;
		if (frame.type === Type.done) {
			const done = Number(frame.payload.readBigUInt64LE(8));
			return frame.payload.readUInt32LE(4) === 1 ? { done, unsaved: true } : { done };
		}
		const json = JSON.parse(frame.payload.subarray(8).toString());
		return frame.type === Type.refused ? { refused: json.code, ...json } : json;
	}
	type(
		text: Uint8Array | string,
		{ offset = END_OF_LOG, id = Buffer.alloc(16), priority = false } = {},
	): Promise<Json> {
		return this.ask(0x04, (request) =>
			Buffer.concat([u32(request, priority ? 1 : 0), u64(offset), id, Buffer.from(text as string)]),
		);
	}
	resize(cols: number, rows: number): Promise<Json> {
		return this.ask(0x05, (request) => Buffer.concat([u32(request), u16(cols, rows, 0, 0)]));
	}
	signal(signal: number, target: 0 | 1 | 2): Promise<Json> {
		return this.ask(0x06, (request) => Buffer.concat([u32(request), Buffer.from([signal, target, 0, 0])]));
	}
	end(graceMs: number): Promise<Json> {
		return this.ask(0x07, (request) => u32(request, graceMs));
	}
	facts(): Promise<Json> {
		return this.ask(0x08, (request) => u32(request));
	}
	watch(on: boolean, busyMs = 0): Promise<Json> {
		return this.ask(0x09, (request) => u32(request, on ? 1 : 0, busyMs));
	}

	share(nice: number): void {
		this.send(0x0a, u32(nice, 0));
	}

	get output(): Buffer {
		if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
		return this.#chunks[0] ?? Buffer.alloc(0);
	}
	get text(): string {
		return this.output.toString();
	}

	/** Waits for a condition; fails with what it saw when the connection ends first, or when that takes as long as only a hang does. */
	until(met: () => boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			const settle = (why?: string) => {
				this.#watchers.delete(look);
				clearTimeout(timer);
				if (why === undefined) resolve();
				else reject(new Error(`${why}: ${met}; output: ${JSON.stringify(this.text.slice(-300))}`));
			};
			const look = () => {
				if (met()) settle();
				else if (this.closed) settle("the connection ended first");
			};
			const timer = setTimeout(() => settle(`waited ${HANG_MS} ms in vain`), HANG_MS);
			this.#watchers.add(look);
			look();
		});
	}
	async frame(wanted: (frame: Frame) => boolean): Promise<Frame> {
		await this.until(() => this.frames.some(wanted));
		return this.frames.find(wanted)!;
	}
	async exited(): Promise<Json> {
		await this.until(() => this.exit?.closed);
		return this.exit;
	}
	close(): void {
		this.socket.destroy();
	}

	#stir(): void {
		for (const look of [...this.#watchers]) look();
	}
	#receive(data: Buffer): void {
		this.#pending.push(data);
		this.#have += data.length;
		while (this.#have >= 8) {
			let first = this.#pending[0]!;
			if (first.length < 8) first = this.#join();
			const length = first.readUInt32LE(0);
			if (this.#have < 8 + length) break;
			if (first.length < 8 + length) first = this.#join();
			this.#take({ type: first[4]!, payload: first.subarray(8, 8 + length) });
			this.#pending[0] = first.subarray(8 + length);
			if (this.#pending[0].length === 0) this.#pending.shift();
			this.#have -= 8 + length;
		}
		this.#stir();
	}
	#join(): Buffer {
		this.#pending = [Buffer.concat(this.#pending)];
		return this.#pending[0]!;
	}
	#take(frame: Frame): void {
		const { type, payload } = frame;
		if (type === Type.output) {
			const offset = Number(payload.readBigUInt64LE(0));
			if (this.cursor === -1) this.cursor = offset;
			if (offset !== this.cursor) throw new Error(`output at ${offset} while the cursor is at ${this.cursor}`);
			this.cursor += payload.length - 8;
			this.bytes += payload.length - 8;
			if (this.keepOutput) this.#chunks.push(Buffer.from(payload.subarray(8)));
			return;
		}
		if (type === Type.gap) {
			const gap = { from: Number(payload.readBigUInt64LE(0)), to: Number(payload.readBigUInt64LE(8)) };
			if (gap.from !== this.cursor) throw new Error(`a gap from ${gap.from} while the cursor is at ${this.cursor}`);
			this.cursor = gap.to;
			this.gaps.push(gap);
		} else if (type === Type.event) this.events.push(JSON.parse(payload.toString()));
		else if (type === Type.exit) {
			this.exit = JSON.parse(payload.toString());
			this.exits.push(this.exit);
		} else if (type === Type.fenced) this.fencedBy = payload.readBigUInt64LE(0);
		else if (type === Type.facts && payload.readUInt32LE(0) === 0)
			this.pushed.push(JSON.parse(payload.subarray(8).toString()));
		else if (type === Type.done || type === Type.refused || type === Type.facts)
			this.#answers.set(payload.readUInt32LE(0), frame);
		this.frames.push({ type, payload: Buffer.from(payload) });
	}
}
