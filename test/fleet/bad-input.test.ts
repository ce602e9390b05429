// Bad input on every field of every tool, for a session of another machine: refused as for an own one, and nothing is done
// there. What says for which machine a call is, is refused by its own name.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/protocol/fault.ts";
import type { Client, ToolCard } from "../../src/tools/client.ts";
import { cards, dialects, PROBE, right, type Schema, wellSaid, wrongFor } from "../contract/wrong-input.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { aimed, HOST } from "./fleet-surfaces.ts";
import { called, TwoHosts } from "./two-hosts.ts";

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("R2.5 bad input for a session of another machine", () => {
	let hosts: TwoHosts;
	let client: Client;
	beforeAll(async () => {
		hosts = await TwoHosts.start();
		client = hosts.client;
		for (const host of ["alpha", HOST]) await called(client, "start", { ...PROBE, host, timeoutMs: 60_000 });
	});
	afterAll(() => hosts?.[Symbol.asyncDispose]());

	/** What was refused, in its words; null where it was not. */
	const refusal = async (tool: string, input: unknown): Promise<Fault | string | null> => {
		try {
			return (await client.call(tool as never, input as never)).refused ?? null;
		} catch (error) {
			if (error instanceof Fault) return error;
			throw new Error(`${tool} crashed on ${JSON.stringify(input)?.slice(0, 300)}`, { cause: error });
		}
	};
	const words = (fault: Fault | string | null) =>
		fault instanceof Fault ? `${fault.code}: ${fault.message} ${fault.next}`.replaceAll(`${HOST}/`, "") : fault;
	const world = async () => {
		const { facts } = await called(client, "list", { host: HOST });
		const { sessions } = facts as { sessions: readonly { name: string; offset: number; status: string }[] };
		return sessions.map(({ name, offset, status }) => [name, offset, status]);
	};
	const wrong = ({ inputSchema }: ToolCard) => {
		const { properties = {}, required = [] } = inputSchema as Schema;
		return Object.entries(properties).flatMap(([field, schema]) =>
			wrongFor(schema, required.includes(field)).map((value) => ({ field, value })),
		);
	};

	test.each([...cards, ...dialects].map((card) => [card.name, card] as const))("%s", async (name, card) => {
		const before = await world();
		for (const { field, value } of wrong(card)) {
			const about = `${name}.${field} = ${JSON.stringify(value)?.slice(0, 80)}`;
			const input = { ...right(card), [field]: value };
			const there = await refusal(name, { ...(aimed(name, input) as object), host: HOST });
			if (there instanceof Fault) wellSaid(there, about);
			expect(words(there), about).toBe(words(await refusal(name, input)));
		}
		expect(await world()).toEqual(before);
	});

	test.each(["start", "run"])("`host` and `placement` of %s are refused by their names", async (tool) => {
		const before = await world();
		const input = { command: "true" };
		for (const host of [true, 7, {}, [], "", " ", "no such host", "x".repeat(1000)]) {
			const fault = await refusal(tool, { ...input, host });
			if (!(fault instanceof Fault)) throw new Error(`${JSON.stringify(host)} was taken`);
			wellSaid(fault, JSON.stringify(host));
			expect(fault.code).toBe(typeof host === "string" && host.trim() !== "" ? "unknown_host" : "bad_input");
			expect(fault.message).toContain("host");
		}
		for (const placement of [true, 7, "", "anywhere", {}, { labels: 7 }, { sameAs: [] }, [], { host: 1 }]) {
			const fault = await refusal(tool, { ...input, placement });
			if (!(fault instanceof Fault)) throw new Error(`${JSON.stringify(placement)} was taken`);
			expect(fault.code, JSON.stringify(placement)).toBe("bad_input");
			expect(fault.message).toContain("placement");
		}
		expect(await world()).toEqual(before);
	});
});
