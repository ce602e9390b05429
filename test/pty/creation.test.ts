// R3.3: everything that can fail when a terminal is made, provoked for real.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PtyCreationError, PtyError } from "../../src/pty/errors.ts";
import { type LaunchSpec, launch } from "../../src/pty/launch.ts";
import type { Exhaustion } from "../fixtures/exhaustion.ts";
import type { FullDisk } from "../fixtures/full-disk.ts";
import { needing } from "../programs.ts";
import { compiled, root, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** Fails to start, and nothing is left of it: no file, no socket. */
async function refusal(argv: readonly string[], changes: Partial<LaunchSpec> = {}): Promise<PtyCreationError> {
	const spec = await stage.spec(argv, changes);
	const error = await launch(spec).then(
		(pty) => {
			stage.keep(pty);
			throw new Error("it was started");
		},
		(error: unknown) => error,
	);
	expect(error).toBeInstanceOf(PtyCreationError);
	expect(error).toBeInstanceOf(PtyError);
	expect(await readdir(spec.directory)).toEqual([]);
	expect(await readdir(stage.places.run)).toEqual([]);
	return error as PtyCreationError;
}

describe("R3.3 a program that cannot be started says at which stage, and why", () => {
	test("there is no such program", async () => {
		expect(await refusal(["no-such-program"])).toMatchObject({ stage: "exec", code: "ENOENT", errno: 2 });
		expect(await refusal(["/no/such/program"])).toMatchObject({ stage: "exec", code: "ENOENT" });
	});

	test("it may not be executed", async () => {
		const file = join(stage.home, "plain-file");
		writeFileSync(file, "#!/bin/sh\n", { mode: 0o644 });
		expect(await refusal([file])).toMatchObject({ stage: "exec", code: "EACCES" });
		expect(await refusal(["/"])).toMatchObject({ stage: "exec", code: "EACCES" });
	});

	test("the working directory is none, or not there", async () => {
		expect(await refusal(["true"], { cwd: "/etc/passwd" })).toMatchObject({ stage: "chdir", code: "ENOTDIR" });
		expect(await refusal(["true"], { cwd: "/no/such" })).toMatchObject({ stage: "chdir", code: "ENOENT" });
	});

	test("the arguments are too long", async () => {
		expect(await refusal(["true", "x".repeat(200_000)])).toMatchObject({ stage: "exec", code: "E2BIG" });
	});

	test("an argument holds a NUL", async () => {
		expect(await refusal(["echo", "a\0b"])).toMatchObject({ stage: "block", code: "EINVAL" });
	});

	test("the session's directory is not there", async () => {
		await expect(launch({ ...(await stage.spec(["true"])), directory: "/no/such" })).rejects.toMatchObject({
			stage: "log",
			code: "ENOENT",
		});
	});

	test("the socket's directory is not there", async () => {
		expect(await refusal(["true"], { socketPath: "/no/such/x.sock" })).toMatchObject({
			stage: "socket",
			code: "ENOENT",
		});
	});

	describe("and the holder itself", () => {
		test("is not built", async () => {
			const error = await refusal(["true"], { holder: "/no/such/holder" });
			expect(error).toMatchObject({ stage: "launch", code: "ENOENT" });
			expect(error.message).toContain("npm run setup");
		});

		test("is something else that does not answer", async () => {
			expect(await refusal(["true"], { holder: "/bin/true" })).toMatchObject({ stage: "launch", code: "EPROTO" });
		});

		test("may not have another process", needing("root"), async () => {
			const { holder, places } = await stage.asNobody("--nproc=0:0");
			const spec = { ...(await stage.spec(["true"])), ...places, holder };
			await expect(launch(spec)).rejects.toMatchObject({ stage: "fork", code: "EAGAIN", name: "PtyCreationError" });
			expect(await readdir(places.directory)).toEqual([]);
			expect(await readdir(dirname(places.socketPath))).toEqual([]);
		});
	});
});

/** Runs a fixture in a shell line of its own; `$RUN` is the fixture. */
async function inside<T>(shell: string, fixture: string, ...args: readonly string[]): Promise<T> {
	const run = [process.execPath, "--import", "tsx", join(root, "test/fixtures", fixture), ...args];
	const command = shell.replace("$RUN", run.map((word) => `'${word}'`).join(" "));
	const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: root, maxBuffer: 1 << 24 });
	return JSON.parse(stdout) as T;
}

describe("when the system is short of something, the others go on", () => {
	test("terminals", needing("mounts"), async () => {
		const line =
			"mount -t devpts -o newinstance,max=5,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx && $RUN";
		const told = await inside<Exhaustion>(`unshare -m sh -c "${line}"`, "exhaustion.ts", stage.home);
		expect(told).toMatchObject({
			failure: { name: "PtyCreationError", stage: "pty", code: "ENOSPC" },
			recovered: true,
		});
		expect(told.started).toBe(5);
		expect(told.answered).toBe(5);
	});

	test("descriptors", async () => {
		const told = await inside<Exhaustion>("exec $RUN", "exhaustion.ts", stage.home, "60");
		expect(told).toMatchObject({ failure: { name: "PtyCreationError", code: "EMFILE" }, recovered: true });
		expect(told.started).toBeGreaterThan(5);
		expect(told.answered).toBe(told.started);
	});

	test("disk", needing("mounts"), async () => {
		const [tiny, roomy] = [join(stage.home, "tiny"), join(stage.home, "roomy")];
		for (const home of [tiny, roomy]) mkdirSync(home, { mode: 0o700 });
		const line = `mount -t tmpfs -o size=4m,mode=700 tmpfs ${tiny} && $RUN`;
		const told = await inside<FullDisk>(`unshare -m sh -c "${line}"`, "full-disk.ts", tiny, roomy, compiled("burst"));
		expect(told.exit).toMatchObject({ code: 5, size: 20_000_000, reason: "exit" });
		expect(told.events).toContain("log_lost");
		expect(told.exit.lost).toBe(20_000_000 - told.kept);
		expect(told.received + told.gaps).toBe(20_000_000);
		expect(told.exact).toBe(true);
		expect(told.kept).toBeGreaterThan(3_000_000);
		expect(told.otherExit).toMatchObject({ code: 6, size: 20_000_000, lost: 0 });
		expect(told.otherReceived).toBe(20_000_000);
		expect(told.refused).toMatchObject({ code: "ENOSPC" });
	});
});
