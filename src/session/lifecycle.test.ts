import { describe, expect, test } from "vitest";
import { STATUSES } from "../protocol/answer.ts";
import { hasEnded, type LifecycleEvent, statusAfter } from "./lifecycle.ts";

const happenings: LifecycleEvent[] = ["launched", "launch_failed", "exited_well", "exited_badly", "cancelled", "lost"];

describe("R4.5 the states of a session", () => {
	test("every state that is not final has a way out", () => {
		for (const status of STATUSES.filter((it) => !hasEnded(it))) {
			const reachable = happenings.flatMap((it) => {
				try {
					return [statusAfter(status, it)];
				} catch {
					return []; // not allowed from here, which is what the other tests are about
				}
			});
			expect(reachable.some(hasEnded)).toBe(true);
		}
	});

	test("final states are sinks", () => {
		for (const status of STATUSES.filter(hasEnded)) {
			for (const happening of happenings) {
				try {
					expect(statusAfter(status, happening)).toBe(status);
				} catch (error) {
					expect(String(error)).toContain("cannot have");
				}
			}
		}
	});

	test("the same news twice changes nothing", () => {
		expect(statusAfter(statusAfter("running", "exited_well"), "exited_well")).toBe("succeeded");
		expect(statusAfter(statusAfter("running", "lost"), "lost")).toBe("stream_lost");
	});

	test("a session that has ended cannot be launched", () => {
		expect(() => statusAfter("succeeded", "launched")).toThrow("cannot have launched");
	});
});
