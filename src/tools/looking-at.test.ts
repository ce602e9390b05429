import { expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { SessionClient } from "./client.ts";
import { lookingAt } from "./looking-at.ts";

const { signal } = new AbortController();
const gone = () =>
	new Fault("session_not_found", { id: "beta/shown", open: ["beta/hidden"], ids: ["beta/x"], others: [] });
const refusing = {
	snapshot: async () => {
		throw gone();
	},
	async *output() {
		yield { offset: 0, bytes: Buffer.from("first") };
		throw gone();
	},
} as Partial<SessionClient> as SessionClient;

async function all(stream: AsyncIterable<unknown>): Promise<number> {
	let count = 0;
	for await (const _ of stream) count++;
	return count;
}

test("issue 15: who may look at one session of another machine is told of no other, whatever its host refuses", async () => {
	const looking = lookingAt(refusing, "beta/shown");
	const refusals = [
		looking.snapshot("beta/shown"),
		all(looking.output("beta/shown", { from: 0, signal })),
		// Never asked for.
		looking.snapshot("beta/hide"),
		all(looking.view("beta/hide", { signal })),
		looking.act("beta/shown", { act: "take", who: "me" }),
	].map((asked) => asked.then(String, (fault: Fault) => JSON.stringify(fault.toJSON())));
	const told = await Promise.all(refusals);
	for (const one of told.slice(0, 4)) expect(one).toContain("session_not_found");
	expect(told[4]).toContain("not_allowed");
	for (const one of told) expect(one).not.toMatch(/hidden|beta\/x/);
});
