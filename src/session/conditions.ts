// What can end a wait on a session, each condition by itself, and how the
// caller's `until` is composed of them.

import { setTimeout } from "node:timers/promises";
import { type Activity, type Attention, MATCHED_BY, type MatchedBy, type Returned } from "../protocol/answer.ts";
import type { CleanLine } from "../protocol/clean.ts";
import type { DriverChange } from "../protocol/driver.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Condition, WaitScope } from "../pty/wait.ts";
import { EchoFilter, type TypedText } from "./echo-filter.ts";
import { type Pace, paceOf } from "./pace.ts";
import { expression, literal, type Matcher, PIECE_CHARS } from "./pattern.ts";
import { PlainStream } from "./plain-stream.ts";

/** How a wait ended, and the verdict at that moment, if any. */
export interface Outcome<R extends string = Returned> {
	readonly returned: R;
	readonly attention: Attention | null;
	/** By a condition that the caller gave; null where none was given. */
	readonly matched: boolean | null;
	/** Which condition of the caller's came true. */
	readonly match?: Match;
	/** Why the pattern could not be waited for any longer. */
	readonly gaveUp?: CleanLine;
}

/** A condition that came true, and what it was about. */
export interface Match extends Pick<Until, "text" | "pattern"> {
	readonly by: MatchedBy;
	/** One of several. */
	readonly several: boolean;
}

/** What a caller waits for; any one of them. */
export interface Until {
	/** This text appears in new output. */
	readonly text?: string | undefined;
	/** A regular expression matches new output. */
	readonly pattern?: string | undefined;
	/** This text was on the screen, then or now, and no longer is. */
	readonly gone?: string | undefined;
	/** No output for this many milliseconds. */
	readonly stillMs?: number | undefined;
	/** A process of the session listens on this TCP port. */
	readonly port?: number | undefined;
	/** That the program waits does not count, in no tool. */
	readonly only?: boolean | undefined;
}

/** Refuses a pattern that is none, before anything is typed or started. */
export function checkUntil({ pattern }: Until = {}): void {
	if (pattern !== undefined) expression(pattern);
}

const given = (until: Until): readonly MatchedBy[] => MATCHED_BY.filter((by) => until[by] !== undefined);

export const hasCondition = (until: Until): boolean => given(until).length > 0;

/** A condition that may have something left to try when another one has ended the wait. */
export interface CallerCondition extends Condition<Outcome> {
	/** Tries it at the caller's pace, for a moment: the outcome if it is true after all. */
	late?(signal: AbortSignal | undefined): Promise<Outcome | null>;
}

/** A busy machine makes a caller pause, and what has come meanwhile must not go unseen; a slow pattern is not waited for. */
const LATE_MS = 1000;

/** What a wait that has ended otherwise would have found if its caller had not had to pause. */
export async function lateMatch(
	conditions: readonly CallerCondition[],
	signal: AbortSignal | undefined,
): Promise<Outcome | null> {
	for (const condition of conditions) {
		const outcome = (await condition.late?.(signal)) ?? null;
		if (outcome !== null) return outcome;
	}
	return null;
}

/** Which verdicts end a wait; the end of the program always does. */
type Endings = ReadonlySet<Activity>;
/** It is the caller's turn, or nothing more will come by itself. */
const ANY_REST: Endings = new Set(["waiting", "serving", "stopped", "unresponsive"]);
/** A server at rest may still print what is awaited; a program that wants input or to be continued will not. */
const NEEDS_CALLER: Endings = new Set(["waiting", "stopped", "unresponsive"]);
/** Nothing else would end the wait. */
const NO_ANSWER: Endings = new Set(["unresponsive"]);

function endingsFor(until: Until, strict: boolean): Endings {
	if (until.only === true) return NO_ANSWER;
	if (!hasCondition(until)) return ANY_REST;
	return strict ? NO_ANSWER : NEEDS_CALLER;
}

/** What counts as new to a text or a pattern. */
export interface NewOutput {
	/** Output from before the wait: for a wait that was cut off. */
	readonly already?: Uint8Array | undefined;
	/** What was just typed: its echo is not the program's answer. */
	readonly typed?: readonly TypedText[] | undefined;
	/** What has changed on the screen since the wait began, as a person sees it. */
	readonly newOnScreen: () => string;
	/** Whose share of the loop it takes. */
	readonly caller?: string | undefined;
}

