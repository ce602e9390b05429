import { expect, test } from "vitest";
import { FAKE_CARDS } from "../../test/fake-client.ts";
import { withinHostLimits } from "./host-limits.ts";

const card = (name: string) => FAKE_CARDS.find((one) => one.name === name)!;

test("a wait that no host would sit through is shortened", () => {
	expect(withinHostLimits(card("wait"), { session: "py", timeoutMs: 3_600_000 })).toMatchObject({ timeoutMs: 280_000 });
});

test("a tool whose own patience is longer than the hosts' gets theirs", () => {
	expect(withinHostLimits(card("send"), { session: "py" })).toMatchObject({ timeoutMs: 60_000 });
	expect(withinHostLimits(card("start"), {})).toMatchObject({ timeoutMs: 60_000 });
});

test("what is within the limits is left as it was said", () => {
	expect(withinHostLimits(card("wait"), { session: "py" })).toEqual({ session: "py" });
	expect(withinHostLimits(card("wait"), { timeoutMs: 5 })).toEqual({ timeoutMs: 5 });
	expect(withinHostLimits(card("wait"), { timeoutMs: "soon" })).toEqual({ timeoutMs: "soon" });
	expect(withinHostLimits(card("read"), { session: "py" })).toEqual({ session: "py" });
});
