// Every fault: a code, the facts, what to do next.
//
// A row is API: its code goes over the wire and its HTTP status is read from
// here; exit codes are groups of codes (cli/exit-codes.ts). Nothing else in the
// project composes an error message for a caller.
//
// A model reads these sentences, so outside values are filtered, and so they are in the
// `facts` of what leaves as JSON, which some hosts show to a model; in this process `facts`
// keep the raw values.

import { type CleanLine, cleanValues, inQuotes, joined, oneLine, safe } from "./clean.ts";
import { nearest } from "./nearest.ts";
import { own } from "./own.ts";
import { processNames } from "./process-names.ts";
import { isNewer } from "./version-order.ts";
import { called, openOnes, reachable, type Vocabulary, type VocabularyName, vocabularies } from "./vocabulary.ts";

interface FaultRow<F> {
	/** The HTTP status. */
	readonly status: number;
	readonly message: (facts: F, words: Vocabulary) => CleanLine;
	/** What the caller can do now, by the tools it has. */
	readonly next: (facts: F, words: Vocabulary) => CleanLine;
}

/** Where a fault names a session by its name, its id may come along: some callers know no other. */
interface SessionId {
	readonly sessionId?: string;
}

/** An ended session that was removed with its output. */
export interface RemovedSession {
	readonly name: string;
	/** Milliseconds since the epoch. */
	readonly endedAt: number | null;
	readonly at: number;
	/** Which limit it was removed for. */
	readonly because: "age" | "size";
}

const REMOVED_FOR = {
	age: "it had ended longer ago than DIALTONE_KEEP_DAYS says",
	size: "all sessions together had more output than DIALTONE_TOTAL_BYTES allows, and it was the oldest that had ended",
} as const;

const row = <F>(fields: FaultRow<F>): FaultRow<F> => fields;
const PROBLEM_CHARS = 1000;
const MAX_OTHERS = 3;
const MAX_HOSTS = 10;
const PATH_CHARS = 4096;
const listed = (names: readonly string[]) =>
	joined(
		names.map((name) => oneLine(name)),
		", ",
	);
/** At the beginning of a sentence. */
const TITLES = { session: "Session", terminal: "Terminal", process: "Process" } as const;
const title = (words: Vocabulary, name: string, id: string | undefined) =>
	safe`${TITLES[words.noun]} "${called(words, name, id)}"`;

const timeOf = (ms: number) => oneLine(new Date(ms).toISOString());
const processName = (pid: number) => (pid > 0 ? safe`process ${pid}` : safe`process unknown`);

const HOME_PROBLEMS: Readonly<Record<string, string>> = {
	ENOENT: "it cannot be created there",
	ENOTDIR: "not a directory",
	EACCES: "permission denied",
	EPERM: "permission denied",
	EROFS: "the file system is read-only",
	ENOSPC: "no space is left",
	EDQUOT: "the disk quota is exceeded",
	ELOOP: "too many levels of symbolic links",
	ENAMETOOLONG: "the path is too long",
	EIO: "the disk fails",
};

const SHORTAGES: Readonly<Record<string, string>> = {
	EMFILE: "Dialtone has reached its open-file limit",
	ENFILE: "The system has reached its open-file limit",
	ENOMEM: "No memory is left",
};

