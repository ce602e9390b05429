import { expect, test } from "vitest";
import type { Buckets } from "./buckets.ts";
import { Pins } from "./pins.ts";

test("a store that does not answer is told as the fleet's broker, which is unreachable", async () => {
	const late = async () => {
		throw new Error("timeout");
	};
	const pins = new Pins({ pins: { get: late, put: late } } as unknown as Pick<Buckets, "pins">);
	const told = { code: "fleet_unreachable", message: expect.stringContaining("timeout") };
	await expect(pins.find("a.session.b")).rejects.toMatchObject(told);
	await expect(pins.set("a.session.b", { host: "beta", session: null }, null)).rejects.toMatchObject(told);
});
