import { describe, expect, test } from "vitest";
import type { HolderExit } from "../protocol/frames.ts";
import { OutputStream } from "./output-stream.ts";

const EXIT: HolderExit = {
	code: null,
	signal: 9,
	core: false,
	size: 0,
	startedAt: 1,
	endedAt: 2,
	closed: true,
	reason: "processes",
	rusage: { userMs: 0, systemMs: 0, maxRssKb: 0 },
	survivors: [],
	lost: 0,
};

function ended(exit: HolderExit) {
	let looks = 0;
	const stream = new OutputStream({
		directory: "/nonexistent",
		from: 0,
		disposed: new AbortController().signal,
		send: () => {},
		onExit: () => {},
		left: () => {
			looks++;
			return [];
		},
	});
	stream.end(exit);
	return { looks, exit: stream.exit };
}

describe("R3.5 the end that a living holder tells", () => {
	test("is not checked against every process of the machine where it names none that is left", () => {
		expect(ended(EXIT)).toMatchObject({ looks: 0, exit: { closed: true, reason: "processes", survivors: [] } });
	});

	test("is checked where it names some: they may have ended since, and started others", () => {
		expect(ended({ ...EXIT, survivors: [{ pid: 4242, command: "sleep" }] }).looks).toBe(1);
	});
});
