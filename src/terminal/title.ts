// What a program announces beside its output: its title and its directory. Not trusted.

import { oneLine } from "../protocol/clean.ts";
import type { Emulator } from "./emulator.ts";

/** OSC 0 and 2. */
export function observeTitle(emulator: Emulator, onTitle: (title: string) => void): void {
	for (const id of [0, 2]) emulator.onOsc(id, (payload) => onTitle(oneLine(payload)));
}

/** OSC 7, as in `file://host/path%20x`; anything else is ignored. */
export function observeDirectory(emulator: Emulator, onDirectory: (path: string) => void): void {
	emulator.onOsc(7, (payload) => {
		const encoded = /^file:\/\/[^/]*(\/.*)$/s.exec(payload)?.[1];
		if (encoded === undefined) return;
		try {
			const path = decodeURIComponent(encoded);
			if (!/\p{Cc}/u.test(path)) onDirectory(path);
		} catch {
			// A stray % is not an encoding: the directory stays unknown.
		}
	});
}
