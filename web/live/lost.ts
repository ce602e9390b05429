// A machine with which nothing can be done from here, in words.

export type Lost =
	/** Not heard of: since when, in ms since 1970; null where nobody knows. */
	| { readonly since: number | null }
	/** Heard of, and of another version than this one. */
	| { readonly theirs: string; readonly ours: string };

/** What it is: `unreachable since 12:34`. */
export function lostWords(lost: Lost, now: number): string {
	if ("theirs" in lost) return `on Dialtone ${lost.theirs}, not ${lost.ours}`;
	const { since } = lost;
	return since === null ? "unreachable" : `unreachable since ${momentWords(since, now)}`;
}

const DAY_MS = 86_400_000;

/** A moment as people say it: the time of day, and the date where it was another day. */
export function momentWords(at: number, now: number): string {
	const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
	const isRecent = now - at < DAY_MS && new Date(at).getDate() === new Date(now).getDate();
	return isRecent ? time : `${new Date(at).toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}
