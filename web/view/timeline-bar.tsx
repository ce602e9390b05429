// The session's past as a line: states as colours, turns and commands as marks. Dragging
// shows the screen of that moment.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Mark, Timeline } from "../../src/protocol/timeline.ts";
import { isOver, type PersonSession } from "../live/person-session.ts";
import { clock, markBeside, markWords, stateSpans, thinned } from "../live/timeline.ts";
import { useControl } from "../mission-control.ts";
import { copyText } from "./session-actions.tsx";
import { useNow } from "./use-now.ts";
import { useTimeline } from "./use-timeline.ts";

/** Marks closer than the widest is wide cannot be told apart: one of them is drawn, and the list has all. */
const MARK_PX = 10;
const PAGE_SHARE = 0.1;
/** Dragged this far, it is live again. */
const LIVE_SHARE = 0.997;

export function TimelineBar({ session, atMs }: { session: PersonSession; atMs: number | null }) {
	const control = useControl();
	const timeline = useTimeline(session);
	const now = useNow(isOver(session) ? 60_000 : 1_000);
	const [isListed, setListed] = useState(false);
	if (timeline === null) return <div class="timeline" aria-hidden="true" />;
	const { marks } = timeline;
	const durationMs = Math.max(1, timeline.durationMs, timeline.endedAt === null ? now - timeline.startedAt : 0);
	const go = (ms: number | null) =>
		control.goToMoment(session, ms === null ? null : Math.min(durationMs, Math.max(0, ms)));
	const step = (way: "next" | "previous") => {
		const mark = markBeside(marks, atMs ?? durationMs, way);
		// A fraction of a millisecond earlier, what it is about was not on the screen.
		if (mark !== undefined) go(Math.ceil(mark.at));
		else if (way === "next") go(null);
	};
	const place = atMs ?? durationMs;
	const nearest = atMs === null ? undefined : marks.findLast((mark) => mark.kind !== "state" && mark.at <= atMs + 1);
	return (
		<section class="timeline" aria-label="Timeline">
			<div class="timeline-line">
				<Track timeline={timeline} durationMs={durationMs} atMs={atMs} />
				<input
					type="range"
					class="timeline-slider"
					aria-label="Moment"
					aria-valuetext={atMs === null ? "live" : `${clock(place)} of ${clock(durationMs)}`}
					min={0}
					max={durationMs}
					step="any"
					value={place}
					onInput={(event) => {
						const ms = Number(event.currentTarget.value);
						go(ms >= durationMs * LIVE_SHARE ? null : ms);
					}}
					onKeyDown={(event) => {
						const page = durationMs * PAGE_SHARE;
						const moves: Record<string, () => void> = {
							ArrowLeft: () => step("previous"),
							ArrowRight: () => step("next"),
							PageDown: () => go(place - page),
							PageUp: () => go(place + page),
							Home: () => go(0),
							End: () => go(null),
						};
						const move = moves[event.key];
						if (move === undefined) return;
						event.preventDefault();
						move();
					}}
				/>
			</div>
			<div class="timeline-foot">
				<span class="timeline-clock">
					{atMs === null ? clock(durationMs) : `${clock(place)} / ${clock(durationMs)}`}
				</span>
				<span class="timeline-words">{nearest !== undefined && markWords(nearest)}</span>
				<button type="button" class="quiet" aria-label="Previous mark" onClick={() => step("previous")}>
					‹
				</button>
				<button type="button" class="quiet" aria-label="Next mark" onClick={() => step("next")}>
					›
				</button>
				<button type="button" class="quiet" aria-expanded={isListed} onClick={() => setListed(!isListed)}>
					Events
				</button>
				{atMs !== null && (
					<button
						type="button"
						class="quiet"
						onClick={() => void copyText(control, location.href, "Link to this moment copied.")}
					>
						Copy link
					</button>
				)}
				{atMs !== null && (
					<button type="button" class="small" onClick={() => go(null)}>
						{isOver(session) ? "Back to the end" : "Back to live"}
					</button>
				)}
			</div>
			{isListed && <MarkList marks={marks} onMark={(mark) => go(Math.ceil(mark.at))} />}
		</section>
	);
}

interface TrackParts {
	readonly timeline: Timeline;
	readonly durationMs: number;
	readonly atMs: number | null;
}

function Track({ timeline, durationMs, atMs }: TrackParts) {
	const track = useRef<HTMLDivElement>(null);
	const [widthPx, setWidth] = useState(800);
	useEffect(() => {
		const element = track.current!;
		const observer = new ResizeObserver(() => setWidth(element.clientWidth));
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	const percent = (ms: number) => `${((ms / durationMs) * 100).toFixed(3)}%`;
	return (
		<div class="track" ref={track} aria-hidden="true">
			{stateSpans(timeline.marks, durationMs).map(({ state, fromMs, toMs }) => (
				<span
					key={fromMs}
					class="span"
					data-shown={state}
					style={{ left: percent(fromMs), width: percent(toMs - fromMs) }}
				/>
			))}
			{thinned(timeline.marks, durationMs, Math.max(1, Math.floor(widthPx / MARK_PX))).map((mark) => (
				<span
					key={`${mark.kind} ${mark.at}`}
					class="mark"
					data-kind={mark.kind}
					data-by={mark.kind === "turn" ? mark.by : undefined}
					data-failed={mark.kind === "command" && mark.exitCode !== null && mark.exitCode !== 0}
					style={{ left: percent(mark.at) }}
				/>
			))}
			<span class="playhead" data-live={atMs === null} style={{ left: percent(atMs ?? durationMs) }} />
		</div>
	);
}

/** Newest first; more than this nobody reads. */
const LISTED = 300;

function MarkList({ marks, onMark }: { marks: readonly Mark[]; onMark(mark: Mark): void }) {
	return (
		<ol class="mark-list">
			{marks
				.slice(-LISTED)
				.toReversed()
				.map((mark) => (
					<li key={`${mark.kind} ${mark.at} ${mark.offset}`}>
						<button type="button" onClick={() => onMark(mark)} data-kind={mark.kind}>
							<span class="timeline-clock">{clock(mark.at)}</span>
							<span>{markWords(mark)}</span>
						</button>
					</li>
				))}
		</ol>
	);
}
