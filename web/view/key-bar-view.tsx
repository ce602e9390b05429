// Under the terminal on phones, while one drives: the keys that their keyboards lack.

import { useStore } from "../live/store.ts";
import { BAR_KEYS, type BarKey } from "../terminal/key-bar.ts";
import type { LiveTerminal } from "../terminal/live-terminal.ts";

const LABELS: Partial<Record<BarKey, string>> = { Left: "←", Up: "↑", Down: "↓", Right: "→" };

export function KeyBar({ live }: { live: LiveTerminal }) {
	const { isMine, isControlHeld } = useStore(live.status);
	if (!isMine) return null;
	return (
		<div class="key-bar" role="toolbar" aria-label="Keys">
			{BAR_KEYS.map((key) => (
				<button
					key={key}
					type="button"
					aria-label={key}
					aria-pressed={key === "Ctrl" ? isControlHeld : undefined}
					// The focus stays in the terminal, so that the phone's keyboard stays open.
					onPointerDown={(event) => event.preventDefault()}
					onClick={() => live.press(key)}
				>
					{LABELS[key] ?? key}
				</button>
			))}
		</div>
	);
}
