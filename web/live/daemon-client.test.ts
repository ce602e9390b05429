import { expect, test } from "vitest";
import { faultWords, Refused } from "./daemon-client.ts";

test("a refusal is told in the daemon's words, with the next step", () => {
	const fault = {
		fault: "session_not_found",
		message: "There is no such session.",
		next: "Use one of: sh.",
		facts: {},
	};
	const words = { message: fault.message, next: fault.next };
	expect(faultWords(JSON.stringify(fault))).toEqual(words);
	expect(faultWords(JSON.stringify({ error: fault }))).toEqual(words);
	expect(new Refused(404, words).message).toBe("There is no such session. Use one of: sh.");
	expect(new Refused(404, words).reason).toBe("There is no such session.");
	expect(faultWords("<html>")).toBeNull();
	expect(faultWords("{}")).toBeNull();
});
