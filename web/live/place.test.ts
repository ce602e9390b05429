import { expect, test } from "vitest";
import { hashOf, placeOf } from "./place.ts";

test.each([
	["", null, null],
	["#", null, null],
	["#build", "build", null],
	["#build@83.25", "build", 83_250],
	["#build@1:02", "build", 62_000],
	["#build@1:00:00", "build", 3_600_000],
	["#build@soon", "build@soon", null],
	["#100%", "100%", null],
])("%j is session %j at %j", (hash, session, atMs) => expect(placeOf(hash)).toEqual({ session, atMs }));

test("a link to a moment opens at that moment", () => {
	for (const place of [
		{ session: "a b", atMs: 1 },
		{ session: "x", atMs: 0 },
		{ session: "x", atMs: null },
	])
		expect(placeOf(hashOf(place))).toEqual(place);
	expect(hashOf({ session: null, atMs: null })).toBe("");
});
