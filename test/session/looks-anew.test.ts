// What nobody watched is looked at anew: the verdict of the call before does not answer the next one.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

let dialtone: Dialtone;
let marker: string;
beforeAll(async () => {
	dialtone = await Dialtone.open();
	marker = join(mkdtempSync(join(tmpdir(), "dialtone-anew-")), "marker");
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(join(marker, ".."), { recursive: true });
});

const PATIENT = { timeoutMs: 60_000 };

async function processOf(session: string): Promise<number> {
	const { facts } = await dialtone.client.call("list", {});
	return facts.sessions.find(({ name }) => name === session)!.pid!;
}

const marked = () => until("it has gone on by itself", () => existsSync(marker));

test.each([
	["wait", () => dialtone.client.call("wait", { session: "stopped", ...PATIENT })],
	["start", () => dialtone.client.call("start", { name: "stopped", argv: ["cat"], ifExists: "use", ...PATIENT })],
])("a program that was stopped meanwhile is told as stopped by `%s`", async (_name, call) => {
	const cat = await dialtone.start({ name: "stopped", argv: ["cat"], ...PATIENT });
	expect(cat.facts).toMatchObject({ activity: "waiting", certainty: "certain" });
	const pid = await processOf("stopped");
	// `list` has looked, too: the verdict that must not stand is one that was waited for.
	expect((await cat.wait(PATIENT)).activity).toBe("waiting");
	process.kill(pid, "SIGSTOP");
	await until("it is stopped", () => /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
	expect((await call()).facts).toMatchObject({ activity: "stopped" });
	process.kill(pid, "SIGCONT");
	await cat.close({ force: true });
});

test("a question that answered itself meanwhile is not waited at: the wait goes on until the end", async () => {
	const script = `read -t 1 -p 'Continue? '; touch '${marker}'; sleep 3; echo built`;
	const build = await dialtone.start({ argv: ["bash", "-c", script], ...PATIENT });
	expect(build.facts.activity).toBe("waiting");
	await marked();
	const end = await build.wait(PATIENT);
	expect(end).toMatchObject({ status: "succeeded", returned: "ended" });
	expect(end.text).toContain("built");
	rmSync(marker);
});

test("a reader that went to work meanwhile is told as working by the first look", needing("python3"), async () => {
	const script = `import signal, sys, time
def work(*_):
    open(${JSON.stringify(marker)}, "w").close()
    end = time.monotonic() + 60
    while time.monotonic() < end: pass
signal.signal(signal.SIGUSR1, work)
sys.stdin.readline()`;
	const reader = await dialtone.start({ name: "reader", argv: ["python3", "-c", script], ...PATIENT });
	expect(reader.facts.activity).toBe("waiting");
	process.kill(await processOf("reader"), "SIGUSR1");
	await marked();
	expect((await reader.read()).activity).toBe("working");
	await reader.close({ force: true });
	rmSync(marker);
});