interface HasEnd {
	readonly ended: boolean;
	onEnded(listener: () => void): () => void;
}

interface HasDriver {
	readonly driving: { onChange(listener: (change: DriverChange) => void): () => void };
}

interface HasAttention {
	onDecided(listener: (attention: Attention) => void): () => void;
	/** The verdict, where it need not be asked for. */
	readonly currentAttention: Attention | null;
	/** Asks the holder to watch the program; returns the function that stops it. */
	watch(options?: { readonly ask?: boolean }): () => void;
}

interface HasOutput {
	onOutput(listener: (chunk: OutputChunk) => void): () => void;
}

interface HasPorts {
	ports(): Promise<readonly number[]>;
}

interface HasScreen {
	readonly screen: { snapshot(): { readonly text: string } };
}

/** What a wait needs from a session. */
export interface Awaited extends HasEnd, HasDriver, HasAttention, HasOutput, HasPorts, HasScreen {}

// A repaint arrives in pieces: the screen is compared once they are complete, at the latest after this.
const REPAINT_MS = 15;
// What is kept for a pattern that pauses; a program that prints more meanwhile has the rest on its screen.
const MAX_UNTRIED_CHARS = 256 * 1024;
// No event announces a new listening socket; a poll costs about a millisecond.
const PORT_POLL_MS = 100;

const outcome = <R extends string>(returned: R, matched = false): Outcome<R> => ({
	returned,
	attention: null,
	matched,
});
const MATCHED = outcome("matched", true);
const MARKED = outcome("marked");

interface CallerWait extends NewOutput {
	readonly timeoutMs: number;
	/** A condition that was given is what is waited for: a program that waits for input does not end the wait. */
	readonly strict?: boolean | undefined;
	/** That the program waits is known, and somebody else's turn. */
	readonly isOldNews?: ((verdict: Attention) => boolean) | undefined;
}

/** The conditions of a caller's wait, in the order of their precedence. */
export function conditionsOf(
	session: Awaited,
	until: Until,
	{ timeoutMs, strict = false, isOldNews, ...output }: CallerWait,
): CallerCondition[] {
	const { text, pattern, gone: away, port, stillMs } = until;
	const pace = paceOf(output.caller ?? "");
	const several = given(until).length > 1;
	const telling = (by: MatchedBy, condition: CallerCondition, about: Pick<Match, "text" | "pattern"> = {}) =>
		withMatch(condition, { by, several, ...about });
	return [
		...(text === undefined ? [] : [telling("text", appears(session, literal(text), { ...output, pace }), { text })]),
		...(pattern === undefined
			? []
			: [telling("pattern", appears(session, expression(pattern), { ...output, pace }), { pattern })]),
		...(away === undefined ? [] : [telling("gone", gone(session, away, { ...output, pace }))]),
		ended(session),
		handedBack(session),
		...(port === undefined ? [] : [telling("port", listening(session, port))]),
		...(stillMs === undefined ? [] : [telling("stillMs", stillness(session, stillMs))]),
		attention(session, { endings: endingsFor(until, strict), isOldNews }),
		timeout(timeoutMs),
	];
}

/** The same condition; its outcome says what came true. */
function withMatch(condition: CallerCondition, match: Match): CallerCondition {
	const matched = (outcome: Outcome | null) => outcome && { ...outcome, match };
	return {
		start: (scope) => condition.start({ ...scope, settle: (outcome) => scope.settle({ ...outcome, match }) }),
		test: () => matched(condition.test?.() ?? null),
		late: async (signal) => matched((await condition.late?.(signal)) ?? null),
	};
}

export function ended(session: HasEnd): Condition<Outcome<"ended">> {
	return {
		start(scope) {
			if (session.ended) scope.settle(outcome("ended"));
			scope.own(session.onEnded(scope.guard<void>(() => scope.settle(outcome("ended")))));
		},
	};
}

/** A person who drives does no longer. */
export function handedBack({ driving }: HasDriver): Condition<Outcome<"handed_back">> {
	return {
		start: (scope) =>
			scope.own(
				driving.onChange(
					scope.guard<DriverChange>(({ driver }) => {
						if (driver.kind === "agent") scope.settle(outcome("handed_back"));
					}),
				),
			),
	};
}

