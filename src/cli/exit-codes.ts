// The exit codes. The numbers are API: scripts branch on
// them, `dialtone help exit-codes` prints this table, and a number is never reused.

import { constants } from "node:os";
import type { ExitFacts, RunFacts } from "../protocol/answer.ts";
import type { FaultCode } from "../protocol/fault.ts";

export const EXIT = {
	ok: 0,
	fault: 1,
	usage: 2,
	noSuchSession: 3,
	notMet: 4,
	sessionEnded: 5,
	busy: 6,
	noDaemon: 7,
	notAllowed: 8,
	// `run` and `attach` pass the program's own code through, so their own
	// failures use the numbers of timeout(1) and `docker run`.
	passedTimeout: 124,
	passedFault: 125,
	interrupted: 130,
} as const;

export const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
	[EXIT.ok, "it worked"],
	[EXIT.fault, "a fault without a code of its own"],
	[EXIT.usage, "invalid command line or input; nothing was done"],
	[EXIT.noSuchSession, "there is no such session"],
	[EXIT.notMet, "`start`, `send`, `wait`: timed out, or it returned without the condition that was asked for"],
	[EXIT.sessionEnded, "the session has ended; nothing was typed"],
	[
		EXIT.busy,
		"not now: name taken, still running, shell busy, output changed, a person is in control or has to approve, too many sessions, port taken",
	],
	[EXIT.noDaemon, "the daemon cannot be reached, or is another version"],
	[EXIT.notAllowed, "not allowed, or not available here"],
	[EXIT.passedTimeout, "`run`, `exec`: the command timed out, or waits for input"],
	[EXIT.passedFault, "`run`, `exec`, `attach`: any error above except invalid usage; see `--json`"],
	[EXIT.interrupted, "interrupted by Ctrl+C"],
];

const BY_FAULT: Partial<Record<FaultCode, number>> = {
	bad_input: EXIT.usage,
	unknown_tool: EXIT.usage,
	unknown_key: EXIT.usage,
	bad_pattern: EXIT.usage,
	input_too_long: EXIT.usage,
	session_not_found: EXIT.noSuchSession,
	session_ended: EXIT.sessionEnded,
	name_taken: EXIT.busy,
	still_running: EXIT.busy,
	shell_busy: EXIT.busy,
	screen_moved: EXIT.busy,
	driven_by_human: EXIT.busy,
	typed_by_human: EXIT.busy,
	not_driving: EXIT.busy,
	not_asked: EXIT.busy,
	queue_full: EXIT.busy,
	out_of_resources: EXIT.busy,
	unresponsive: EXIT.busy,
	too_many_sessions: EXIT.busy,
	too_many_calls: EXIT.busy,
	port_taken: EXIT.busy,
	http_open: EXIT.busy,
	no_daemon: EXIT.noDaemon,
	taken_over: EXIT.noDaemon,
	daemon_replaced: EXIT.noDaemon,
	version_mismatch: EXIT.noDaemon,
	unusable_home: EXIT.noDaemon,
	unsafe_home: EXIT.notAllowed,
	foreign_daemon: EXIT.notAllowed,
	daemon_confined: EXIT.notAllowed,
	not_allowed: EXIT.notAllowed,
	denied_by_policy: EXIT.notAllowed,
	denied_by_person: EXIT.notAllowed,
	approval_pending: EXIT.busy,
	not_supported: EXIT.notAllowed,
};

export function exitCodeOfFault(code: FaultCode): number {
	return BY_FAULT[code] ?? EXIT.fault;
}

/** What follows the table. */
export const EXIT_NOTE =
	"`run`, `exec` and `attach` otherwise exit with the program's own code, or with 128 + n after signal n.";

/** The program's own exit code, as a shell would pass it on. */
export function exitCodeOfProgram(exit: ExitFacts | null): number {
	if (exit === null) return EXIT.passedFault;
	if (exit.code !== null) return exit.code;
	return 128 + (constants.signals[exit.signal as NodeJS.Signals] ?? 0);
}

/** The command's own exit code, where it ended by itself; that of its shell, where it ended that. */
export function exitCodeOfRun({ exitCode, timedOut, exit }: Pick<RunFacts, "exitCode" | "timedOut" | "exit">): number {
	if (timedOut || (exitCode === null && exit === null)) return EXIT.passedTimeout;
	return exitCode ?? exitCodeOfProgram(exit);
}
