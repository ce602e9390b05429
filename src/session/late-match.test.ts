import { expect, test } from "vitest";
import type { Attention } from "../protocol/answer.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { wait } from "../pty/wait.ts";
import { conditionsOf, lateMatch, type Outcome } from "./conditions.ts";
import { paceOf } from "./pace.ts";

test("T4: a text that came while its caller had to pause is found after all", async () => {
	const outputs = new Listeners<OutputChunk>("output");
	const decisions = new Listeners<Attention>("decided");
	const session = {
		ended: false,
		onEnded: () => () => {},
		onDecided: (listener: (attention: Attention) => void) => decisions.add(listener),
		onOutput: (listener: (chunk: OutputChunk) => void) => outputs.add(listener),
		watch: () => () => {},
		currentAttention: null,
		ports: async () => [],
		screen: { snapshot: () => ({ text: "" }) },
		driving: { onChange: () => () => {} },
	};
	const before = performance.now();
	paceOf("paused").run(() => {
		while (performance.now() - before < 40);
	});
	const until = { text: "done", port: 1 };
	const conditions = conditionsOf(session, until, { timeoutMs: 5000, newOnScreen: () => "", caller: "paused" });
	const outcome = wait<Outcome>(conditions);
	outputs.emit({ offset: 0, bytes: new TextEncoder().encode("it is done\n") });
	decisions.emit({ activity: "waiting", waitingFor: "line", certainty: "certain", because: "it reads" });
	expect(await outcome).toMatchObject({ returned: "waiting", matched: false });
	const match = { by: "text", several: true, text: "done" };
	expect(await lateMatch(conditions, undefined)).toMatchObject({ returned: "matched", matched: true, match });
});
