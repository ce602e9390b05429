// H11: what the holder is built with, and what may act on it.
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { Client, cleanUp, HOLDER, launch, lives, SLOWED } from "./raw-holder.ts";

afterEach(cleanUp);

const [EXECUTABLE_AT_ANY_ADDRESS, GNU_STACK, GNU_RELRO, DYNAMIC] = [3, 0x6474e551, 0x6474e552, 2];
const [DT_FLAGS, DF_BIND_NOW] = [30n, 8n];

/** The program headers and the flags of the dynamic section, as the loader reads them. */
function elf(path: string) {
	const file = readFileSync(path);
	const [offset, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)];
	const headers = Array.from({ length: count }, (_, i) => {
		const at = offset + i * size;
		const [type, flags] = [file.readUInt32LE(at), file.readUInt32LE(at + 4)];
		return { type, flags, from: Number(file.readBigUInt64LE(at + 8)), bytes: Number(file.readBigUInt64LE(at + 32)) };
	});
	const dynamic = headers.find(({ type }) => type === DYNAMIC);
	let flags = 0n;
	for (let at = dynamic?.from ?? 0; dynamic !== undefined && at < dynamic.from + dynamic.bytes; at += 16)
		if (file.readBigUInt64LE(at) === DT_FLAGS) flags = file.readBigUInt64LE(at + 8);
	return { file, type: file.readUInt16LE(16), headers, flags };
}

describe.skipIf(SLOWED)("the program", () => {
	test("is loaded at a random address, with read-only relocations, no executable stack, and checks of stack and buffers", () => {
		const { file, type, headers, flags } = elf(HOLDER);
		expect(type).toBe(EXECUTABLE_AT_ANY_ADDRESS);
		expect(headers.find((header) => header.type === GNU_STACK)?.flags).toBe(6); // readable and writable only
		expect(headers.some((header) => header.type === GNU_RELRO)).toBe(true);
		expect(flags & DF_BIND_NOW).toBe(DF_BIND_NOW);
		for (const message of ["stack smashing detected", "buffer overflow detected"])
			expect(file.includes(message)).toBe(true);
		expect(headers.every((header) => (header.flags & 3) !== 3)).toBe(true); // none is writable and executable
		// Where a call or jump may land is marked, in our own code: the C library may be without.
		if (process.arch === "x64") expect(file.toString("latin1").split("\xf3\x0f\x1e\xfa").length).toBeGreaterThan(50);
	});
});

describe("only CHLD, TERM and what cannot be caught act on it", () => {
	const [BUS, FPE, KILL, SEGV, TERM, CHLD, STOP] = [7, 8, 9, 11, 15, 17, 19];
	const taken = [KILL, TERM, CHLD, STOP, ...(SLOWED ? [BUS, FPE, SEGV] : [])]; // a sanitizer takes three for itself
	const others = Array.from({ length: 64 }, (_, i) => i + 1).filter((it) => !taken.includes(it));

	test("every other signal leaves it as it is; its program has all of them as every program has", async () => {
		const session = await launch({ argv: ["cat"] });
		const client = await Client.open(session.socket);
		for (const signal of others) {
			process.kill(session.holder, signal);
			await client.type(`after ${signal}\n`);
			await client.until(() => client.text.includes(`after ${signal}\r\nafter ${signal}\r\n`));
		}
		expect(readFileSync(`/proc/${session.pid}/status`, "utf8")).toMatch(/SigBlk:\t0+\nSigIgn:\t0+\nSigCgt:\t0+\n/);
		process.kill(session.holder, "SIGTERM");
		expect(await client.exited()).toMatchObject({ reason: "end" });
		expect(lives(session.pid)).toBe(false);
	});

	const limit = (pid: number, name: string) =>
		new RegExp(`^${name}\\s+(\\S+)\\s+(\\S+)`, "m").exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.slice(1, 3);
	const limits = ["--cpu=1:20", "--fsize=1000:40000000", "--nproc=4000:5000"];

	test.skipIf(SLOWED)("soft limits of its launcher are the program's, not its own", async () => {
		const session = await launch({ argv: ["cat"], through: ["prlimit", ...limits] });
		for (const name of ["Max cpu time", "Max file size", "Max processes"]) {
			const [soft, hard] = limit(session.holder, name)!;
			expect(soft).toBe(hard); // and that one only where it may not lift it
		}
		expect(limit(session.pid, "Max cpu time")).toEqual(["1", "20"]);
		expect(limit(session.pid, "Max file size")).toEqual(["1000", "40000000"]);
		expect(limit(session.pid, "Max processes")).toEqual(["4000", "5000"]);
	});
});
