import { expect, test } from "vitest";
import { AttentionRefresh } from "./attention-refresh.ts";
import type { SessionSlot } from "./session-slot.ts";

const WAITING = { activity: "waiting", waitingFor: "line", certainty: "certain", because: "" };
const WORKING = { ...WAITING, activity: "working", waitingFor: null };

/** Sessions with a fresh verdict, and the names of those that were asked. */
function sessions(count: number, verdict: (index: number) => { attention: object; lastOutputAt: number }) {
	const asked: number[] = [];
	const slots = Array.from({ length: count }, (_, index) => {
		const session = { attentionAt: Date.now(), ...verdict(index), refresh: async () => void asked.push(index) };
		return { inMemory: session, session: async () => session } as unknown as SessionSlot;
	});
	return { slots, asked };
}

test("among many sessions a list asks only those whose program may have moved on", async () => {
	const { slots, asked } = sessions(200, (index) => {
		if (index === 7) return { attention: WORKING, lastOutputAt: 0 };
		if (index === 8) return { attention: WAITING, lastOutputAt: Date.now() + 1000 }; // printed since
		return { attention: WAITING, lastOutputAt: 0 };
	});
	await new AttentionRefresh().freshen(slots);
	expect(asked.sort()).toEqual([7, 8]);
});

test("with as many sessions as are allowed by default a list asks all of them", async () => {
	const { slots, asked } = sessions(64, () => ({ attention: WAITING, lastOutputAt: 0 }));
	await new AttentionRefresh().freshen(slots);
	expect(asked).toHaveLength(64);
});
