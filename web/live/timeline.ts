// A session's past: its marks, where they are on a line, and what each says.

import type { Mark } from "../../src/protocol/timeline.ts";
import { type ShownState, stateWords } from "./person-session.ts";

export interface StateSpan {
	readonly state: ShownState;
	readonly fromMs: number;
	readonly toMs: number;
}

/** What is recorded is the program's activity, which has more words than the page has colours. */
const RECORDED_STATES: Readonly<Record<string, ShownState>> = {
	starting: "working",
	working: "working",
	waiting: "waiting",
	secret: "secret",
	listening: "serving",
	serving: "serving",
	"needs-you": "needs-you",
};

/** The states, one after the other, over the whole line. */
export function stateSpans(marks: readonly Mark[], durationMs: number): readonly StateSpan[] {
	const spans: StateSpan[] = [];
	for (const mark of marks) {
		if (mark.kind !== "state") continue;
		const before = spans.at(-1);
		const state = RECORDED_STATES[mark.state] ?? "stopped";
		if (before?.state === state) continue;
		if (before !== undefined) spans[spans.length - 1] = { ...before, toMs: mark.at };
		spans.push({ state, fromMs: mark.at, toMs: durationMs });
	}
	return spans.filter(({ fromMs, toMs }) => toMs > fromMs);
}

/** One mark for each of `places` positions of a line: thousands of marks are drawn as no more than can be told apart. */
export function thinned(marks: readonly Mark[], durationMs: number, places: number): readonly Mark[] {
	const kept = new Map<number, Mark>();
	for (const mark of marks) {
		if (mark.kind === "state") continue;
		const place = Math.floor((mark.at / Math.max(1, durationMs)) * places);
		const other = kept.get(place);
		if (other === undefined || weight(mark) >= weight(other)) kept.set(place, mark);
	}
	return [...kept.values()];
}

/** Of marks at one place the one that a person looks for. */
function weight(mark: Mark): number {
	if (mark.kind === "command") return mark.exitCode === 0 || mark.exitCode === null ? 2 : 5;
	return { turn: 1, state: 0, resize: 1, signal: 3, driver: 4, approval: 4, gap: 3, end: 4 }[mark.kind];
}

/** The next mark after a moment, or the one before it. */
export function markBeside(marks: readonly Mark[], atMs: number, way: "next" | "previous"): Mark | undefined {
	const steps = marks.filter(({ kind }) => kind !== "state");
	return way === "next" ? steps.find(({ at }) => at > atMs + 1) : steps.findLast(({ at }) => at < atMs - 1);
}

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function markWords(mark: Mark): string {
	switch (mark.kind) {
		case "turn": {
			const typed = [mark.keys > 0 && plural(mark.keys, "key"), mark.lines > 0 && plural(mark.lines, "line")];
			const secret = mark.named === undefined ? "a secret" : `the secret "${mark.named}"`;
			const what = mark.secret ? secret : typed.filter((part) => part !== false).join(", ") || "nothing";
			const returned = mark.returned === null ? "" : `; returned${took(mark.tookMs)}: ${mark.returned}`;
			return `${mark.who || mark.by} typed ${what}${returned}`;
		}
		case "command": {
			const name = mark.command === undefined ? "command" : `\`${mark.command}\``;
			const code = mark.exitCode === null ? "" : ` exited with ${mark.exitCode}`;
			return `${name}${code}${took(mark.tookMs)}`;
		}
		case "state":
			return `state: ${mark.state}`;
		case "resize":
			return `resized to ${mark.cols} × ${mark.rows}`;
		case "driver": {
			const what = mark.driver.kind === "person" ? `${mark.driver.who} took over` : "handed back to the agent";
			return mark.note ? `${what}: “${mark.note}”` : what;
		}
		case "signal":
			return `${mark.who || "an agent"} sent ${mark.signal}`;
		case "approval": {
			const what = `${mark.who} ${mark.approved ? "approved" : "denied"} what the agent wanted to do`;
			return mark.note ? `${what}: “${mark.note}”` : what;
		}
		case "gap":
			return "output that is not kept";
		case "end":
			return stateWords({
				state: mark.status === "stream_lost" ? "lost" : "ended",
				exit: mark.exit ?? null,
				driver: { kind: "agent" },
				mine: false,
			});
	}
}

const took = (ms: number | null) => (ms === null ? "" : ` after ${duration(ms)}`);

/** How long ago: 12 s, 3 min. */
export const age = (ms: number): string => (ms < 10_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms));

/** A duration as people say it: 30 ms, 0.4 s, 12 s, 3 min, 2 h. */
export function duration(ms: number): string {
	if (ms < 100) return `${Math.max(1, Math.round(ms))} ms`;
	if (ms < 9_950) return `${Math.round(ms / 100) / 10} s`;
	if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
	if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
	if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`;
	return `${Math.floor(ms / 86_400_000)} d`;
}

/** A place on the line: 1:23.4, 1:02:03. */
export function clock(ms: number): string {
	const tenths = Math.floor(ms / 100);
	const seconds = Math.floor(tenths / 10);
	const two = (value: number) => String(value).padStart(2, "0");
	const minutes = Math.floor(seconds / 60);
	if (minutes >= 60) return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
	return `${minutes}:${two(seconds % 60)}.${tenths % 10}`;
}
