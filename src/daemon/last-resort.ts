// What no boundary caught. The policy: one caller's exception must not end everybody's daemon, and a
// daemon whose state is in doubt must not stay. So it is logged and the daemon goes on, unless
// exceptions repeat: then it stops in order. That costs little, because it holds no state that is not
// on disk or in a holder; the next call starts a new one.

import type { FileLog } from "./log.ts";

const MAX_EXCEPTIONS = 10;
const WITHIN_MS = 60_000;

/** Handles exceptions and rejections that nothing else handles; returns the function that undoes it. */
export function handleUncaught(log: FileLog, stop: () => void): () => void {
	let recent: number[] = [];
	const caught = (err: unknown, origin: string) => {
		log.error({ err, origin }, "uncaught");
		const now = performance.now();
		recent = [...recent.filter((at) => at > now - WITHIN_MS), now];
		if (recent.length <= MAX_EXCEPTIONS) return;
		log.error({ exceptions: recent.length }, "too many uncaught exceptions");
		stop();
	};
	const rejected = (reason: unknown) => caught(reason, "unhandledRejection");
	process.on("uncaughtException", caught);
	process.on("unhandledRejection", rejected);
	return () => {
		process.off("uncaughtException", caught);
		process.off("unhandledRejection", rejected);
	};
}
