// The check after every test sees what it has to see.

import { expect, test } from "vitest";
import { FakePty } from "../../test/fake-pty.ts";
import { openPlaces } from "../../test/leaks.ts";
import { screenFacts } from "../../test/screen-facts.ts";
import { settled, wait } from "../pty/wait.ts";
import { AttentionTracker } from "./attention-tracker.ts";

test("a watch that is not ended is seen, and stays seen when its session is let go of", () => {
	const pty = new FakePty();
	const tracker = new AttentionTracker({
		pty,
		seen: () => 0,
		isDrawn: () => true,
		screen: () => screenFacts(),
		shell: () => ({ atPrompt: null, pid: 412 }),
	});
	const unwatch = tracker.watch();
	expect(openPlaces("watch")).toHaveLength(1);
	expect(openPlaces("watch")[0]).toContain("leaks.test.ts");
	tracker[Symbol.dispose]();
	expect(openPlaces("watch")).toHaveLength(1);
	unwatch();
	expect(openPlaces("watch")).toEqual([]);
});

test("a listener on a signal that did not abort is seen, with the wait that left it", async () => {
	const long = new AbortController();
	const begun = wait([{ start() {} }], long);
	expect(openPlaces("abort listener")).toHaveLength(1);
	expect(openPlaces("abort listener")[0]).toContain("leaks.test.ts");
	await wait([settled(Promise.resolve())], long);
	expect(openPlaces("abort listener")).toHaveLength(1);
	long.abort(new Error("enough"));
	await expect(begun).rejects.toThrow("enough");
	expect(openPlaces("abort listener")).toEqual([]);
});
