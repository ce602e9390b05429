import { expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import { SwitchClient } from "./switch-client.ts";

const missing = () => new Fault("session_not_found", { id: "beta/quiet", open: [] } as never);
const { signal } = new AbortController();

/** A daemon with no sessions. */
const local = {
	call: async (tool: string) => {
		if (tool !== "list") throw missing();
		return { facts: { sessions: [] }, text: "no sessions" };
	},
	// biome-ignore lint/correctness/useYield: it has none
	output: async function* () {
		throw missing();
	},
	act: async () => {
		throw missing();
	},
} as unknown as Client;

test("a daemon that has not reached its fleet yet says so of sessions of other hosts, and in its list", async () => {
	const state = () => ({ host: null, asks: true, problem: "connecting", since: 0 });
	const client = new SwitchClient({ local, events: local, state, onChange: () => () => {} });
	const away = { code: "fleet_unreachable", facts: { problem: "connecting" } };
	await expect(client.call("read", { session: "beta/quiet" })).rejects.toMatchObject(away);
	await expect(client.output("beta/quiet", { from: 0, signal }).next()).rejects.toMatchObject(away);
	await expect(client.act("beta/quiet", { act: "take", who: "somebody" })).rejects.toMatchObject(away);
	await expect(client.act("quiet", { act: "take", who: "somebody" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	const { facts, text } = await client.call("list", {});
	expect(facts).toMatchObject({ notices: [expect.stringContaining("sessions of other hosts are not listed")] });
	expect(text).toMatch(/^no sessions\nnot connected to the fleet since 1970-/);
});

test("a daemon in no fleet says nothing of one", async () => {
	const client = new SwitchClient({ local, events: local, state: () => "in no fleet", onChange: () => () => {} });
	await expect(client.output("beta/quiet", { from: 0, signal }).next()).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect((await client.call("list", {})).text).toBe("no sessions");
});
