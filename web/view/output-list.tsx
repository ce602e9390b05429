// All of the output as numbered lines, from the first one kept; what is in view is loaded.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { daemon } from "../live/daemon-client.ts";
import { LinePages } from "../live/line-pages.ts";
import type { PersonSession } from "../live/person-session.ts";
import { useControl } from "../mission-control.ts";
import { heightOf, rowsInView, scrollTo } from "./virtual-rows.ts";

const ROW_PX = 19;

export function OutputList({ session, line }: { session: PersonSession; line: number | null }) {
	const control = useControl();
	const { session: id } = session;
	const list = useRef<HTMLElement>(null);
	const [, redraw] = useState(0);
	const [scrollPx, setScroll] = useState(0);
	const [viewPx, setView] = useState(400);
	/** Until the person scrolls, the end of a program that prints stays in view. */
	const follows = useRef(line === null);
	const stop = useMemo(() => new AbortController(), []);
	const pages = useMemo(
		() =>
			new LinePages(
				(from, to) => daemon.lines(id, from, to, stop.signal),
				() => redraw((count) => count + 1),
			),
		[id, stop],
	);
	useEffect(() => () => stop.abort(), [stop]);
	const rows = { total: pages.total, rowPx: ROW_PX, viewPx };
	const { first, count } = rowsInView(rows, scrollPx);

	useEffect(() => {
		if (session.lines !== null) pages.grown(session.lines);
	}, [session.lines, pages]);
	useEffect(() => {
		// Aborted when the list is left; otherwise the daemon's words.
		pages.want(first + 1, first + count).catch((error: Error) => {
			if (!stop.signal.aborted) control.say(error.message);
		});
	});
	useLayoutEffect(() => {
		const element = list.current!;
		const observer = new ResizeObserver(() => setView(element.clientHeight));
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		const element = list.current!;
		if (line !== null) element.scrollTop = scrollTo(rows, line - 1);
	}, [line, pages.total > 0, viewPx]);
	useLayoutEffect(() => {
		const element = list.current!;
		if (follows.current) element.scrollTop = element.scrollHeight;
	}, [pages.total, viewPx]);

	const digits = String(pages.total).length;
	return (
		<section
			class="output-list"
			ref={list}
			aria-label={`All output of ${session.name}`}
			// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
			tabIndex={0}
			onScroll={({ currentTarget }) => {
				const { scrollTop, scrollHeight, clientHeight } = currentTarget;
				follows.current = scrollTop + clientHeight >= scrollHeight - ROW_PX;
				setScroll(scrollTop);
			}}
		>
			<div class="output-height" style={{ height: `${heightOf(rows)}px` }}>
				<ol class="output-rows" style={{ transform: `translateY(${topOf(rows, first, scrollPx)}px)` }}>
					{Array.from({ length: Math.max(0, Math.min(count, pages.total - first)) }, (_, index) => {
						const number = first + index + 1;
						return (
							<li key={number} data-line={number} data-found={number === line}>
								<span class="line-number" style={{ minWidth: `${digits}ch` }}>
									{number}
								</span>
								<span class="line-text">{pages.line(number) ?? "…"}</span>
							</li>
						);
					})}
				</ol>
			</div>
			{pages.total === 0 && <p class="empty">Nothing was printed yet.</p>}
		</section>
	);
}

/** Rows scroll smoothly where each has its own place, and stay at the top of the view where the bar stands for many. */
function topOf(rows: { total: number; rowPx: number; viewPx: number }, first: number, scrollPx: number): number {
	return heightOf(rows) === rows.total * rows.rowPx ? first * rows.rowPx : scrollPx;
}
