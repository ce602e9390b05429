// Hostile bytes, random splits, random resizes: nothing throws, nothing logs, nothing costs
// much, and every look still makes sense. Bounded here; `FUZZ_RUNS=200000 npx vitest run
// test/terminal/fuzz` goes on for longer.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pictureSvg } from "../../src/terminal/picture-svg.ts";
import { Screen } from "../../src/terminal/screen.ts";
import type { Position } from "../../src/terminal/screen-diff.ts";
import { happenings, hostileBytes, size } from "./hostile-bytes.ts";

const numRuns = Number(process.env.FUZZ_RUNS ?? 3000);
const options = { numRuns, interruptAfterTimeLimit: 3_600_000 };
const timeout = numRuns > 3000 ? 3_600_000 : 120_000;

describe("R2.9 whatever a program prints", { timeout }, () => {
	const said: unknown[][] = [];
	const spies: { mockRestore(): void }[] = [];
	beforeAll(() => {
		for (const way of ["log", "warn", "error", "info", "debug", "trace"] as const)
			spies.push(vi.spyOn(console, way).mockImplementation((...words) => said.push(words)));
	});
	afterAll(() => {
		for (const spy of spies) spy.mockRestore();
	});

	test("the screen stands, and every look makes sense", () => {
		fc.assert(
			fc.property(size, fc.integer({ min: 0, max: 100 }), happenings, ({ cols, rows }, scrollback, events) => {
				const screen = new Screen({ cols, rows, scrollback });
				let position: Position | null = null;
				for (const event of events) {
					if ("bytes" in event) screen.feed(event.bytes);
					else if ("resize" in event) screen.resize(event.resize.cols, event.resize.rows);
					else {
						const look = screen.diffSince(position);
						expect(look.text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
						expect(look.position.end).toBeGreaterThanOrEqual(0);
						if (look.missed) expect(look.missed.from).toBeLessThanOrEqual(look.missed.to);
						position = look.position;
						// Nothing happened since, so nothing is new.
						expect(screen.diffSince(position)).toMatchObject({ text: "", missed: null });
					}
				}
				const { cursor, lines } = screen.snapshot();
				expect(lines.length).toBe(screen.rows);
				expect(cursor.row).toBeLessThan(screen.rows);
				expect(cursor.column).toBeLessThan(screen.cols);
				screen.dispose();
			}),
			options,
		);
	});

	test("how the bytes were split makes no difference", () => {
		fc.assert(
			fc.property(
				size,
				hostileBytes,
				fc.array(fc.nat(9), { minLength: 1, maxLength: 10 }),
				({ cols, rows }, bytes, sizes) => {
					const whole = new Screen({ cols, rows, scrollback: 30 });
					whole.feed(bytes);
					const pieces = new Screen({ cols, rows, scrollback: 30 });
					for (let at = 0, i = 0; at < bytes.length; i++) {
						const end = at + 1 + sizes[i % sizes.length]!;
						pieces.feed(bytes.subarray(at, end));
						at = end;
					}
					expect(pieces.snapshot()).toEqual(whole.snapshot());
					expect(pieces.diffSince(null).text).toBe(whole.diffSince(null).text);
				},
			),
			options,
		);
	});

	test("a screen can be put away and made again at any point", () => {
		fc.assert(
			fc.property(size, hostileBytes, ({ cols, rows }, bytes) => {
				const screen = new Screen({ cols, rows, scrollback: 30 });
				screen.feed(bytes);
				const state = screen.serialize();
				if (!state) return;
				const again = Screen.restore(state, { scrollback: 30 });
				expect(again.modes).toEqual(screen.modes);
				expect(again.diffSince(screen.diffSince(null).position).missed).toBeNull();
			}),
			{ ...options, numRuns: Math.ceil(numRuns / 10) },
		);
	});

	test("the picture is well-formed", () => {
		fc.assert(
			fc.property(hostileBytes, (bytes) => {
				const screen = new Screen({ cols: 30, rows: 8 });
				screen.feed(bytes);
				const svg = pictureSvg(screen);
				expect(svg).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f]/);
				expect(svg.match(/<text/g)?.length ?? 0).toBe(svg.match(/<\/text>/g)?.length ?? 0);
			}),
			{ ...options, numRuns: Math.ceil(numRuns / 10) },
		);
	});

	test("nothing of all this was said on the console", () => {
		expect(said).toEqual([]);
	});
});
