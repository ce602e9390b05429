// H8: the next owner presents the secret that the session was launched with.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { adopt } from "../../src/pty/adopt.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { until } from "../condition.ts";
import { cleanUp, launch as launchRaw } from "../holder/raw-holder.ts";
import { Received, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(async () => {
	await stage[Symbol.asyncDispose]();
	await cleanUp();
});

async function adopted(options: { directory: string; socketPath: string }): Promise<HolderPty> {
	const found = await adopt({ ...options, epoch: 2n, from: 0 });
	if (!(found instanceof HolderPty)) throw new Error("it was not adopted");
	return stage.keep(found);
}

test("it is beside the log, for this user only, in neither argv nor environment, and gone with the holder", async () => {
	const { pty, spec } = await stage.start(["cat"]);
	const file = join(spec.directory, "secret");
	const secret = readFileSync(file);
	expect(secret).toHaveLength(32);
	expect(statSync(file).mode & 0o777).toBe(0o600);
	for (const pid of [pty.pid, pty.holderPid])
		for (const name of ["cmdline", "environ"])
			expect(readFileSync(`/proc/${pid}/${name}`).includes(secret)).toBe(false);
	const next = await adopted(spec);
	await next.write(Buffer.from("mine\n"));
	await new Received(next).says("mine\r\nmine");
	await next.end(0);
	await until("it is gone", () => !existsSync(file));
});

test("a session of 0.1.0, which knows of no secret, is adopted without one", async () => {
	const old = await launchRaw({ argv: ["cat"] });
	const pty = await adopted({ directory: old.dir, socketPath: old.socket });
	await pty.write(Buffer.from("mine\n"));
	await new Received(pty).says("mine\r\nmine");
});

test("a wrong secret is refused at once and for good, not tried again", async () => {
	const { spec } = await stage.start(["cat"]);
	writeFileSync(join(spec.directory, "secret"), randomBytes(32));
	await expect(adopt({ ...spec, epoch: 2n, from: 0 })).rejects.toMatchObject({ code: "denied" });
});
