// What a test must leave behind as it found it: listeners, timers, descriptors.

import { createHook } from "node:async_hooks";
import { readdirSync } from "node:fs";
import { openSubscriptions } from "../../src/protocol/listeners.ts";
import { until } from "../condition.ts";

export class LeakCheck implements AsyncDisposable {
	/** Also those that do not keep the process alive. */
	readonly #timers = new Map<number, string>();
	readonly #hook = createHook({
		init: (id, type) => {
			if (type === "Timeout") this.#timers.set(id, new Error("made").stack ?? "");
		},
		destroy: (id) => this.#timers.delete(id),
	}).enable();
	readonly #subscriptions = openSubscriptions();
	readonly #descriptors = openDescriptors();

	/** Waits until nothing is left, and fails with what is. */
	async [Symbol.asyncDispose](): Promise<void> {
		const ours = () => [...this.#timers.values()].filter((stack) => /\/src\/(?!.*\.test\.ts)/.test(stack));
		const left = () => ({
			subscriptions: openSubscriptions() - this.#subscriptions,
			descriptors: Math.max(0, openDescriptors() - this.#descriptors),
			timers: ours().length,
		});
		try {
			await until("nothing is left", () => Object.values(left()).every((count) => count === 0));
		} catch {
			throw new Error(`left behind: ${JSON.stringify(left())} ${ours().join("\n")}`);
		} finally {
			this.#hook.disable();
		}
	}
}

/**
 * Fails when each run leaves a subscription behind. The process has others, of sessions that begin and end beside
 * it, so their number is not compared: after five runs five more are too many.
 */
export async function leavesNoSubscription(run: () => Promise<unknown>): Promise<void> {
	const before = openSubscriptions();
	for (let i = 0; i < 5; i++) await run();
	await until("the subscriptions of the runs are gone", () => openSubscriptions() < before + 5);
}

const openDescriptors = () => readdirSync("/proc/self/fd").length;