export const faults = {
	bad_input: row<{ problems: readonly string[] }>({
		status: 400,
		message: ({ problems }) => {
			const all = oneLine(problems.join("; "), PROBLEM_CHARS);
			return safe`Invalid input: ${all}${all.endsWith("?") ? "" : "."}`;
		},
		next: () => safe`Correct these fields and call again; nothing was done.`,
	}),
	unknown_tool: row<{ tool: string; tools: readonly string[] }>({
		status: 404,
		message: ({ tool }) => safe`There is no tool called "${oneLine(tool)}".`,
		next: ({ tool, tools }) => {
			const close = nearest(tool, tools);
			return close.length === 0 ? safe`Use one of: ${listed(tools)}.` : safe`Did you mean ${listed(close)}?`;
		},
	}),
	session_not_found: row<{
		id: string;
		/** The caller's own that run; left out where it is not known whose call it is. */
		open?: readonly string[];
		ids?: readonly string[];
		/** Those of this name that belong to others. */
		others?: readonly { readonly id: string; readonly owner: string }[];
		/** The last that was called so, where it was removed for a limit. */
		removed?: RemovedSession;
	}>({
		status: 404,
		message: ({ id, others = [], removed }, words) => {
			if (removed !== undefined)
				return safe`${title(words, id, undefined)} was removed with its output at ${timeOf(removed.at)}: ${REMOVED_FOR[removed.because]}.`;
			return others.length === 0
				? safe`There is no ${words.noun} called "${oneLine(id)}".`
				: safe`You have no ${words.noun} called "${oneLine(id)}"; nothing was done.`;
		},
		next: ({ id, open, ids, others = [] }, words) => {
			// Of numbers each is as near as the other.
			const close = /\d$/.test(id) ? [] : nearest(id, open ?? []);
			const meant = close.length === 0 ? "" : safe`Did you mean ${listed(close)}? `;
			const theirs = others
				.slice(0, MAX_OTHERS)
				.map((one) => safe`${oneLine(one.owner)} has one: its id is ${oneLine(one.id)}.`);
			const { list } = words.more ?? vocabularies.native.more;
			const own = open === undefined ? safe`${list} shows what there is.` : openOnes(words, open, ids);
			return safe`${meant}${joined([...theirs, own], " ")}`;
		},
	}),
	session_ended: row<{ id: string; how: string; maybeTyped?: boolean; onlyRead?: boolean } & SessionId>({
		status: 409,
		message: ({ id, sessionId, how, maybeTyped, onlyRead }, words) => {
			const typed = maybeTyped ? "; the input may have been typed before that" : "; nothing was typed";
			return safe`${title(words, id, sessionId)} has ended (${oneLine(how)})${onlyRead ? "" : typed}.`;
		},
		next: ({ id, sessionId }, words) =>
			safe`Its output is kept: ${words.recall?.(oneLine(sessionId ?? id)) ?? words.read} shows it. Open a new one with ${words.start} to continue.`,
	}),
	unresponsive: row<{ name: string; holderPid: number; maybeTyped?: boolean } & SessionId>({
		status: 503,
		message: ({ name, sessionId, holderPid, maybeTyped }, words) =>
			safe`${title(words, name, sessionId)} is not responding: its holder (${processName(holderPid)}) is stopped or stuck.${maybeTyped ? " What you sent may still take effect when it continues." : ""}`,
		next: ({ holderPid, maybeTyped }, { read, kill }) =>
			safe`Other sessions are not affected. If it was stopped, continue it${holderPid > 0 ? safe` (kill -CONT ${holderPid})` : ""} and ${maybeTyped ? safe`use ${read} before you type again` : "call again"}; ${kill} kills it.`,
	}),
	taken_over: row<{ name: string; maybeTyped?: boolean } & SessionId>({
		status: 503,
		message: ({ name, sessionId, maybeTyped }, words) =>
			safe`Another Dialtone daemon is taking over ${words.noun} "${called(words, name, sessionId)}"${maybeTyped ? "; what you sent may have taken effect" : ""}.`,
		next: ({ maybeTyped }, { noun, read }) =>
			safe`The ${noun} keeps running: ${maybeTyped ? safe`use ${read} before you type again` : "call again"}.`,
	}),
	session_unreachable: row<{ id: string; problem: string } & SessionId>({
		status: 503,
		message: ({ id, sessionId, problem }, words) =>
			safe`${title(words, id, sessionId)} is currently unreachable (${oneLine(problem)}).`,
		next: (_, { end }) =>
			safe`It may still be running: call again in a moment, or end it with ${end}. Other sessions are not affected.`,
	}),
	disk_stalled: row<{ id: string } & SessionId>({
		status: 503,
		message: ({ id, sessionId }, words) =>
			safe`Everything in ${words.noun} "${called(words, id, sessionId)}" was ended, but the disk that keeps its output does not answer: how it ended is not known yet.`,
		next: (_, { read }) => safe`Nothing of it runs any more; ${read} shows it when the disk answers again.`,
	}),
	name_taken: row<{
		name: string;
		/** It was to be started again. */
		again?: boolean;
	}>({
		status: 409,
		message: ({ name, again }, words) =>
			again
				? safe`${title(words, name, undefined)} is still running; nothing was started.`
				: safe`The name "${oneLine(name)}" is taken by a running ${words.noun}.`,
		next: ({ again }, { end, more }) =>
			again
				? safe`Use it as it is, or end it first with ${end}.`
				: safe`Use another name${more === undefined ? "" : safe`, or ${more.reuse} to reuse it`}, or end that one first with ${end}.`,
	}),
	still_running: row<
		{
			id: string;
			what: "program" | "background";
			/** What was refused; left out: a removal. */
			wanted?: "start";
			/** Those in the background. */
			processes?: readonly { readonly pid: number; readonly command: string }[];
		} & SessionId
	>({
		status: 409,
		message: ({ id, sessionId, what, wanted, processes = [] }, words) => {
			const not = wanted === "start" ? "nothing was started" : "nothing was removed";
			if (what === "program") return safe`${title(words, id, sessionId)} is still running; ${not}.`;
			const which = processes.length === 0 ? "" : safe` (${processNames(processes)})`;
			return safe`Something that ${words.noun} "${called(words, id, sessionId)}" started is still running${which}; ${not}.`;
		},
		next: ({ wanted }, { end, more }) => {
			if (wanted === "start")
				return safe`End it first with ${end}${more === undefined ? "" : safe`, use ${more.replace}`}, or choose another name.`;
			return safe`End it first with ${end}${more === undefined ? "" : safe`, or use ${more.forget}`}.`;
		},
	}),
	not_removed: row<{ id: string; problem: string; isOut: boolean } & SessionId>({
		status: 503,
		message: ({ id, sessionId, problem, isOut }, words) =>
			isOut
				? safe`${title(words, id, sessionId)} is removed, but not all of its files could be deleted (${oneLine(problem, PROBLEM_CHARS)}).`
				: safe`${title(words, id, sessionId)} could not be removed (${oneLine(problem, PROBLEM_CHARS)}); nothing was deleted.`,
		next: ({ isOut }) =>
			isOut
				? safe`Remaining files are deleted at the next daemon start, if possible.`
				: safe`Correct that and call again.`,
	}),
	too_many_sessions: row<{
		limit: number;
		/** The caller's own that run. */
		open: readonly string[];
		ids?: readonly string[];
		/** How many of the others count, too. */
		others?: number;
	}>({
		status: 429,
		message: ({ limit }) => safe`All ${limit} sessions are in use.`,
		next: ({ open, ids, others = 0 }, words) => {
			const theirs = others === 0 ? "" : safe` ${others} belong to other callers.`;
			return reachable(words, open).length === 0
				? safe`None of them is yours to end; retry later.${theirs}`
				: safe`End one you no longer need with ${words.end}. ${openOnes(words, open, ids)}${theirs}`;
		},
	}),
	too_many_calls: row<{ what: string; limit: number }>({
		status: 429,
		message: ({ what, limit }) => safe`Too many ${oneLine(what)} at once; the limit is ${limit}.`,
		next: () => safe`Wait for one to finish, or cancel it, and call again; nothing was done.`,
	}),
	too_large: row<{ what: string; limit: number; unit?: string }>({
		status: 413,
		message: ({ what, limit, unit = "bytes" }) => safe`${oneLine(what)} is larger than ${limit} ${oneLine(unit)}.`,
		next: (_, { more }) => safe`Send or ask for less at a time${more === undefined ? "" : safe`: ${more.less}`}.`,
	}),
	spawn_failed: row<{ stage: string; code: string; message: string; command: string; cwd?: string; in?: string }>({
		status: 422,
		message: ({ command, stage, message, cwd }) => {
			const where = stage === "chdir" && cwd !== undefined ? oneLine(cwd, PATH_CHARS) : oneLine(stage);
			return safe`"${oneLine(command)}" could not be started (${where}: ${oneLine(message)}).`;
		},
		next: ({ stage, code, command, in: place }, { directory }) =>
			stage === "chdir"
				? safe`Give ${directory} that exists.`
				: stage === "exec" && code === "ENOENT" && place !== undefined
					? safe`Install ${oneLine(command)} on this machine, which runs programs in ${oneLine(place)}, or start it without \`in\`.`
					: stage === "exec" && code === "ENOENT"
						? safe`Check the name and the PATH, or give an absolute path.`
						: stage === "exec" && code === "EACCES"
							? safe`The file is not executable for this user.`
							: stage === "pty" || code === "EMFILE" || code === "ENFILE" || code === "EAGAIN"
								? safe`The system is short of terminals, processes or descriptors: close sessions and try again.`
								: safe`Correct the call and try again.`,
	}),
	screen_moved: row<{ expected: number; offset: number }>({
		status: 409,
		message: ({ expected, offset }) =>
			safe`The program has printed more since your last answer (offset ${offset}, not ${expected}); nothing was typed.`,
		next: (_, { read }) => safe`Look at the new output (${read}) and decide again.`,
	}),
	line_too_long: row<{ limit: number }>({
		status: 413,
		message: ({ limit }) =>
			safe`The program reads whole lines and the kernel keeps only ${limit} bytes of one; nothing was typed.`,
		next: () => safe`Send shorter lines, or write the text to a file and pass its path.`,
	}),
	input_too_long: row<{ limit: number }>({
		status: 413,
		message: ({ limit }) => safe`At most ${limit} bytes are typed in one call; nothing was typed.`,
		next: () => safe`Send it in parts, or write the text to a file and pass its path.`,
	}),
	paste_refused: row<{ lines: number }>({
		status: 409,
		message: ({ lines }) =>
			safe`The program did not ask for bracketed paste, so ${lines === 1 ? "the line" : safe`each of the ${lines} lines`} would be entered${lines === 1 ? "" : " separately"}; nothing was typed.`,
		next: (_, { more = vocabularies.native.more }) =>
			safe`Send it as ${more.text} if that is intended, or set ${more.force}.`,
	}),
	queue_full: row<{ free: number }>({
		status: 429,
		message: ({ free }) => safe`The program is not reading its input (${free} bytes free); nothing was typed.`,
		next: (_, { wait, interrupt }) => safe`Wait until it reads again (${wait}), or interrupt it (${interrupt}).`,
	}),
	unknown_key: row<{ key: string; nearest: readonly string[] }>({
		status: 400,
		message: ({ key }) => safe`There is no key called "${oneLine(key)}"; nothing was typed.`,
		next: ({ nearest }, { more }) =>
			nearest.length > 0
				? safe`Did you mean ${listed(nearest)}?`
				: safe`Keys are named one by one: enter, ctrl+c, alt+x, up, f5, or a single character${more === undefined ? "" : safe`; words are typed with ${more.text}`}.`,
	}),
	bad_pattern: row<{ pattern: string; problem: string }>({
		status: 400,
		message: ({ pattern, problem }) =>
			safe`The pattern ${oneLine(JSON.stringify(pattern))} cannot be used: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Correct or simplify it, or give a literal text instead; nothing was done.`,
	}),
	shell_busy: row<{ shell: string; running: string; session: string }>({
		status: 409,
		message: ({ shell, running }) =>
			safe`Shell "${oneLine(shell)}" is still running ${inQuotes(oneLine(running))}; nothing was run.`,
		next: ({ session }, words) =>
			words === vocabularies.terminal
				? safe`It is ended at its own timeout; call again then, or use ${words.start} for what runs long.`
				: safe`Wait for it (${words.wait}), answer it (${words.type}), or stop it (${words.interrupt}), each with session "${oneLine(session)}"; or use ${(words.more ?? vocabularies.native.more).otherShell}.`,
	}),
	not_a_shell: row<{ name: string; command: string }>({
		status: 409,
		message: ({ name, command }) =>
			safe`Session "${oneLine(name)}" runs ${oneLine(command, 80)}, which was not opened as a shell for commands; nothing was run.`,
		next: ({ name }, { more = vocabularies.native.more }) =>
			safe`Type into it with ${more.typeInto(oneLine(name))}, or use ${more.otherShell}.`,
	}),
	driven_by_human: row<{ id: string; who: string; since: number } & SessionId>({
		status: 423,
		message: ({ id, sessionId, who, since }, words) =>
			safe`A person (${oneLine(who)}) has taken over ${words.noun} "${called(words, id, sessionId)}" (since ${timeOf(since)}); nothing was done.`,
		next: (_, { wait, read }) => safe`Wait until they hand it back (${wait}); reading (${read}) is possible.`,
	}),
	typed_by_human: row<{ id: string; did: readonly string[] } & SessionId>({
		status: 409,
		message: ({ id, sessionId, did }, words) =>
			safe`A person has used ${words.noun} "${called(words, id, sessionId)}" since your last answer; nothing was typed. ${oneLine(did.join(" "), PROBLEM_CHARS)}`,
		next: (_, { read }) => safe`Look at it first (${read}), then decide again.`,
	}),
	not_driving: row<{ id: string; who?: string } & SessionId>({
		status: 409,
		message: ({ id, sessionId, who }, words) =>
			safe`You do not drive ${words.noun} "${called(words, id, sessionId)}"${who === undefined ? "" : safe`: ${oneLine(who)} does`}; nothing was done.`,
		next: () => safe`Take it over to type.`,
	}),
	not_asked: row<{ id: string; what: string } & SessionId>({
		status: 409,
		message: ({ id, sessionId, what }, words) =>
			safe`${title(words, id, sessionId)} does not ask for ${oneLine(what)} now; nothing was typed.`,
		next: () => safe`Take it over to type something else.`,
	}),
	not_supported: row<{ what: string; instead: string }>({
		status: 501,
		message: ({ what }) => safe`${oneLine(what)} is not available here.`,
		next: ({ instead }) => oneLine(instead, PROBLEM_CHARS),
	}),
	no_daemon: row<{
		problem: string;
		/** A signal ended it before it was ready: that says nothing about the next one. */
		wasKilled?: boolean;
	}>({
		status: 503,
		message: ({ problem }) => safe`The Dialtone daemon is unreachable: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Run \`dialtone daemon restart\`; sessions keep running.`,
	}),
	daemon_replaced: row<{
		doing: string;
		repeatable: boolean;
		silent?: boolean;
		/** The machine of that daemon, where it is not this one. */
		host?: string;
	}>({
		status: 503,
		message: ({ doing, silent, host }) => {
			const does = oneLine(doing);
			if (host !== undefined)
				return silent === true
					? safe`The host "${oneLine(host)}" does not answer (${does}); what runs there may go on.`
					: safe`The connection to the host "${oneLine(host)}" was lost before it answered (${does}); what runs there may go on.`;
			return silent === true
				? safe`The Dialtone daemon does not answer (${does}); sessions keep running.`
				: safe`The Dialtone daemon was stopped or replaced before it answered (${does}); sessions keep running.`;
		},
		next: ({ doing, repeatable, host }, { noun, wait, shell }) => {
			if (repeatable)
				return host === undefined ? safe`The ${noun} is still running; retry.` : safe`Nothing was done; retry.`;
			if (host !== undefined)
				return safe`It may have taken effect: when the host is back, call ${wait} and look before you repeat anything.`;
			if (shell !== undefined && shell.run === doing)
				return safe`The command may have been run, and your bash goes on: ${shell.read} shows what it printed, and the next \`${oneLine(doing)}\` waits until it has ended.`;
			return safe`It may have taken effect. The ${noun} is still running: call ${wait} and look before you repeat anything.`;
		},
	}),
	http_open: row<{ url: string; port: number }>({
		status: 409,
		message: ({ url, port }) => safe`The daemon serves HTTP at ${oneLine(url)}, not on port ${port}.`,
		next: ({ port }) =>
			safe`Use that address, or run \`dialtone daemon stop\` and \`dialtone serve --port ${port}\`; sessions keep running.`,
	}),
	unsafe_home: row<{ directory: string; why: "owner" | "writable" | "open" | "link"; uid: number; mode: string }>({
		status: 403,
		message: ({ directory, why, uid, mode }) => {
			const at = oneLine(directory, PATH_CHARS);
			if (why === "owner") return safe`${at} belongs to another user (uid ${uid}); Dialtone does not use it.`;
			if (why === "link") return safe`${at} is a symbolic link; Dialtone does not follow it.`;
			if (why === "open")
				return safe`${at} can be read by other users (mode ${oneLine(mode)}); Dialtone does not use it.`;
			return safe`Other users can write in ${at} (mode ${oneLine(mode)}); Dialtone does not trust what is in it.`;
		},
		next: ({ directory, why }) => {
			const elsewhere = safe`set DIALTONE_HOME to a directory that only you can enter`;
			if (why === "open") return safe`Run: chmod 700 ${oneLine(directory, PATH_CHARS)}. Or ${elsewhere}.`;
			if (why === "writable") return safe`Look at what is in it before you close it (chmod go-w), or ${elsewhere}.`;
			if (why === "link") return safe`Set DIALTONE_HOME to the directory that it leads to, if that is yours.`;
			return safe`Find out who made it, or ${elsewhere}.`;
		},
	}),
	unusable_home: row<{ directory: string; code: string }>({
		status: 503,
		message: ({ directory, code }) =>
			safe`Dialtone cannot keep its files in ${oneLine(directory, PATH_CHARS)}: ${oneLine(own(HOME_PROBLEMS, code) ?? code)}.`,
		next: ({ code }) =>
			code === "ENOSPC" || code === "EDQUOT"
				? safe`Free some space, or set DIALTONE_HOME to a directory on another disk.`
				: safe`Set DIALTONE_HOME to a directory that you can write to.`,
	}),
	out_of_resources: row<{ code: string }>({
		status: 503,
		message: ({ code }) => safe`${oneLine(own(SHORTAGES, code) ?? "Out of resources")} (${oneLine(code)}).`,
		next: ({ code }) =>
			code === "EMFILE"
				? safe`End sessions or connections that are not needed, or raise the limit (\`ulimit -n\`) and run \`dialtone daemon restart\`.`
				: safe`End what is not needed and call again.`,
	}),
	foreign_daemon: row<{ socket: string; uid: number }>({
		status: 403,
		message: ({ socket, uid }) =>
			safe`The process that answers at ${oneLine(socket, PATH_CHARS)} belongs to another user (uid ${uid}); nothing was sent to it.`,
		next: () => safe`Find out who started it; or set DIALTONE_HOME to a directory that only you can enter.`,
	}),
	version_mismatch: row<{ ours: string; theirs: string }>({
		status: 409,
		message: ({ ours, theirs }) =>
			safe`This is Dialtone ${oneLine(ours)}, but the running daemon is ${oneLine(theirs)}.`,
		next: ({ theirs }) =>
			safe`Start this program again with Dialtone ${oneLine(theirs)}, or run \`dialtone daemon restart\` to go back; sessions keep running.`,
	}),
	port_taken: row<{ port: number }>({
		status: 409,
		message: ({ port }) => safe`Port ${port} is already in use.`,
		next: () => safe`Choose another with \`--port N\`; 0 takes a free one.`,
	}),
	not_allowed: row<{ what: string }>({
		status: 403,
		message: ({ what }) => safe`${oneLine(what)} is not allowed.`,
		next: () => safe`Ask the person who runs Dialtone.`,
	}),
	tokens_invalid: row<{ problem: string }>({
		status: 503,
		message: ({ problem }) => safe`The tokens cannot be used: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Correct the file, or remove it and create new tokens; sessions keep running.`,
	}),
	policy_invalid: row<{ problem: string }>({
		status: 503,
		message: ({ problem }) => safe`The policy cannot be used, so nothing was done: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`A person has to correct the file; sessions keep running.`,
	}),
	secret_unknown: row<{ name: string }>({
		status: 404,
		message: ({ name }) => safe`There is no secret called "${oneLine(name)}" that you may use; nothing was typed.`,
		next: () => safe`A person names secrets in the policy; \`dialtone secrets\` lists them.`,
	}),
	/** `forProgram`: it is refused to the program that would read it, now and later. */
	secret_refused: row<{ name: string; because: string; forProgram: boolean }>({
		status: 409,
		message: ({ name, because }) => safe`Secret "${oneLine(name)}" was not typed: ${oneLine(because, PROBLEM_CHARS)}.`,
		next: ({ forProgram }, { wait, read }) =>
			forProgram
				? safe`Sending it again does not help. Have a program ask for it that it is for, or ask the person to add this one to \`programs\` of the secret in the policy.`
				: safe`Wait until the program asks for it (${wait}, ${read}), then send it again.`,
	}),
	secret_unreadable: row<{ name: string; problem: string }>({
		status: 503,
		message: ({ name, problem }) =>
			safe`Secret "${oneLine(name)}" cannot be read, so nothing was typed: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`A person has to correct that; \`dialtone secrets test\` says whether it can be read.`,
	}),
	denied_by_policy: row<{ what: string; because: string | null }>({
		status: 403,
		message: ({ what, because }) =>
			safe`The policy of this machine does not allow ${oneLine(what)}${because === null ? "" : safe` (${oneLine(because, PROBLEM_CHARS)})`}; nothing was done.`,
		next: () => safe`Do it another way, or ask the person who runs Dialtone.`,
	}),
	denied_by_person: row<{ who: string; note: string | null }>({
		status: 403,
		message: ({ who, note }) =>
			safe`${oneLine(who)} has denied this${note === null ? "" : safe`: "${oneLine(note, PROBLEM_CHARS)}"`}; nothing was done.`,
		next: () => safe`Do not repeat it unchanged: it would be asked for again.`,
	}),
	approval_pending: row<{ id: string; what: string; page: string | null }>({
		status: 409,
		message: ({ id, what }) =>
			safe`A person has to approve this first (${oneLine(id)}: ${oneLine(what)}); nothing was done yet.`,
		next: ({ id, page }) =>
			safe`Call again with the same input to go on waiting. A person decides ${page === null ? "" : safe`on ${oneLine(page)} or `}with \`dialtone approve ${oneLine(id)}\`.`,
	}),
	approval_not_found: row<{ id: string; open: readonly string[] }>({
		status: 404,
		message: ({ id }) => safe`Nothing called "${oneLine(id)}" waits for approval: it was decided, or has expired.`,
		next: ({ open }) =>
			open.length === 0 ? safe`Nothing else waits for approval.` : safe`These wait for approval: ${listed(open)}.`,
	}),
	sandbox_unavailable: row<{ problem: string }>({
		status: 503,
		message: ({ problem }) =>
			safe`The sandbox cannot be made, so nothing was started: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Name another workspace or profile; what is missing on the machine a person has to provide.`,
	}),
	sandbox_exceeded: row<{ problem: string }>({
		status: 403,
		message: ({ problem }) => safe`Your sandbox does not allow that: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () =>
			safe`Stay within it, or leave \`sandbox\` out; only the owner of the machine can widen it, in policy.json.`,
	}),
	inside_session: row<{ what: string; session: string }>({
		status: 403,
		message: ({ what, session }) =>
			safe`${oneLine(what)} is not allowed from inside session ${oneLine(session)}: what runs there may use only the sessions that were started from there.`,
		next: () => safe`Do it from outside; the owner of the machine can allow it: "inside": "all" in policy.json.`,
	}),
	caller_confined: row<{ why: string }>({
		status: 403,
		message: ({ why }) =>
			safe`You are confined (${oneLine(why)}), and what is started here would not be: nothing was done.`,
		next: () =>
			safe`The owner of the machine can allow such callers: "elsewhere": "allow" in policy.json. Where it is the daemon that is confined, see docs/confined-sessions.md.`,
	}),
	daemon_confined: row<{ pid: number; why: string }>({
		status: 503,
		message: ({ pid, why }) =>
			safe`The daemon (process ${pid}) is confined (${oneLine(why)}) and you are not: a confined program started it when none ran.`,
		next: ({ pid }) =>
			safe`End it with \`kill ${pid}\`: no session runs, so nothing is lost, and the next call starts a daemon that is not confined.`,
	}),
	too_many_requests: row<{ what: string }>({
		status: 429,
		message: ({ what }) => safe`Too much at once: ${oneLine(what)} are in progress.`,
		next: () => safe`Call again when some have ended; nothing was done.`,
	}),
	tls_unusable: row<{ problem: string }>({
		status: 400,
		message: ({ problem }) => safe`HTTP for other machines cannot be opened: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Correct it and run \`dialtone serve\` again; nothing was opened.`,
	}),
	fleet_files_unusable: row<{ problem: string }>({
		status: 400,
		message: ({ problem }) => safe`The fleet's files cannot be used: ${oneLine(problem, PROBLEM_CHARS)}.`,
		next: () => safe`Correct it and repeat the command; nothing was changed.`,
	}),
	too_many_bad_tokens: row<{ seconds: number }>({
		status: 429,
		message: () => safe`Too many requests had a token that is not valid.`,
		next: ({ seconds }) => safe`Use a valid token, which is served at once; others are refused for ${seconds} s.`,
	}),
	fleet_unreachable: row<{ problem: string; since?: number }>({
		status: 503,
		message: ({ problem, since }) =>
			safe`The fleet's servers are not reached${since === undefined ? "" : safe` since ${timeOf(since)}`} (${oneLine(problem, PROBLEM_CHARS)}); nothing was done on another host.`,
		next: () =>
			safe`Sessions of this host work as before. \`dialtone fleet status\` says how it stands with the servers; other hosts answer again when they are reached.`,
	}),
	serves_only: row<{ what: string }>({
		status: 403,
		message: ({ what }) =>
			safe`${oneLine(what)} cannot be used: this machine's credentials let it serve its sessions to others and ask for none.`,
		next: () =>
			safe`Join with others to use other hosts: dialtone join --creds FILE. Own sessions are named without a host.`,
	}),
	host_unreachable: row<{
		host: string;
		/** What is known beside that it does not answer. */
		problem?: string;
		/** Null: it was not heard of since this daemon joined. */
		since?: number | null;
		/** What was asked for may have been done before its answer was lost. */
		maybeDone?: boolean;
	}>({
		status: 503,
		message: ({ host, problem, since, maybeDone }) =>
			safe`Host "${oneLine(host)}" is unreachable${since == null ? "" : safe` since ${timeOf(since)}`}${problem === undefined ? "" : safe` (${oneLine(problem, PROBLEM_CHARS)})`}${maybeDone ? "; what you asked for may have been done there" : "; nothing was done"}.`,
		next: ({ maybeDone }, { read }) =>
			maybeDone
				? safe`It is not repeated on another host. Call again when this one is back, and look first (${read}).`
				: safe`Its sessions may still be running: call again when it is back, or use another host.`,
	}),
	host_taken: row<{ host: string }>({
		status: 409,
		message: ({ host }) =>
			safe`Another machine or user is in the fleet as "${oneLine(host)}"; this machine has not joined.`,
		next: () => safe`Join under another name: dialtone join ... --as NAME.`,
	}),
	host_in_use: row<{ host: string }>({
		status: 409,
		message: ({ host }) => safe`Host "${oneLine(host)}" is in the fleet; nothing was removed.`,
		next: () => safe`Have it leave: dialtone fleet leave, on that machine.`,
	}),
	host_version: row<{ host: string; ours: string; theirs: string }>({
		status: 409,
		message: ({ host, ours, theirs }) =>
			safe`Host "${oneLine(host)}" runs Dialtone ${oneLine(theirs)}, and this machine ${oneLine(ours)}; nothing was done.`,
		next: ({ host, ours, theirs }) =>
			isNewer(theirs, ours)
				? safe`Its sessions keep running. Upgrade this machine to ${oneLine(theirs)}, or use another host.`
				: safe`Its sessions keep running. They can be used from here again once ${oneLine(host)} is upgraded to ${oneLine(ours)}.`,
	}),
	unknown_host: row<{ host: string; hosts: readonly string[] }>({
		status: 404,
		message: ({ host }) => safe`There is no host called "${oneLine(host)}" in the fleet; nothing was done.`,
		next: ({ host, hosts }) => {
			const close = nearest(host, hosts);
			if (close.length > 0) return safe`Did you mean ${listed(close)}?`;
			return hosts.length === 0 ? safe`No other host has joined.` : safe`Hosts: ${listed(hosts.slice(0, MAX_HOSTS))}.`;
		},
	}),
	no_host_fits: row<{ wanted: string; misfits: readonly { readonly host: string; readonly why: string }[] }>({
		status: 409,
		message: ({ wanted, misfits }) => {
			const each = misfits.slice(0, MAX_HOSTS).map((one) => safe`${oneLine(one.host)}: ${oneLine(one.why)}`);
			const more = misfits.length > MAX_HOSTS ? safe`; and ${misfits.length - MAX_HOSTS} more` : "";
			return safe`No host fits ${oneLine(wanted)}; nothing was started (${each.length === 0 ? "no host is known" : safe`${joined(each, "; ")}${more}`}).`;
		},
		next: () => safe`Ask for less, name a \`host\`, or end what is not needed on one of them.`,
	}),
	not_in_fleet: row<{ what: string }>({
		status: 409,
		message: ({ what }) => safe`${oneLine(what)} needs a fleet, which this daemon has not joined; nothing was done.`,
		next: () => safe`Leave it out to use this host; a person joins a fleet with \`dialtone join\`.`,
	}),
	internal: row<{ problem: string }>({
		status: 500,
		message: ({ problem }) => safe`Dialtone failed: ${oneLine(problem, PROBLEM_CHARS)}`,
		next: () => safe`Try again; \`dialtone doctor\` may show why.`,
	}),
} as const;