interface AttentionOptions extends Pick<CallerWait, "isOldNews"> {
	readonly endings?: Endings;
	readonly afterMs?: number;
}

/**
 * The program gives the turn back. Whatever ends the wait, the verdict is current by then.
 * `afterMs`: most waits have ended by then without a probe.
 */
export function attention(
	session: HasAttention,
	{ endings = ANY_REST, afterMs = 0, isOldNews = () => false }: AttentionOptions = {},
): Condition<Outcome<"waiting" | "still">> {
	const watch = (scope: WaitScope<Outcome<"waiting" | "still">>) => {
		const decided = (verdict: Attention) => {
			if (!endings.has(verdict.activity)) return;
			if (verdict.activity === "waiting" && isOldNews(verdict)) return;
			scope.settle({ ...outcome(verdict.activity === "waiting" ? "waiting" : "still"), attention: verdict });
		};
		scope.own(session.onDecided(scope.guard(decided)));
		const { currentAttention: current } = session;
		scope.own(session.watch({ ask: current === null }));
		if (current !== null) decided(current);
	};
	return { start: (scope) => (afterMs === 0 ? watch(scope) : scope.after(afterMs, () => watch(scope))) };
}

/** The program has taken all that was typed and sleeps again, or has ended. */
export function taken(
	tracker: { onTaken(listener: () => void): () => void; watch(): () => void },
	session: HasEnd,
): Condition<boolean> {
	return {
		start(scope) {
			const settle = scope.guard<void>(() => scope.settle(true));
			if (session.ended) scope.settle(true);
			scope.own(session.onEnded(settle));
			scope.own(tracker.onTaken(settle));
			scope.own(tracker.watch());
		},
	};
}

/** No thread of the program is at work, and it has drawn. */
export function rested(tracker: {
	onRested(listener: () => void): () => void;
	watch(): () => void;
}): Condition<Outcome<"still">> {
	return {
		start(scope) {
			scope.own(tracker.onRested(scope.guard<void>(() => scope.settle(outcome("still")))));
			scope.own(tracker.watch());
		},
	};
}

/** A match in new output: in the text as it comes, or on the screen after a repaint. */
function appears(
	session: HasOutput,
	matcher: Matcher,
	{ already, typed = [], newOnScreen, pace }: NewOutput & { readonly pace: Pace },
): CallerCondition {
	const stream = new PlainStream();
	const echo = new EchoFilter(typed);
	let untried = "";
	let painted = false;
	const inPiece = () => {
		const text = untried.slice(0, PIECE_CHARS);
		untried = untried.slice(PIECE_CHARS);
		return matcher.feed(text);
	};
	/** What a pause has left untried, too: in pieces, so that each stays within the limit of a match. */
	const inStream = () => {
		while (untried !== "") if (inPiece()) return true;
		return false;
	};
	const onScreen = () => {
		const isNew = painted;
		painted = false;
		return isNew && matcher.test(echo.without(newOnScreen()));
	};
	return {
		start(scope) {
			const text = paced(scope, pace, () => untried !== "", inPiece);
			const screen = paced(scope, pace, () => painted, onScreen);
			const take = (bytes: Uint8Array) => {
				untried = (untried + echo.feed(stream.feed(bytes))).slice(-MAX_UNTRIED_CHARS);
				text.attempt();
			};
			if (already !== undefined) take(already);
			const printed = (chunk: OutputChunk) => {
				if ("gap" in chunk) return;
				painted = true;
				take(chunk.bytes);
				screen.later(REPAINT_MS);
			};
			scope.own(session.onOutput(scope.guard(printed)));
		},
		test: atPace(pace, () => inStream() || onScreen()),
		async late(signal) {
			const until = performance.now() + LATE_MS;
			while (untried !== "" || painted) {
				const restMs = pace.restMs();
				if (performance.now() + restMs > until) return null;
				await setTimeout(restMs, undefined, { signal });
				if (pace.run(untried === "" ? onScreen : inPiece)) return MATCHED;
			}
			return null;
		},
	};
}

