// A state as shape and colour; the word stands beside it. The shapes differ without colour, too.

import type { VNode } from "preact";
import { type PersonSession, type ShownState, shownState, stateWords } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";

const SHAPES: Record<ShownState, VNode> = {
	working: (
		<>
			<circle cx="8" cy="8" r="5.5" class="line" />
			<path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class="fill" />
		</>
	),
	waiting: <circle cx="8" cy="8" r="5.5" class="line" />,
	secret: (
		<>
			<circle cx="5.5" cy="8" r="3.2" class="line" />
			<path d="M8.7 8H14v3M11.4 8v2.2" class="line" />
		</>
	),
	"needs-you": (
		<>
			<path d="M8 1 15 8 8 15 1 8z" class="fill" />
			<path d="M8 4.6v4.2M8 10.9v.5" class="hole" />
		</>
	),
	serving: <path d="M4 2.5 13.5 8 4 13.5z" class="fill" />,
	stopped: <path d="M5 3v10M11 3v10" class="line thick" />,
	ended: <path d="m3 8.5 3.4 3.4L13 4.6" class="line" />,
	failed: <path d="m4 4 8 8M12 4l-8 8" class="line" />,
	unreachable: (
		<>
			<path d="M10.6 3.2A5.5 5.5 0 0 0 3.2 10.6M5.4 12.8A5.5 5.5 0 0 0 12.8 5.4" class="line" />
			<path d="M3 13 13 3" class="line" />
		</>
	),
	lost: <circle cx="8" cy="8" r="5.5" class="line dashed" />,
};

export function StateMark({ session }: { session: PersonSession }) {
	const state = shownState(session);
	return (
		<svg class="state-mark" data-shown={state} viewBox="0 0 16 16" aria-hidden="true">
			{SHAPES[state]}
		</svg>
	);
}

export function StateBadge({ session }: { session: PersonSession }) {
	const driven = useStore(useControl().driven);
	return (
		<span class="state-badge" data-shown={shownState(session)}>
			<StateMark session={session} />
			<span>{stateWords(session, driven === session.session)}</span>
		</span>
	);
}