export type FaultCode = keyof typeof faults;
export type FaultFacts<C extends FaultCode> = Parameters<(typeof faults)[C]["message"]>[0];

/** Thrown internally, sent to callers as `{ fault, message, next }`. */
export class Fault<C extends FaultCode = FaultCode> extends Error {
	readonly code: C;
	readonly facts: FaultFacts<C>;
	readonly next: CleanLine;
	readonly status: number;
	/** In whose words. */
	readonly words: VocabularyName;
	declare readonly message: CleanLine;

	constructor(code: C, facts: FaultFacts<C>, options: { cause?: unknown; words?: VocabularyName } = {}) {
		const { message, next, status } = faults[code] as FaultRow<unknown>;
		const { cause, words = "native" } = options;
		super(message(facts, vocabularies[words]), cause === undefined ? {} : { cause });
		this.name = "Fault";
		this.code = code;
		this.facts = facts;
		this.next = next(facts, vocabularies[words]);
		this.status = status;
		this.words = words;
	}

	/** The same in the words of another tool set. */
	in(words: VocabularyName): Fault {
		if (words === this.words) return this as unknown as Fault;
		return new Fault(this.code, this.facts as FaultFacts<FaultCode>, { cause: this.cause, words });
	}

	/** What a model reads: the code first, which it can look for in what it was told before. */
	get text(): CleanLine {
		return safe`${oneLine(this.code)}: ${this.message} ${this.next}`;
	}

	toJSON(): FaultJson {
		const { code, message, next, facts, words } = this;
		return { fault: code, message, next, facts: cleanValues(facts), ...(words !== "native" && { words }) };
	}

	/** Restores a fault received over the wire. Never throws: what cannot be read, from a host that is not honest, is `internal`. */
	static from({ fault, facts, words = "native" }: FaultJson): Fault {
		try {
			const isKnown = own(faults, fault) !== undefined && own(vocabularies, words) !== undefined;
			if (isKnown) return new Fault(fault, facts as FaultFacts<FaultCode>, { words });
		} catch {
			// facts of another shape: no sentence can be made of them
		}
		return new Fault("internal", { problem: "the refusal that came cannot be read" });
	}
}

/** Whether it is this fault, with its facts. */
export const isFault = <C extends FaultCode>(error: unknown, code: C): error is Fault<C> =>
	error instanceof Fault && error.code === code;

export interface FaultJson {
	readonly fault: FaultCode;
	readonly message: string;
	readonly next: string;
	readonly facts: unknown;
	/** Of which tool set the words are; native where it is not said. */
	readonly words?: VocabularyName;
}