/** A text was on the screen and no longer is. One that is not there when the wait begins has to appear first. */
function gone(
	session: HasOutput & HasScreen,
	text: string,
	{ already, typed = [], pace }: NewOutput & { readonly pace: Pace },
): Condition<Outcome<"matched">> {
	const stream = new PlainStream();
	const echo = new EchoFilter(typed);
	const appearing = literal(text);
	let appeared = false;
	/** In the output too: what is shown for a moment only may be gone before the screen is looked at. */
	const take = (bytes: Uint8Array) => {
		appeared ||= appearing.feed(echo.feed(stream.feed(bytes)));
	};
	const isGone = () => {
		const isShown = appearing.test(echo.without(session.screen.snapshot().text));
		appeared ||= isShown;
		return appeared && !isShown;
	};
	return {
		start(scope) {
			let painted = true;
			const check = paced(
				scope,
				pace,
				() => painted,
				() => {
					painted = false;
					return isGone();
				},
			);
			if (already !== undefined) take(already);
			check.attempt();
			const printed = (chunk: OutputChunk) => {
				if (!("gap" in chunk)) take(chunk.bytes);
				painted = true;
				check.later(REPAINT_MS);
			};
			scope.own(session.onOutput(scope.guard(printed)));
		},
		test: atPace(pace, isGone),
	};
}

/** A last check, unless the caller is over its share: twenty waits that end together would stall the loop. */
const atPace = (pace: Pace, matches: () => boolean) => () =>
	pace.restMs() === 0 && pace.run(matches) ? MATCHED : null;

/** Tries as long as there is something to try, at the caller's pace; a match ends the wait. */
function paced(
	scope: WaitScope<Outcome>,
	pace: Pace,
	isLeft: () => boolean,
	matches: () => boolean,
): { attempt(): void; later(ms: number): void } {
	const attempt = () => {
		while (isLeft()) {
			const restMs = pace.restMs();
			if (restMs > 0) return later(restMs);
			if (pace.run(matches)) return scope.settle(MATCHED);
		}
	};
	const later = once(scope, attempt);
	return { attempt, later };
}

/** No output for this long, counted from the later of the last output and the beginning of the wait. */
export function stillness(session: HasOutput, stillMs: number): Condition<Outcome<"still">> {
	return {
		start(scope) {
			let since = performance.now();
			const restart = () => {
				since = performance.now();
			};
			scope.own(session.onOutput(scope.guard(restart)));
			const check = () => {
				const leftMs = since + stillMs - performance.now();
				if (leftMs > 0) scope.after(leftMs, check);
				else scope.settle(outcome("still", true));
			};
			scope.after(stillMs, check);
		},
	};
}

/** A process of the session listens on this TCP port. */
function listening(session: HasPorts, port: number): Condition<Outcome<"matched">> {
	return {
		start(scope) {
			const poll = async () => {
				const ports = await session.ports().catch((): readonly number[] => []); // a process ended meanwhile
				if (ports.includes(port)) scope.settle(MATCHED);
				else scope.after(PORT_POLL_MS, () => void poll());
			};
			void poll();
		},
	};
}

export function timeout(ms: number): Condition<Outcome<"timeout">> {
	return { start: (scope) => scope.after(ms, () => scope.settle(outcome("timeout"))) };
}

/** Output has come up to this offset. */
export function received(
	session: HasOutput & { readonly journal: { readonly end: number } },
	offset: number,
): Condition<Outcome<"matched">> {
	return {
		start(scope) {
			const check = () => {
				if (session.journal.end >= offset) scope.settle(MATCHED);
			};
			check();
			scope.own(session.onOutput(scope.guard(check)));
		},
	};
}

/** True according to the shell's marks. */
export function marked(
	commands: { onMark(listener: () => void): () => void },
	isTrue: () => boolean,
): Condition<Outcome<"marked">> {
	return {
		start(scope) {
			const check = () => {
				if (isTrue()) scope.settle(MARKED);
			};
			check();
			scope.own(commands.onMark(scope.guard<void>(check)));
		},
		test: () => (isTrue() ? MARKED : null),
	};
}

/** At most one pending call of `act`. */
function once<T>(scope: WaitScope<T>, act: () => void): (ms: number) => void {
	let pending = false;
	return (ms) => {
		if (pending) return;
		pending = true;
		scope.after(ms, () => {
			pending = false;
			act();
		});
	};
}
