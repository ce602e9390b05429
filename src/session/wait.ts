// Waiting: the first thing that happens ends it, and is named.
//
// One call is one turn of the conversation, so this is the only place where a
// caller spends time. A caller that goes away ends its wait and nothing else.

import type { Attention, Returned } from "../protocol/answer.ts";
import { expression, literal, type Matcher, NewText } from "./pattern.ts";
import { PlainStream } from "./plain-stream.ts";

/** What ends a wait, beside the program's waiting or ending. */
export interface Until {
	/** This text appears in new output. */
	readonly text?: string | undefined;
	/** A regular expression matches new output. */
	readonly pattern?: string | undefined;
	/** This text is no longer on the screen. */
	readonly gone?: string | undefined;
	/** No output for so long. */
	readonly stillMs?: number | undefined;
	/** A process of the session listens on this TCP port. */
	readonly port?: number | undefined;
	/** Only the conditions given here (and the end) count, not that the program waits. */
	readonly only?: boolean | undefined;
}

export interface WaitOptions {
	readonly until: Until;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
	/** Output before the wait that counts as new: for a wait that was cut off. */
	readonly already?: Uint8Array | undefined;
	/** What was just typed: its echo is not the program's answer. */
	readonly typed?: string | undefined;
}

/** What a wait needs of a session. */
export interface Awaited {
	readonly ended: boolean;
	readonly lastOutputAt: () => number;
	readonly onOutput: (listener: (bytes: Uint8Array) => void) => () => void;
	readonly onEnded: (listener: () => void) => () => void;
	readonly onDecided: (listener: (attention: Attention) => void) => () => void;
	readonly watch: () => () => void;
	/** The rows that a person sees now. */
	readonly visibleText: () => string;
	/** What changed on the screen since the wait began, as a person sees it. */
	readonly newOnScreen: () => string;
	readonly ports: () => Promise<readonly number[]>;
}

// A repaint comes in pieces: the screen is compared once they have settled, at the latest after this.
const REPAINT_MS = 15;
// No event tells of a new listening socket; a look costs about a millisecond.
const PORT_LOOK_MS = 100;

/** How a wait ended, and the verdict of that very moment where there was one. */
export interface Outcome {
	readonly returned: Returned;
	readonly attention: Attention | null;
}

export function waitFor(session: Awaited, options: WaitOptions): Promise<Outcome> {
	const { until, timeoutMs, signal } = options;
	const matchers: Matcher[] = [];
	if (until.text !== undefined) matchers.push(literal(until.text));
	if (until.pattern !== undefined) matchers.push(expression(until.pattern));
	const undo: (() => void)[] = [];

	return new Promise<Outcome>((resolve, reject) => {
		let over = false;
		const settle = (act: () => void) => {
			if (over) return;
			over = true;
			for (const each of undo) each();
			act();
		};
		const finish = (returned: Returned, attention: Attention | null = null) =>
			settle(() => resolve({ returned, attention }));
		/** A caller's pattern may be at fault, and that is the caller's to hear. */
		const guarded = (act: () => void) => {
			if (over) return;
			try {
				act();
			} catch (error) {
				settle(() => reject(error));
			}
		};
		const after = (ms: number, act: () => void) => {
			const timer = setTimeout(() => guarded(act), ms);
			undo.push(() => clearTimeout(timer));
			return timer;
		};

		const stream = new PlainStream();
		const fresh = new NewText(options.typed);
		const seeOutput = (bytes: Uint8Array) => {
			if (matchers.length === 0) return;
			fresh.add(stream.feed(bytes));
			const { text } = fresh;
			if (matchers.some((matches) => matches(text))) finish("matched");
		};
		const seeScreen = () => {
			if (until.gone !== undefined && !session.visibleText().includes(until.gone)) return finish("matched");
			if (matchers.length > 0) {
				const text = fresh.withoutEcho(session.newOnScreen());
				if (matchers.some((matches) => matches(text))) finish("matched");
			}
		};

		signal.addEventListener("abort", abort, { once: true });
		undo.push(() => signal.removeEventListener("abort", abort));
		function abort() {
			settle(() => reject(signal.reason));
		}
		if (signal.aborted) return abort();

		let repaint: NodeJS.Timeout | null = null;
		undo.push(
			session.onOutput((bytes) =>
				guarded(() => {
					seeOutput(bytes);
					if (over || repaint !== null || (matchers.length === 0 && until.gone === undefined)) return;
					repaint = after(REPAINT_MS, () => {
						repaint = null;
						seeScreen();
					});
				}),
			),
			session.onEnded(() =>
				guarded(() => {
					seeScreen();
					finish("ended");
				}),
			),
		);

		guarded(() => {
			if (options.already !== undefined) seeOutput(options.already);
			if (until.gone !== undefined) seeScreen();
			if (session.ended) finish("ended");
		});
		if (over) return;

		after(timeoutMs, () => {
			seeScreen();
			finish("timeout");
		});
		if (until.stillMs !== undefined) stillness(until.stillMs);
		if (until.port !== undefined) void lookForPort(until.port);
		undo.push(
			session.onDecided((attention) =>
				guarded(() => {
					if (until.only === true) return;
					const returned = turnEnds(attention);
					if (returned === null) return;
					seeScreen();
					finish(returned, attention);
				}),
			),
			session.watch(),
		);

		function stillness(stillMs: number) {
			const quietMs = Date.now() - session.lastOutputAt();
			if (quietMs >= stillMs) finish("still");
			else after(stillMs - quietMs, () => stillness(stillMs));
		}
		async function lookForPort(port: number) {
			const ports = await session.ports().catch((): readonly number[] => []);
			if (over) return;
			if (ports.includes(port)) finish("matched");
			else after(PORT_LOOK_MS, () => void lookForPort(port));
		}
	});
}

/** Whether this verdict gives the turn back: a server at rest, a stopped job or a stopped holder changes nothing by itself. */
function turnEnds({ activity }: Attention): Returned | null {
	if (activity === "waiting") return "waiting";
	return activity === "serving" || activity === "stopped" || activity === "unresponsive" ? "still" : null;
}
