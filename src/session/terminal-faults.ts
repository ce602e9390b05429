// How a session ended, in words, and what a terminal's error means to its caller.

import { constants } from "node:os";
import type { ExitFacts, Status } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import { PtyError, PtyIoError } from "../pty/errors.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Session } from "./session.ts";

const { errno } = constants;

/** `because`: why, where neither the program nor a caller decided it. */
export function describeEnd(status: Status, exit: ExitFacts | null, because: string | null = null): string {
	if (status === "stream_lost") return because ?? "its holder died, so how it ended is unknown";
	// A start that failed has no exit, only the reason.
	if (exit === null || (exit.code === null && exit.signal === null)) return because ?? status;
	const how = exit.signal !== null ? `killed by ${exit.signal}` : `exit code ${exit.code}`;
	if (because !== null) return `${because}; ${how}`;
	return status === "cancelled" ? `closed, ${how}` : how;
}

/** Its holder died, and this lives all the same. */
export function describeLeft(program: number, left: readonly { readonly pid: number }[]): string {
	const runs = left.some(({ pid }) => pid === program) ? `its program (pid ${program})` : "something that it started";
	return left.length === 0 ? describeEnd("stream_lost", null) : `its holder died; ${runs} still runs`;
}

/** What the kernel answers for a terminal or a process that is gone. */
const ENDED_ERRNOS: ReadonlySet<number> = new Set([errno.EIO, errno.ESRCH, errno.EBADF, errno.ENXIO, errno.ENOTTY]);

/** A terminal error as a fault. */
export function asFault(
	error: unknown,
	{ name, id, status, howItEnded }: Pick<Session, "name" | "id" | "status" | "howItEnded">,
	{ types = true } = {},
): unknown {
	if (!(error instanceof PtyError)) return error;
	const facts = error instanceof PtyIoError ? error.facts : {};
	const maybeTyped = error.sent;
	const cause = { cause: error };
	const session = { id: name, sessionId: id };
	const ended = types ? { ...session, maybeTyped } : { ...session, onlyRead: true };
	const how = hasEnded(status) ? howItEnded : "just now";
	switch (error.code) {
		case "line_too_long":
			return new Fault("line_too_long", { limit: facts.limit ?? 4095 }, cause);
		case "input_too_long":
			return new Fault("input_too_long", { limit: facts.limit ?? 0 }, cause);
		case "queue_full":
			return new Fault("queue_full", { free: facts.free ?? 0 }, cause);
		case "ended":
			return new Fault("session_ended", { ...ended, how }, cause);
		case "lost":
			return new Fault("session_ended", { ...ended, how: describeEnd("stream_lost", null) }, cause);
		case "unresponsive":
			return new Fault("unresponsive", { name, sessionId: id, holderPid: facts.holderPid ?? 0, maybeTyped }, cause);
		case "not_owner":
		case "fenced":
		case "disconnected":
			return new Fault("taken_over", { name, sessionId: id, maybeTyped }, cause);
		case "disk_stalled":
			return new Fault("disk_stalled", session, cause);
		case "bad_signal":
			return new Fault("bad_input", { problems: [error.message] }, cause);
		case "system":
			// The terminal is closed: the news of the end is on its way.
			if (hasEnded(status) || ENDED_ERRNOS.has(facts.errno ?? 0))
				return new Fault("session_ended", { ...ended, how }, cause);
			return new Fault("session_unreachable", { ...session, problem: error.message }, cause);
		case "bad_frame":
		case "input_gap":
			return new Fault("session_unreachable", { ...session, problem: error.message }, cause);
		default:
			return error;
	}
}
