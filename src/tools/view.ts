// A session as somebody watches it: its screen, then the output from exactly that offset, with changes of size where
// they happened. A watcher that is too far behind gets the screen again: what they missed has scrolled away for a person
// at the terminal, too.

import type { Gap } from "../protocol/output.ts";
import { onAbort, type Subscribe, until } from "../pty/wait.ts";
import type { Session } from "../session/session.ts";
import { repaint, repaintText } from "../terminal/repaint.ts";
import type { ScreenSnapshot, SnapshotOptions, ViewChunk, ViewOptions } from "./client.ts";

const PIECE_BYTES = 64 * 1024;
/** Further behind than this a watcher would see the past for a while: a page draws some megabytes a second. */
const MAX_BEHIND = 512 * 1024;
/** The screen of a flood is told so often. */
const AGAIN_MS = 100;
/** Of a flood no more is drawn for a screen than what can be in this time. */
const DRAW_MS = 200;

export function snapshotOf(session: Session, { screenOnly = false }: SnapshotOptions = {}): ScreenSnapshot {
	const { screen } = session;
	const { cols, rows, offset } = screen;
	const state = screenOnly ? screen.picture() : screen.serialize();
	return { content: state === null ? repaintText(screen.snapshot().text) : repaint(state), cols, rows, offset };
}

interface ViewParts extends ViewOptions {
	/** More that ends the wait for output. */
	readonly onStopped: Subscribe;
	/** Throws or returns false when it is over. */
	readonly continues: () => boolean;
}

export async function* view(
	session: Session,
	{ signal, turn, onStopped, continues }: ViewParts,
): AsyncGenerator<ViewChunk, void> {
	const { journal } = session;
	/** Changes of size that the watcher has not come to yet, the oldest first. */
	let sizes: { readonly cols: number; readonly rows: number; readonly at: number }[] = [];
	const unlisten = session.onReported((event) => {
		if (event.event === "resized") sizes.push({ cols: event.cols, rows: event.rows, at: event.at ?? journal.end });
	});
	// Only while there is something to send: one that does not read is no user of the session.
	let done = session.use();
	const idle = async function* <T>(chunk: T) {
		done();
		try {
			yield chunk;
		} finally {
			done = session.use();
		}
	};
	const isOver = () => signal.aborted || session.ended || !continues();
	let at: number | null = null;
	let shownAt = Number.NEGATIVE_INFINITY;
	try {
		while (continues()) {
			if (at === null) {
				const due = shownAt + AGAIN_MS;
				const isDue = () => isOver() || performance.now() >= due;
				await until(isDue, onAbort(signal), onStopped, after(due - performance.now()));
				await session.catchUp(performance.now() + DRAW_MS);
				await turn?.();
				if (!continues()) return;
				const snapshot = snapshotOf(session);
				shownAt = performance.now();
				at = snapshot.offset;
				const from = at;
				sizes = sizes.filter((size) => size.at > from);
				yield* idle({ snapshot });
				continue;
			}
			const [size] = sizes;
			if (size !== undefined && size.at <= at) {
				sizes.shift();
				yield* idle({ resized: { cols: size.cols, rows: size.rows }, offset: at });
				continue;
			}
			const { end } = journal;
			if (end - at > MAX_BEHIND) {
				at = null;
				continue;
			}
			if (at >= end) {
				if (session.ended) {
					yield* idle({ ended: { exit: session.exit, status: session.status } });
					return;
				}
				const from = at;
				const isNews = () => isOver() || journal.end > from || sizes.length > 0;
				await until(
					isNews,
					onAbort(signal),
					onStopped,
					(listener) => session.onOutput(listener),
					(listener) => session.onReported(listener),
					(listener) => session.onEnded(listener),
				);
				continue;
			}
			const kept = await journal.nextKept(at);
			if (kept > at) {
				const gap: Gap = { from: at, to: kept };
				at = kept;
				yield* idle({ gap });
				continue;
			}
			const over = await turn?.();
			if (!continues()) return;
			const { chunks, to } = await journal.read(at, Math.min(end, at + PIECE_BYTES, size?.at ?? end));
			if (chunks.length === 0) over?.();
			for (const chunk of chunks) yield* idle(chunk);
			at = to;
		}
	} finally {
		done();
		unlisten();
	}
}

const after =
	(ms: number): Subscribe =>
	(listener) => {
		const timer = setTimeout(listener, Math.max(0, Math.ceil(ms) + 1)); // a timer may be early by a fraction
		return () => clearTimeout(timer);
	};
