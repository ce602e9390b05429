// Tells a person who looks elsewhere that a session needs them: by the tab's title, by a
// notification where they have allowed it, and to a screen reader.

import type { Approval } from "../src/protocol/approval.ts";
import { isOver, type PersonSession, stateWords } from "./live/person-session.ts";
import type { Sessions } from "./live/session-watch.ts";
import type { MissionControl } from "./mission-control.ts";

export function titleOf(
	needing: readonly PersonSession[],
	selected: PersonSession | undefined,
	approvals: readonly Approval[] = [],
): string {
	const place = selected === undefined ? "Dialtone" : `${selected.name} · Dialtone`;
	if (approvals.length > 0) return `● ${approvals.length} to approve · Dialtone`;
	if (needing.length === 0) return place;
	const who = needing.length === 1 ? `${needing[0]!.name} needs you` : `${needing.length} need you`;
	return `● ${who} · Dialtone`;
}

/** What the person is wanted for, in a sentence. */
export function needWords({ name, needs }: PersonSession): string {
	switch (needs?.kind) {
		case "secret":
			return `${name}: ${needs.program} wants a secret${needs.host === null ? "" : ` for ${needs.host}`}.`;
		case "question":
			return `${name}: ${needs.question ?? "The agent asks for help."}`;
		default:
			return `${name} waits for an answer.`;
	}
}

/** Sessions that did not need a person before and do now. */
export function newlyNeeding(before: Sessions, after: readonly PersonSession[]): readonly PersonSession[] {
	return after.filter(({ session, needs }) => before.get(session)?.needs?.since !== needs?.since);
}

/** What is worth hearing while one looks elsewhere: needs and ends, not each change between working and waiting. */
export function changesToHear(before: Sessions, after: Sessions): readonly string[] {
	return [...after.values()].flatMap((session) => {
		const old = before.get(session.session);
		if (old === undefined || old.state === session.state) return [];
		if (session.needs !== null && old.needs === null) return [needWords(session)];
		return isOver(session) ? [`${session.name} ${stateWords(session)}.`] : [];
	});
}

export function startAttention(control: MissionControl): void {
	let before: Sessions = control.watch.sessions.value;
	const retitle = () => {
		document.title = titleOf(control.needing, control.selected, control.watch.approvals.value);
	};
	let known: readonly Approval[] = control.watch.approvals.value;
	control.watch.approvals.onChange(() => {
		const after = control.watch.approvals.value;
		retitle();
		const fresh = after.filter(({ id }) => !known.some((one) => one.id === id));
		for (const { id, owner } of fresh) {
			const words = `${owner} needs your approval.`;
			control.announcement.set(words);
			notify(words, id, () => control.go(null));
		}
		known = after;
	});
	control.place.onChange(retitle);
	control.watch.sessions.onChange(() => {
		const after = control.watch.sessions.value;
		retitle();
		if (before.size > 0) {
			const heard = changesToHear(before, after);
			if (heard.length > 0) control.announcement.set(heard.join(" "));
		}
		for (const session of newlyNeeding(before, control.needing))
			notify(needWords(session), session.session, () => control.go(session));
		before = after;
	});
}

/** A window behind others counts as visible in some browsers. */
const isLookedAt = () => document.visibilityState === "visible" && document.hasFocus();

function notify(words: string, tag: string, open: () => void): void {
	if (!("Notification" in window) || Notification.permission !== "granted" || isLookedAt()) return;
	// One per session or request: a newer one replaces it.
	const notification = new Notification("Dialtone", { body: words, tag });
	notification.onclick = () => {
		window.focus();
		open();
		notification.close();
	};
}
