// Everything by keyboard: type a part of a session's or an action's name, press Enter.

import { useMemo, useState } from "preact/hooks";
import { byUrgency, isOver, type PersonSession, stateWords } from "../live/person-session.ts";
import { type MissionControl, useControl } from "../mission-control.ts";
import { Dialog } from "./dialog.tsx";
import { KeysHelp } from "./keys-help.tsx";
import { NewSessionDialog } from "./new-session-dialog.tsx";
import { actionsOn } from "./session-actions.tsx";
import { StateMark } from "./state-mark.tsx";

interface Choice {
	readonly id: string;
	readonly words: string;
	readonly detail: string;
	readonly session?: PersonSession;
	run(): void;
}

const SHOWN = 12;

function choices(control: MissionControl): readonly Choice[] {
	const { selected, sessions } = control;
	const order = sessions.toSorted((a, b) => Number(isOver(a)) - Number(isOver(b)) || byUrgency(a, b));
	const actions =
		selected === undefined
			? []
			: actionsOn(control, selected, control.place.value.atMs)
					.actions.filter(({ isOff }) => isOff !== true)
					.map(({ name, run }) => ({
						id: `action ${name}`,
						words: name,
						detail: selected.name,
						run,
					}));
	return [
		...order.map((session) => ({
			id: session.session,
			words: session.name,
			detail: `${stateWords(session)} · ${session.command}`,
			session,
			run: () => control.go(session),
		})),
		...actions,
		{ id: "overview", words: "Overview", detail: "all open terminals", run: () => control.go(null) },
		...(control.mayAct
			? [{ id: "new", words: "New terminal", detail: "", run: () => control.dialog.set(<NewSessionDialog />) }]
			: []),
		{ id: "keys", words: "Keyboard shortcuts", detail: "", run: () => control.dialog.set(<KeysHelp />) },
	];
}

export function Palette() {
	const control = useControl();
	const [query, setQuery] = useState("");
	const [at, setAt] = useState(0);
	// As it was when the palette opened: entries must not move while one chooses.
	const all = useMemo(() => choices(control), [control]);
	const words = query.toLowerCase().split(/\s+/);
	const found = all
		.filter((choice) => words.every((word) => `${choice.words} ${choice.detail}`.toLowerCase().includes(word)))
		.slice(0, SHOWN);
	const chosen = Math.min(at, found.length - 1);
	const run = (choice: Choice | undefined) => {
		if (choice === undefined) return;
		control.dialog.set(null);
		// After this dialog is gone: the choice may open its own.
		setTimeout(() => choice.run());
	};
	return (
		<Dialog title="Go to" class="palette">
			<input
				role="combobox"
				aria-label="Session or action"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={found[chosen] && `choice-${chosen}`}
				placeholder="Session or action"
				autocomplete="off"
				spellcheck={false}
				value={query}
				onInput={(event) => {
					setQuery(event.currentTarget.value);
					setAt(0);
				}}
				onKeyDown={(event) => {
					if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, chosen + 1));
					else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
					else if (event.key === "Enter") run(found[chosen]);
					else return;
					event.preventDefault();
				}}
			/>
			<div id="palette-list" role="listbox" aria-label="Choices">
				{found.map((choice, index) => (
					// biome-ignore lint/a11y/useKeyWithClickEvents: the combobox above has the keys
					<div
						key={choice.id}
						id={`choice-${index}`}
						role="option"
						tabIndex={-1}
						aria-selected={index === chosen}
						class="choice"
						onClick={() => run(choice)}
					>
						{choice.session ? <StateMark session={choice.session} /> : <span class="choice-mark">›</span>}
						<span class="choice-words">{choice.words}</span>
						<span class="choice-detail">{choice.detail}</span>
					</div>
				))}
			</div>
			{found.length === 0 && <p class="empty">Nothing matches.</p>}
		</Dialog>
	);
}
