// A member whose daemon is killed or restarted, as a person beside it sees it: what is asked of other machines at that
// moment is answered, not refused for the tenths of a second in which the next daemon is not a member yet.

import { afterAll, beforeAll, expect, test as vitestTest } from "vitest";
import { gone } from "../alive.ts";
import type { Home } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, TwoHosts } from "./two-hosts.ts";

const ROUNDS = 3;
const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing(...BROKER_NEEDS), run);

let hosts: TwoHosts;
beforeAll(async () => {
	if (missing(...BROKER_NEEDS).length > 0) return;
	hosts = await TwoHosts.start();
	await called(hosts.client, "start", { host: "beta", name: "far", argv: ["cat"], timeoutMs: 60_000 });
});
afterAll(() => hosts?.[Symbol.asyncDispose]());

async function killed(home: Home): Promise<void> {
	await using found = await home.find();
	const { pid } = await found!.status();
	process.kill(pid, "SIGKILL");
	await gone(pid);
}

test("the first call of the daemon after one that was killed is answered by another machine", async () => {
	const { alpha } = hosts;
	for (let round = 0; round < ROUNDS; round++) {
		await killed(alpha);
		const said = await alpha.cli("send", "beta/far", `hello ${round}`);
		expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining(`hello ${round}`) });
		await killed(alpha);
		const { stdout } = await alpha.cli("ls");
		expect(stdout).toMatch(/beta\/far/);
		expect(stdout).not.toMatch(/not listed/);
	}
});

test("a wait goes on while the daemon of the session's machine is restarted", async () => {
	const { alpha, beta } = hosts;
	await using client = await alpha.connect();
	for (let round = 0; round < ROUNDS; round++) {
		const text = `after restart ${round}`;
		const waited = called(client, "wait", { session: "beta/far", until: { text, only: true }, timeoutMs: 60_000 });
		expect((await beta.cli("daemon", "restart")).code).toBe(0);
		expect((await beta.cli("send", "far", text)).code).toBe(0);
		expect((await waited).facts).toMatchObject({ returned: "matched" });
	}
});
