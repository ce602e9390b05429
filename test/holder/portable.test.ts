// R5.6: the holder without what only Linux has (holder/*-other.c), as a build on macOS takes it, built and run here.
// What only macOS and WSL themselves can show is skipped, and named, where the tests do not run there.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Client as DialtoneClient } from "../../src/tools/client.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { Client, cleanUp, exitFile, gone, launch, lives, SLOWED } from "./raw-holder.ts";

const ROOT = join(import.meta.dirname, "../..");
const PATIENT = { timeoutMs: 60_000 };
/** As scripts/check-holder.mjs builds the other one. */
const SANITIZED = "-g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined";

/** An installation whose holder is the portable one. */
let copy = "";
let holder = "";
beforeAll(() => {
	copy = mkdtempSync(join(tmpdir(), "dt-portable-"));
	cpSync(join(ROOT, "dist"), join(copy, "dist"), { recursive: true });
	for (const name of ["node_modules", "shell", "package.json"]) symlinkSync(join(ROOT, name), join(copy, name));
	mkdirSync(join(copy, "build"));
	symlinkSync(join(ROOT, "build/dialtone-native.node"), join(copy, "build/dialtone-native.node"));
	holder = join(copy, "build/dialtone-holder");
	execFileSync(process.execPath, [join(ROOT, "scripts/build-holder.mjs")], {
		env: {
			...process.env,
			DIALTONE_HOLDER_SYSTEM: "other",
			DIALTONE_HOLDER_CFLAGS: `-O1 -include test/fixtures/getpeereid.h ${SLOWED ? SANITIZED : ""}`,
			DIALTONE_HOLDER_OUT: holder,
		},
	});
});
afterEach(cleanUp);
afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** One of everything; how certain each turn was. */
async function conversation(client: DialtoneClient): Promise<readonly (string | null)[]> {
	const script = `read -p 'Name? ' n; echo "hello $n"; read -s -p 'Password: ' p; echo; stty size; exit \${#p}`;
	const asked = (await client.call("start", { argv: ["bash", "-c", script], name: "talk", ...PATIENT })).facts;
	expect(asked).toMatchObject({ returned: "waiting", text: "Name? " });
	const secret = (await client.call("send", { session: "talk", text: "you", submit: true, ...PATIENT })).facts;
	expect(secret).toMatchObject({ returned: "waiting", waitingFor: "secret" });
	expect(secret.text).toContain("hello you");
	await client.call("resize", { session: "talk", cols: 71, rows: 13 });
	const over = (await client.call("send", { session: "talk", text: "abc", submit: true, ...PATIENT })).facts;
	expect(over).toMatchObject({ returned: "ended", exit: { code: 3 } });
	expect(over.text).toContain("13 71");
	const shell = (await client.call("run", { command: "cd /usr; pwd", ...PATIENT })).facts;
	expect(shell).toMatchObject({ exitCode: 0, text: expect.stringContaining("/usr") });
	await client.call("start", { argv: ["cat"], name: "cat", timeoutMs: 100 });
	expect((await client.call("close", { session: "cat" })).facts).toMatchObject({ status: "cancelled" });
	return [asked.certainty, secret.certainty];
}

describe("R5.6 the portable holder", needing("gcc"), () => {
	test("every byte and the exit code are on disk and at a client that comes again", async () => {
		const bytes = 2_000_000;
		const program = `stty -opost -echo; seq 1 1000000 | head -c ${bytes}; read x; echo; exit 7`;
		const session = await launch({ argv: ["sh", "-c", program], holder });
		const first = await Client.open(session.socket);
		await first.until(() => first.cursor > bytes / 3);
		first.close();
		const second = await Client.open(session.socket, { epoch: 2, attach: BigInt(first.cursor) });
		await second.until(() => second.cursor >= bytes);
		await second.type("\n");
		expect(await second.exited()).toMatchObject({ code: 7 });
		second.close();
		await gone(session.holder);
		expect(exitFile(session)).toMatchObject({ code: 7, closed: true, lost: 0 });
		const expected = execFileSync("sh", ["-c", `seq 1 1000000 | head -c ${bytes}; echo`], { maxBuffer: 2 * bytes });
		expect(Buffer.concat([first.output, second.output]).equals(expected)).toBe(true);
	});

	test("a signal reaches the foreground; END reaches a program that ignores all but KILL", async () => {
		const script = "trap 'echo caught' INT; trap '' TERM HUP; echo ready; while :; do sleep 0.05; done";
		const session = await launch({ argv: ["sh", "-c", script], holder });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready"));
		await client.signal(2, 0);
		await client.until(() => client.text.includes("caught"));
		await client.end(100);
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "end" });
		client.close();
		await gone(session.holder);
		expect(lives(session.pid)).toBe(false);
	});

	test("a conversation is the same, and no turn of it is called certain", async () => {
		await using home = new Home();
		await using client = await home.connect({ command: [process.execPath, join(copy, "dist/daemon.cjs")] });
		expect(await conversation(client)).not.toContain("certain");
	});
});

// The same with the build of that system, where the tests run on it.
for (const system of ["macOS", "WSL"])
	test(`R5.6 a conversation on ${system}`, needing(system), async () => {
		await using home = new Home();
		await using client = await home.connect();
		await conversation(client);
	});
