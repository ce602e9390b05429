// The check after every test sees what it has to see.

import { expect, test } from "vitest";
import { FakePty } from "../../test/fake-pty.ts";
import { openWatches } from "../../test/leaks.ts";
import { screenFacts } from "../../test/screen-facts.ts";
import { AttentionTracker } from "./attention-tracker.ts";

test("a watch that is not ended is seen, and stays seen when its session is let go of", () => {
	const pty = new FakePty();
	const tracker = new AttentionTracker({
		pty,
		seen: () => 0,
		screen: () => screenFacts(),
		shell: () => ({ atPrompt: null }),
	});
	const unwatch = tracker.watch();
	expect(openWatches()).toHaveLength(1);
	expect(openWatches()[0]).toContain("leaks.test.ts");
	tracker[Symbol.dispose]();
	expect(openWatches()).toHaveLength(1);
	unwatch();
	expect(openWatches()).toEqual([]);
});
