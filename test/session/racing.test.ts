// S11: calls that race the end of a program, another close or another daemon keep their code; none is `internal`.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../../src/protocol/fault.ts";
import { Home } from "../daemon/home.ts";

const EXPECTED = ["session_ended", "daemon_replaced", "taken_over", "no_daemon", "session_not_found", "queue_full"];

const call = fc.record({
	tool: fc.constantFrom("resize", "signal", "close", "send", "wait", "read"),
	afterMs: fc.nat(60),
	other: fc.nat(3),
});

const inputOf = (tool: string, other: number): object => {
	switch (tool) {
		case "resize":
			return { cols: 80 + other, rows: 24 };
		case "signal":
			return { signal: ["INT", "TERM", "HUP", "CONT"][other], timeoutMs: 200 };
		case "close":
			return { force: other === 0, keep: other === 1 };
		case "send":
			return { text: "x", submit: true, timeoutMs: 200 };
		case "wait":
			return { timeoutMs: 200 };
		default:
			return {};
	}
};

test("S11: resize, signal, close and send against an exit at any moment", async () => {
	await using home = new Home();
	await using client = await home.connect();
	await fc.assert(
		fc.asyncProperty(fc.nat(50), fc.array(call, { minLength: 1, maxLength: 8 }), async (livesMs, calls) => {
			const { facts } = await client.call("start", { argv: ["sleep", String(livesMs / 1000)], timeoutMs: 0 });
			const { session } = facts;
			const results = await Promise.allSettled(
				calls.map(async ({ tool, afterMs, other }) => {
					await new Promise((resolve) => setTimeout(resolve, afterMs));
					return client.call(tool as string, { session, ...inputOf(tool, other) });
				}),
			);
			for (const [index, result] of results.entries()) {
				if (result.status === "fulfilled") continue;
				expect(result.reason).toBeInstanceOf(Fault);
				expect(EXPECTED, `${calls[index]!.tool}: ${result.reason.message}`).toContain(result.reason.code);
			}
			await client.call("close", { session, force: true, forget: true });
		}),
		{ numRuns: 60 },
	);
});

test("S11: calls that are pending when the daemon is replaced", async () => {
	await using home = new Home();
	for (let round = 0; round < 3; round++) {
		await using client = await home.connect();
		const names = ["a", "b", "c", "d"];
		for (const name of names) await client.call("start", { name, argv: ["cat"], ifExists: "use", timeoutMs: 10_000 });
		const pending = names.flatMap((session) => [
			client.call("wait", { session, until: { text: "never", only: true }, timeoutMs: 60_000 }),
			client.call("resize", { session, cols: 100, rows: 30 }),
			client.call("send", {
				session,
				text: "x",
				submit: true,
				until: { text: "never", only: true },
				timeoutMs: 60_000,
			}),
			client.call("signal", { session, signal: "CONT", timeoutMs: 10_000 }),
		]);
		const settled = Promise.allSettled(pending);
		await home.cli("daemon", round === 1 ? "stop" : "restart");
		for (const result of await settled) {
			if (result.status === "rejected") expect(EXPECTED, result.reason.message).toContain(result.reason.code);
		}
	}
});
