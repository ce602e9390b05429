import { expect, test, vi } from "vitest";
import { LatestOnly } from "./latest-only.ts";

test("while one request runs, only the newest wish is kept", async () => {
	const done: number[] = [];
	let answer = () => {};
	const first = new Promise<void>((resolve) => {
		answer = resolve;
	});
	const wishes = new LatestOnly<number>(async (wish) => {
		if (wish === 1) await first;
		done.push(wish);
	});
	for (const wish of [1, 2, 3, 4]) wishes.want(wish);
	answer();
	await vi.waitFor(() => expect(done).toEqual([1, 4]));
	wishes.dispose();
});
