import { expect, test } from "vitest";
import type { Buckets } from "./buckets.ts";
import { Pins } from "./pins.ts";

test("a store that does not answer is told as the fleet's servers, which are not reached", async () => {
	const late = async () => {
		throw new Error("timeout");
	};
	const pins = new Pins({ pins: { get: late, put: late } } as unknown as Pick<Buckets, "pins">);
	const told = { code: "fleet_unreachable", message: expect.stringContaining("timeout") };
	await expect(pins.find("a.session.b")).rejects.toMatchObject(told);
	await expect(pins.set("a.session.b", { host: "beta", session: null }, null)).rejects.toMatchObject(told);
});

test("a pin that somebody has removed is made again, once", async () => {
	const tried: number[] = [];
	const bucket = {
		get: async () => ({ operation: "DEL", revision: 7 }),
		put: async (_key: string, _value: string, { previousSeq }: { previousSeq: number }) => {
			tried.push(previousSeq);
			if (previousSeq !== 7) throw Object.assign(new Error("wrong last sequence: 7"), { code: 10071 });
			return 8;
		},
	};
	const pins = new Pins({ pins: bucket } as unknown as Pick<Buckets, "pins">);
	const set = await pins.set("a.session.b", { host: "beta", session: null }, null);
	expect(set).toEqual({ pin: { host: "beta", session: null, revision: 8 }, isOurs: true });
	expect(tried).toEqual([0, 7]);
});
