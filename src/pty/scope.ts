// Where systemd runs, a daemon and each holder get a scope of their own: the cgroup they
// were started in belongs to a login or a service, and is killed with it.
//
// Asked for after the start, so that no start waits for it: the manager moves processes
// that run already. It is spoken to on its private socket, in the one message that is
// needed; busctl would be a process of 10 ms for each session.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { userInfo } from "node:os";
import { descendants } from "./process-tree.ts";
import { type WaitScope, wait } from "./wait.ts";

/** The manager answers in milliseconds; what it does not answer by then stays where it is. */
const ANSWER_MS = 10_000;
/** Processes that were started while others were moved are moved in the next round. */
const ROUNDS = 3;

/** Settles when the process and everything below it are in the scope, or cannot be. Does nothing without systemd. */
export async function giveScope(name: string, pid: number): Promise<void> {
	const socket = managerSocket();
	if (socket === null) return;
	const unit = `${name}.scope`;
	const propertiesFor = (pids: readonly number[]): readonly Property[] => [
		["PIDs", "au", pids],
		["Description", "s", "A Dialtone session: its holder and its program"],
		["CollectMode", "s", "inactive-or-failed"],
		["Delegate", "b", true], // so that we may move processes into it
	];
	// The manager refuses all if one of them has ended meanwhile: then it is asked again, at last for the first alone.
	for (let round = 0; ; round++) {
		const below = round < ROUNDS ? descendants(pid) : [];
		if (await startUnit(socket, unit, propertiesFor([pid, ...below]))) break;
		if (round === ROUNDS) return;
	}
	for (let round = 0; round < ROUNDS; round++) {
		const outside = descendants(pid).filter((member) => !isIn(member, unit));
		if (outside.length === 0) return;
		for (const member of outside) moveBeside(pid, member);
	}
}

/** Into the same cgroup, if it can be: a process that was started while the others were moved. */
function moveBeside(pid: number, member: number): void {
	const path = /^0::(.*)$/m.exec(cgroupsOf(pid))?.[1];
	try {
		writeFileSync(`/sys/fs/cgroup${path}/cgroup.procs`, String(member));
	} catch {
		// It has ended, or this is an older hierarchy: it stays where it is.
	}
}

/**
 * The private socket of the manager in whose scopes we outlive a logout; null where there is none. A user's manager ends
 * at the last logout unless the user lingers: then what a login started is better off where it is.
 */
function managerSocket(): string | null {
	if (!existsSync("/run/systemd/system")) return null;
	const uid = process.getuid?.() ?? 0;
	if (uid === 0) return "/run/systemd/private";
	const lingers = existsSync(`/var/lib/systemd/linger/${userInfo().username}`);
	if (!lingers && !cgroupsOf(process.pid).includes(`/user@${uid}.service/`)) return null;
	return `/run/user/${uid}/systemd/private`;
}

const isIn = (pid: number, unit: string) => cgroupsOf(pid).split(/[/\n]/).includes(unit);

function cgroupsOf(pid: number): string {
	try {
		return readFileSync(`/proc/${pid}/cgroup`, "utf8");
	} catch {
		return ""; // gone
	}
}

type Property = readonly [name: string, type: "s" | "au" | "b", value: string | readonly number[] | true];

/** Whether the manager has done it. */
function startUnit(path: string, unit: string, properties: readonly Property[]): Promise<boolean> {
	const start = (scope: WaitScope<boolean>) => {
		const socket = connect(path).unref();
		scope.own(() => socket.destroy());
		scope.after(ANSWER_MS, () => scope.settle(false));
		let received = Buffer.alloc(0);
		socket
			.on("error", () => scope.settle(false)) // no manager, or not ours: the process stays where it is
			.on("close", () => scope.settle(false))
			.on("data", (bytes) => {
				received = Buffer.concat([received, bytes]);
				const answer = answerIn(received);
				if (answer !== null) scope.settle(answer);
			});
		const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
		socket.write(`\0AUTH EXTERNAL ${uid}\r\nBEGIN\r\n`);
		socket.write(startTransientUnit(unit, properties));
	};
	return wait([{ start }]);
}

// D-Bus, as far as one call needs it: https://dbus.freedesktop.org/doc/dbus-specification.html
const METHOD_RETURN = 2;
const ERROR = 3;
const HEADER_BYTES = 16;

function startTransientUnit(unit: string, properties: readonly Property[]): Buffer {
	const body = new Encoder().text(unit).text("fail").properties(properties).properties([]);
	const fields = new Encoder();
	for (const [code, type, value] of [
		[1, "o", "/org/freedesktop/systemd1"],
		[2, "s", "org.freedesktop.systemd1.Manager"],
		[3, "s", "StartTransientUnit"],
		[8, "g", "ssa(sv)a(sa(sv))"],
	] as const) {
		fields.align(8).byte(code).signature(type);
		if (type === "g") fields.signature(value);
		else fields.text(value);
	}
	const fixed = new Encoder().byte(0x6c).byte(1).byte(0).byte(1).u32(body.length).u32(1).u32(fields.length);
	return Buffer.concat([fixed.bytes, fields.align(8).bytes, body.bytes]);
}

class Encoder {
	readonly #bytes: number[] = [];

	get length(): number {
		return this.#bytes.length;
	}
	get bytes(): Buffer {
		return Buffer.from(this.#bytes);
	}
	align(size: number): this {
		while (this.#bytes.length % size !== 0) this.#bytes.push(0);
		return this;
	}
	byte(value: number): this {
		this.#bytes.push(value);
		return this;
	}
	u32(value: number): this {
		this.align(4);
		for (let shift = 0; shift < 32; shift += 8) this.#bytes.push((value >>> shift) & 0xff);
		return this;
	}
	signature(text: string): this {
		this.#bytes.push(text.length, ...Buffer.from(text), 0);
		return this;
	}
	text(text: string): this {
		const bytes = Buffer.from(text);
		this.u32(bytes.length).#bytes.push(...bytes, 0);
		return this;
	}
	properties(properties: readonly Property[]): this {
		return this.#array(8, () => {
			for (const [name, type, value] of properties) {
				this.align(8).text(name).signature(type);
				if (typeof value === "string") this.text(value);
				else if (value === true) this.u32(1);
				else this.#array(4, () => value.forEach((each) => void this.u32(each)));
			}
		});
	}
	/** Its length counts from the first element, after the padding. */
	#array(alignment: number, elements: () => void): this {
		const at = this.u32(0).length - 4;
		const from = this.align(alignment).length;
		elements();
		const length = new Encoder().u32(this.length - from).bytes;
		for (const [index, byte] of length.entries()) this.#bytes[at + index] = byte;
		return this;
	}
}

/** Whether the call succeeded; null while the answer is missing, or the news that the job that it began is done. */
function answerIn(received: Buffer): boolean | null {
	let returned = false;
	// What precedes it is the end of the authentication: a line.
	for (let at = received.indexOf("\r\n") + 2; at >= 2 && received.length - at >= HEADER_BYTES; ) {
		const fields = received.readUInt32LE(at + 12);
		const end = at + HEADER_BYTES + Math.ceil(fields / 8) * 8 + received.readUInt32LE(at + 4);
		const type = received[at + 1];
		if (type === ERROR) return false;
		if (type === METHOD_RETURN) returned = true;
		if (returned && received.subarray(at, end).includes("JobRemoved\0")) return true;
		at = end;
	}
	return null;
}
