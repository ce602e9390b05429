// Real programs, recorded once (record.ts), read as an agent would read them. The
// expected readings are files beside the recordings: a change in them is a change in
// what agents see, to be looked at as such (`npx vitest run golden -u` writes them).

import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Screen } from "../../src/terminal/screen.ts";
import { WorkBudget } from "../../src/terminal/work-budget.ts";
import { recordings, transcript } from "./replay.ts";

const whole = () => Number.POSITIVE_INFINITY;

describe("R1.3 what an agent reads of a real program", () => {
	test.each(recordings)("$name", async (recording) => {
		await expect(transcript(recording, whole)).toMatchFileSnapshot(`golden/${recording.name}.txt`);
	});

	test.each(recordings)("$name, its output arriving byte by byte, reads the same", (recording) => {
		expect(transcript(recording, () => 1)).toBe(transcript(recording, whole));
	});

	test.each(recordings)("$name, its screen put away and made again at every look, reads the same", (recording) => {
		const asleep = (screen: Screen) => Screen.restore(JSON.parse(JSON.stringify(screen.serialize())));
		expect(transcript(recording, whole, asleep)).toBe(transcript(recording, whole));
	});

	test("no honest program asks for more than it may, even a hundred times in a row", () => {
		const refused = vi.spyOn(WorkBudget.prototype, "spend");
		for (const { bytes, cols, rows } of recordings) {
			const screen = new Screen({ cols, rows });
			for (let i = 0; i < 100; i++) screen.feed(bytes);
			screen.dispose();
		}
		expect(refused.mock.results.length).toBeGreaterThan(0);
		expect(refused.mock.results.every(({ value }) => value === true)).toBe(true);
		refused.mockRestore();
	});

	test("every recording, its output split anywhere, reads the same", () => {
		const expected = new Map(recordings.map((recording) => [recording.name, transcript(recording, whole)]));
		fc.assert(
			fc.property(
				fc.constantFrom(...recordings),
				fc.array(fc.nat(300), { minLength: 1, maxLength: 30 }),
				(recording, sizes) => {
					let i = 0;
					expect(transcript(recording, () => sizes[i++ % sizes.length]!)).toBe(expected.get(recording.name));
				},
			),
			{ numRuns: 60 },
		);
	});
});
