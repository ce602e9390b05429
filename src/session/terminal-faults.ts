// How a session ended, in words, and what a terminal's error means to its caller.

import { constants } from "node:os";
import type { ExitFacts, Status } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import { PtyError, PtyIoError } from "../pty/errors.ts";
import { hasEnded } from "./lifecycle.ts";

const { errno } = constants;

export function describeEnd(status: Status, exit: ExitFacts | null): string {
	if (status === "stream_lost") return "its holder died, so how it ended is unknown";
	if (exit === null) return status;
	const how = exit.signal !== null ? `killed by ${exit.signal}` : `exit code ${exit.code}`;
	return status === "cancelled" ? `closed, ${how}` : how;
}

/** What the kernel answers for a terminal or a process that is gone. */
const ENDED_ERRNOS: ReadonlySet<number> = new Set([errno.EIO, errno.ESRCH, errno.EBADF, errno.ENXIO, errno.ENOTTY]);

/** A terminal error as a fault. */
export function asFault(
	error: unknown,
	{ name, status, exit }: { readonly name: string; readonly status: Status; readonly exit: ExitFacts | null },
): unknown {
	if (!(error instanceof PtyError)) return error;
	const facts = error instanceof PtyIoError ? error.facts : {};
	const maybeTyped = error.sent;
	const cause = { cause: error };
	const howItEnded = hasEnded(status) ? describeEnd(status, exit) : "just now";
	switch (error.code) {
		case "line_too_long":
			return new Fault("line_too_long", { limit: facts.limit ?? 4095 }, cause);
		case "input_too_long":
			return new Fault("input_too_long", { limit: facts.limit ?? 0 }, cause);
		case "queue_full":
			return new Fault("queue_full", { free: facts.free ?? 0 }, cause);
		case "ended":
			return new Fault("session_ended", { id: name, how: howItEnded, maybeTyped }, cause);
		case "lost":
			return new Fault("session_ended", { id: name, how: describeEnd("stream_lost", null), maybeTyped }, cause);
		case "unresponsive":
			return new Fault("unresponsive", { name, holderPid: facts.holderPid ?? 0, maybeTyped }, cause);
		case "not_owner":
		case "fenced":
		case "disconnected":
			return new Fault("taken_over", { name, maybeTyped }, cause);
		case "disk_stalled":
			return new Fault("disk_stalled", { id: name }, cause);
		case "bad_signal":
			return new Fault("bad_input", { problems: [error.message] }, cause);
		case "system":
			// The terminal is closed: the news of the end is on its way.
			if (hasEnded(status) || ENDED_ERRNOS.has(facts.errno ?? 0))
				return new Fault("session_ended", { id: name, how: howItEnded, maybeTyped }, cause);
			return new Fault("session_unreachable", { id: name, problem: error.message }, cause);
		case "bad_frame":
		case "input_gap":
			return new Fault("session_unreachable", { id: name, problem: error.message }, cause);
		default:
			return error;
	}
}
