// Keys of the page. While a person types into a field or drives a terminal, plain keys are theirs.

import { grouped, isOver } from "../live/person-session.ts";
import type { MissionControl } from "../mission-control.ts";
import { isPageKey } from "../terminal/live-terminal.ts";
import { KeysHelp } from "./keys-help.tsx";
import { Palette } from "./palette.tsx";

export function handleKey(control: MissionControl, event: KeyboardEvent): void {
	const { key } = event;
	const isChord = isPageKey(event);
	const action = isChord ? CHORDS[key.toLowerCase()] : plainAction(event);
	if (action === undefined || control.dialog.value !== null) return;
	event.preventDefault();
	action(control);
}

type KeyAction = (control: MissionControl) => void;

const openPalette: KeyAction = (control) => control.dialog.set(<Palette />);

const CHORDS: Readonly<Record<string, KeyAction>> = { k: openPalette, h: () => press("Hand back") };

const PLAIN: Readonly<Record<string, KeyAction>> = {
	"/": openPalette,
	"?": (control) => control.dialog.set(<KeysHelp />),
	o: (control) => control.go(null),
	j: (control) => move(control, 1),
	k: (control) => move(control, -1),
	n: (control) => {
		const { needing, selected } = control;
		const at = needing.findIndex(({ session }) => session === selected?.session);
		const next = needing[(at + 1) % Math.max(1, needing.length)];
		if (next !== undefined) control.go(next);
	},
	t: () => press("Take over"),
	f: () => document.querySelector<HTMLElement>('[aria-label="Search output"]')?.focus(),
};

function plainAction({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): KeyAction | undefined {
	const isField =
		target instanceof HTMLElement &&
		target.matches("input:not([type=range]), textarea:not([readonly]), select, [role=menuitem]");
	const isTerminal = target instanceof HTMLElement && target.closest(".terminal-host") !== null;
	const isDriving =
		isTerminal &&
		(document.querySelector('.drive-bar[data-mine="true"]') ?? target.closest(".terminal-host[data-lost]")) !== null;
	if (isDriving || (isField && !isTerminal && !ctrlKey && !metaKey)) return undefined;
	if ((ctrlKey || metaKey) && !altKey) return key.toLowerCase() === "k" ? openPalette : undefined;
	return altKey ? undefined : PLAIN[key];
}

/** Open sessions as they stand in the sidebar, by conversation. */
function move(control: MissionControl, by: number): void {
	const open = grouped(control.sessions.filter((session) => !isOver(session))).flatMap(({ sessions }) => sessions);
	const at = open.findIndex(({ session }) => session === control.selected?.session);
	const next = at < 0 && by < 0 ? open.at(-1) : open.at((at + by) % open.length);
	if (next !== undefined) control.go(next);
}

/** The button is where the words and the rules are: a key does the same. */
function press(words: string): void {
	[...document.querySelectorAll("button")].find((button) => button.textContent === words)?.click();
}
