import type { ComponentChildren } from "preact";
import { isOver, ownerWords, type PersonSession } from "../live/person-session.ts";
import { useControl } from "../mission-control.ts";
import { Menu } from "./menu.tsx";
import { actionsOn } from "./session-actions.tsx";
import { Ports, SessionName } from "./session-entry.tsx";
import type { ShownPart } from "./session-page.tsx";
import { StateBadge } from "./state-mark.tsx";

interface HeaderParts {
	readonly session: PersonSession;
	readonly atMs: number | null;
	readonly shown: ShownPart;
	onShow(shown: ShownPart): void;
	readonly search: ComponentChildren;
}

export function SessionHeader({ session, atMs, shown, onShow, search }: HeaderParts) {
	const control = useControl();
	const { command, in: place, cwd, sandbox, parent, owner, host } = session;
	return (
		<header class="bar session-bar">
			<div class="session-title">
				<h1>
					<SessionName session={session} />
				</h1>
				<StateBadge session={session} />
				{sandbox === "enforced" && (
					<span class="state-badge" title="Its programs see only their workspace">
						sandboxed
					</span>
				)}
				{!isOver(session) && <Ports session={session} />}
			</div>
			<p class="session-facts">
				<code title={command}>{command}</code>
				{place !== undefined && <span title="Where it runs">in {place}</span>}
				<span title={cwd}>{cwd}</span>
				{(parent ?? owner) !== null && <span title="Who started it">{parent ?? ownerWords(owner, host)}</span>}
			</p>
			<div class="session-tools">
				{search}
				<fieldset class="segmented" aria-label="What is shown">
					<button type="button" aria-pressed={shown.part === "screen"} onClick={() => onShow({ part: "screen" })}>
						Screen
					</button>
					<button
						type="button"
						aria-pressed={shown.part === "output"}
						onClick={() => onShow({ part: "output", line: null })}
					>
						All output
					</button>
				</fieldset>
				<Menu label="Actions" {...actionsOn(control, session, atMs)} />
			</div>
		</header>
	);
}
