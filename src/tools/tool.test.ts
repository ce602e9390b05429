import { expect, test } from "vitest";
import { isLimited } from "./tool.ts";

test("T1: a timeout below the host's limit is not told as that limit's, whenever its timer fires", () => {
	expect(isLimited({ answerWithinMs: 280_000 }, 100)).toBe(false);
	expect(isLimited({ answerWithinMs: 1000 }, 2500)).toBe(true);
	expect(isLimited({}, 2500)).toBe(false);
});
