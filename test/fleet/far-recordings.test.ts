// Recordings of a session of another machine: exported and replayed here as there, or refused with what to do.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { MAIN } from "../daemon/home.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };
/** Colours, a character in two writes, bytes that are no UTF-8, and a pause. */
const PRINTED = "\x1b[31mred\x1b[0m \xc3\xa9 \xff\xfe over\r\nlater\r\n";
const SHOW =
	"printf '\\033[31mred\\033[0m \\303'; sleep 0.1; printf '\\251 \\377\\376 over\\n'; sleep 0.4; printf 'later\\n'";

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("the recording of a session of another machine", () => {
	let directory: string;
	let hosts: TwoHosts;
	let client: Client;
	const start = (name: string, argv: readonly string[]) =>
		called(client, "start", { host: "beta", name, argv, until: { only: true }, ...patient });
	beforeAll(async () => {
		directory = mkdtempSync(join(tmpdir(), "dt-far-"));
		hosts = await TwoHosts.start();
		client = hosts.client;
		await start("shown", ["bash", "-c", SHOW]);
		await start("long", ["seq", "60000"]);
	});
	afterAll(async () => {
		await hosts?.[Symbol.asyncDispose]();
		if (directory !== undefined) rmSync(directory, { recursive: true });
	});

	/** Byte for byte, with what is said beside it. */
	const begin = (home: "alpha" | "beta", ...args: string[]) => {
		const { env, path: cwd } = hosts[home];
		const child = spawn(process.execPath, [MAIN, ...args], { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
		const [out, err]: [Buffer[], Buffer[]] = [[], []];
		child.stdout.on("data", (piece: Buffer) => out.push(piece));
		child.stderr.on("data", (piece: Buffer) => err.push(piece));
		const ended = once(child, "close").then(([code]) => ({
			code: code as number | null,
			out: Buffer.concat(out),
			err: Buffer.concat(err).toString(),
		}));
		return { ended, hasPrinted: () => out.length > 0 };
	};
	const line = (home: "alpha" | "beta", ...args: string[]) => begin(home, ...args).ended;
	/** Here what it is there. */
	const expectSame = async (session: string, ...[verb, ...flags]: [string, ...string[]]) => {
		const there = await line("beta", verb, session, ...flags);
		const here = await line("alpha", verb, `beta/${session}`, ...flags);
		expect({ ...here, out: here.out.toString("latin1") }).toEqual({ ...there, out: there.out.toString("latin1") });
		expect(here.code).toBe(0);
		return here.out;
	};

	test("it is replayed byte for byte, with its pauses", async () => {
		const printed = await expectSame("shown", "replay", "--speed", "100");
		expect(printed.toString("latin1")).toBe(PRINTED);
		expect((await expectSame("long", "replay", "--idle-limit", "1ms")).toString()).toContain("\r\n59999\r\n60000\r\n");
		const took = async (...flags: string[]) => {
			const began = performance.now();
			await line("alpha", "replay", "beta/shown", ...flags);
			return performance.now() - began;
		};
		const [slow, quick] = [await took("--speed", "0.2", "--idle-limit", "1500ms"), await took("--speed", "1000")];
		// 0.1 s and 0.4 s, five times as slow.
		expect(slow - quick).toBeGreaterThan(1500);
	});

	test("it is exported as on its own machine, to a file too", async () => {
		const cast = await expectSame("shown", "export");
		expect(JSON.parse(cast.toString().split("\n")[0]!)).toMatchObject({ version: 3, title: "shown" });
		expect((await expectSame("long", "export", "--format", "cast")).toString()).toContain("60000");
		await expectSame("long", "export", "--format", "text");
		const file = join(directory, "shown.cast");
		const { code, err } = await line("alpha", "export", "beta/shown", "--output", file);
		expect({ code, err }).toEqual({ code: 0, err: `Wrote ${file}\n` });
		expect(readFileSync(file)).toEqual(cast);
	});

	test("one of this machine is its own by whichever name", async () => {
		await called(client, "start", { name: "own", argv: ["echo", "mine"], until: { only: true }, ...patient });
		for (const session of ["own", "alpha/own"]) {
			expect(await hosts.alpha.cli("replay", session)).toEqual({ code: 0, stdout: "mine\r\n" });
			expect((await hosts.alpha.cli("export", session, "-f", "cast2")).stdout).toContain('"mine\\r\\n"');
		}
	});

	test("formats of files that only its machine has are refused, and no file is left", async () => {
		const file = join(directory, "refused");
		for (const format of ["cast2", "script"]) {
			const { code, out, err } = await line("alpha", "export", "beta/shown", "--format", format, "--output", file);
			expect({ code, out: out.toString() }).toEqual({ code: 8, out: "" });
			expect(err).toContain(`Format ${format} of a session of another machine is not available here.`);
			expect(err).toContain(`\`dialtone export shown --format ${format}\` on beta`);
		}
		expect([file, `${file}.timing`].filter((path) => existsSync(path))).toEqual([]);
	});

	test("a session that is not there, and a machine that is away, are said, and no file is left", async () => {
		const file = join(directory, "none");
		const refusals = async (session: string) => {
			const commands = [["replay"], ["export", "-o", file], ["export", "-f", "cast2", "-o", file]] as const;
			const told: unknown[] = [];
			for (const [verb, ...flags] of commands) {
				const { code, out } = await line("alpha", verb, session, ...flags, "--json");
				told.push([code, JSON.parse(out.toString()).fault]);
			}
			expect(existsSync(file)).toBe(false);
			return told;
		};
		expect(await refusals("beta/none")).toEqual(Array(3).fill([3, "session_not_found"]));
		// More than is on its way at once, played slowly enough to be under way when the machine is lost.
		await start("much", ["bash", "-c", "for i in 1 2 3 4 5 6; do seq 300000; sleep 0.2; done"]);
		const playing = begin("alpha", "replay", "beta/much", "--speed", "0.05", "--idle-limit", "5s");
		await until("it plays", async () => playing.hasPrinted());
		await using there = await hosts.beta.connect();
		process.kill((await there.status()).pid, "SIGKILL");
		const read = () => codeOf(called(client, "read", { session: "beta/shown" }));
		await until("its loss is noticed", async () => (await read()) === "host_unreachable");
		expect(await refusals("beta/shown")).toEqual(Array(3).fill([1, "host_unreachable"]));
		const { code, out, err } = await playing.ended;
		expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('Host "beta" is unreachable') });
		expect(out.length).toBeLessThan(6 * 2_000_000);
	});
});
