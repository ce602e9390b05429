// Connections break; what is told and typed does not.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { adopt } from "../../src/pty/adopt.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { until } from "../condition.ts";
import { sizeOf } from "./owner-process.ts";
import { compiled, Received, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Stands between us and a holder, and cuts the wire after some thousand bytes, either way, in the middle of whatever. */
async function brittle(
	socketPath: string,
	mostBytes: number,
): Promise<{ path: string; cuts: () => number; close: () => void }> {
	const path = join(stage.home, `${randomBytes(4).toString("hex")}.sock`);
	const open = new Set<Socket>();
	let cuts = 0;
	const server = createServer((near) => {
		const far = connect({ path: socketPath });
		let left = randomInt(1000, mostBytes);
		const both = [near, far];
		const cut = () => both.forEach((socket) => void socket.destroy());
		for (const [from, to] of [both, [far, near]] as [Socket, Socket][]) {
			open.add(from);
			from.on("error", cut).on("close", cut);
			from.on("data", (bytes) => {
				to.write(bytes.subarray(0, left));
				left -= bytes.length;
				if (left > 0) return;
				cuts++;
				// What was passed on arrives; then the wire is cut.
				for (const socket of both) socket.destroySoon();
			});
		}
	});
	await new Promise<void>((resolve) => server.listen(path, resolve));
	const close = () => {
		server.close();
		for (const socket of open) socket.destroy();
	};
	return { path, cuts: () => cuts, close };
}

describe("a connection that breaks under a living holder is taken up again where it broke", () => {
	test("output: no gap, no repetition", async () => {
		const { pty, spec } = await stage.start(`stty -opost; read go; ${compiled("burst")} 8000000; read stay`);
		const wire = await brittle(spec.socketPath, 700_000);
		const second = await adopt({ ...spec, socketPath: wire.path, from: 0 });
		if (!(second instanceof HolderPty)) throw new Error("not running");
		const received = new Received(second);
		await pty.write(Buffer.from("go\n"));
		await until("all of it was received", () => received.count >= 8_000_003);
		expect(wire.cuts()).toBeGreaterThan(10);
		const expected = Buffer.from(Uint8Array.from({ length: 8_000_000 }, (_, i) => 33 + ((i * 7) % 94)));
		expect(sha256(received.bytes.subarray(-8_000_000))).toBe(sha256(expected));
		await second[Symbol.asyncDispose]();
		wire.close();
	});

	test("input: each write once, also those whose answer was lost", async () => {
		const arrived = join(stage.home, "arrived");
		const { spec, received } = await stage.start(`stty raw -echo; printf READY; cat > ${arrived}`);
		await received.says("READY");
		const wire = await brittle(spec.socketPath, 60_000);
		const second = await adopt({ ...spec, socketPath: wire.path, from: "end" });
		if (!(second instanceof HolderPty)) throw new Error("not running");
		const pieces = Array.from({ length: 150 }, (_, i) => Buffer.from(`${i}:${"x".repeat(randomInt(6000))};`));
		await Promise.all(pieces.map((piece) => second.write(piece)));
		const typed = Buffer.concat(pieces);
		await until("all of it arrived", () => sizeOf(arrived) >= typed.length);
		expect(wire.cuts()).toBeGreaterThan(3);
		expect(sha256(readFileSync(arrived))).toBe(sha256(typed));
		await second[Symbol.asyncDispose]();
		wire.close();
	});
});

test("R3.6: input whose answer was lost with the holder may have been typed, and is not said to be untyped", async () => {
	const { pty, spec, received } = await stage.start("cat");
	let deaf = false;
	const path = join(stage.home, "deaf.sock");
	const sockets: Socket[] = [];
	const server = createServer((near) => {
		const far = connect({ path: spec.socketPath });
		sockets.push(near, far);
		for (const socket of [near, far]) socket.on("error", () => {}); // ended by the test
		near.pipe(far);
		far.on("data", (bytes) => !deaf && near.write(bytes));
	});
	await new Promise<void>((resolve) => server.listen(path, resolve));
	const second = await adopt({ ...spec, socketPath: path, from: "end" });
	if (!(second instanceof HolderPty)) throw new Error("not running");
	deaf = true;
	const written = second.write(Buffer.from("typed\n")).catch((error: unknown) => error);
	await received.says("typed");
	process.kill(pty.holderPid, "SIGKILL");
	server.close();
	for (const socket of sockets) socket.destroy();
	expect(await written).toMatchObject({ sent: true });
	await second[Symbol.asyncDispose]();
});

describe("two owners", () => {
	test("a newer owner fences the older, which goes on listening but can no longer type", async () => {
		const { pty, spec, received } = await stage.start('stty -opost; while read line; do echo "<$line>"; done');
		await pty.write(Buffer.from("one\n"));
		await received.says("<one>");
		let fenced = false;
		pty.onFenced(() => {
			fenced = true;
		});
		const second = await adopt({ ...spec, epoch: 2n, from: 0 });
		if (!(second instanceof HolderPty)) throw new Error("not running");
		stage.keep(second);
		const again = new Received(second);
		await second.write(Buffer.from("two\n"));
		await again.says("<two>");
		await received.says("<two>");
		await until("the first owner knows", () => fenced);
		await expect(pty.write(Buffer.from("three\n"))).rejects.toMatchObject({ code: "fenced" });
		expect(received.text).toBe(again.text);
	});
});
