import { expect, test } from "vitest";
import { HostRecords } from "./host-records.ts";

test("a host has as many records as a host may list, and no larger ones than an honest host writes", () => {
	const records = new HostRecords();
	const small = Buffer.from("x".repeat(400));
	for (let i = 0; i < 30_000; i++) records.set(`o.${i}`, small);
	expect(records.size).toBe(20_000);
	records.delete("o.0");
	records.set("o.new", small);
	expect([records.size, records.get("o.new")]).toEqual([20_000, "x".repeat(400)]);
	// What it was is not so any more.
	records.set("o.1", Buffer.alloc(17_000));
	expect(records.get("o.1")).toBeUndefined();
});

test("all records of a host together are bounded, and there is room again when they are gone", () => {
	const records = new HostRecords();
	const large = Buffer.alloc(16_000, "x");
	for (let i = 0; i < 10_000; i++) records.set(`o.${i}`, large);
	expect(records.size).toBeLessThan(2200);
	for (let i = 0; i < 10_000; i++) records.set("o.0", large); // the same again
	const { size } = records;
	records.delete("o.1");
	records.delete("o.2");
	records.set("o.new", large);
	expect([records.size, records.get("o.new")?.length]).toEqual([size - 1, 16_000]);
});
