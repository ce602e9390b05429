import { Dialog } from "./dialog.tsx";

const KEYS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
	[["/", "Ctrl+K"], "Go to a session or action"],
	[["o"], "Overview"],
	[["j", "k"], "Next, previous session"],
	[["n"], "Next session that needs you"],
	[["t"], "Take over"],
	[["Ctrl+Alt+H"], "Hand back, while you drive"],
	[["Ctrl+Alt+K"], "Go to, while you drive"],
	[["f"], "Search output"],
	[["Ctrl+Shift+C"], "Copy what is selected"],
	[["Ctrl+C"], "The same, while you watch"],
	[["Ctrl+Shift+V"], "Paste, while you drive"],
	[["←", "→"], "On the timeline: previous, next mark"],
	[["End"], "On the timeline: back to live"],
	[["?"], "This list"],
];

export function KeysHelp() {
	return (
		<Dialog title="Keyboard shortcuts">
			<dl class="keys">
				{KEYS.map(([keys, meaning]) => (
					<div key={meaning}>
						<dt>
							{keys.map((key) => (
								<kbd key={key}>{key}</kbd>
							))}
						</dt>
						<dd>{meaning}</dd>
					</div>
				))}
			</dl>
		</Dialog>
	);
}
