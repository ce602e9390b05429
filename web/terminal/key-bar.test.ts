import { expect, test } from "vitest";
import { keySequence } from "./key-bar.ts";

test("a key of the bar sends what the key of a keyboard does, in both modes of the cursor keys", () => {
	expect(["Up", "Home", "End"].map((key) => keySequence(key as "Up", false))).toEqual(["\x1b[A", "\x1b[H", "\x1b[F"]);
	expect(["Up", "Home", "End"].map((key) => keySequence(key as "Up", true))).toEqual(["\x1bOA", "\x1bOH", "\x1bOF"]);
	expect([keySequence("Ctrl+C", true), keySequence("PgUp", true), keySequence("|", false)]).toEqual([
		"\x03",
		"\x1b[5~",
		"|",
	]);
});
