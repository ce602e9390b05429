// What a program sends to the terminal beside its output: a title, its directory, a
// notification, a bell, shell marks. Emitted as events; none of it is trusted.

import { oneLine } from "../protocol/clean.ts";
import type { Emulator } from "./emulator.ts";

export type Signal =
	| { readonly kind: "title"; readonly title: string }
	| { readonly kind: "cwd"; readonly path: string; readonly host: string }
	| { readonly kind: "notification"; readonly title: string; readonly body: string }
	/** OSC 9;4: state 0 none, 1 normal, 2 error, 3 indeterminate, 4 paused. */
	| { readonly kind: "progress"; readonly state: number; readonly percent: number }
	| { readonly kind: "bell" }
	/** OSC 133 or 633, its raw payload; offsets come from the journal's scanner. */
	| { readonly kind: "mark"; readonly family: 133 | 633; readonly payload: string };

/** `file://host/path%20x` → where; null for anything else. */
function parseDirectory(url: string): { path: string; host: string } | null {
	const match = /^file:\/\/([^/]*)(\/.*)$/s.exec(url);
	if (!match) return null;
	try {
		const path = decodeURIComponent(match[2]!);
		return /\p{Cc}/u.test(path) ? null : { path, host: match[1]! };
	} catch {
		// A stray % is not an encoding: treated as unknown.
		return null;
	}
}

export function observeSignals(emulator: Emulator, emit: (signal: Signal) => void): void {
	const title = (payload: string) => emit({ kind: "title", title: oneLine(payload) });
	emulator.onOsc(0, title);
	emulator.onOsc(2, title);
	emulator.onOsc(7, (payload) => {
		const directory = parseDirectory(payload);
		if (directory) emit({ kind: "cwd", ...directory });
	});
	emulator.onOsc(9, (payload) => {
		const progress = /^4;(\d);?(\d{0,3})/.exec(payload);
		if (progress) emit({ kind: "progress", state: Number(progress[1]), percent: Math.min(100, Number(progress[2])) });
		else emit({ kind: "notification", title: "", body: oneLine(payload) });
	});
	emulator.onOsc(777, (payload) => {
		const [verb, heading = "", ...body] = payload.split(";");
		if (verb === "notify") emit({ kind: "notification", title: oneLine(heading), body: oneLine(body.join(";")) });
	});
	emulator.onOsc(133, (payload) => emit({ kind: "mark", family: 133, payload }));
	emulator.onOsc(633, (payload) => emit({ kind: "mark", family: 633, payload }));
	emulator.onBell(() => emit({ kind: "bell" }));
}
