// Text on a terminal that does not wrap (`CSI ? 7 l`) overwrites the last column. Upstream looks for what is left of a
// wide character there only where a piece of text begins and ends: the character stayed, with its second half
// overwritten, or went, as the output happened to be split. Here each character at the edge is a piece of its own.

import type { Core } from "./xterm-core.ts";

export function drawUnwrapped(core: Core): void {
	const handler = core._inputHandler;
	const print = handler.print.bind(handler);
	handler.print = (data, start, end) => {
		if (core.coreService.decPrivateModes.wraparound) return print(data, start, end);
		const last = core.cols - 1;
		for (let at = start; at < end; ) {
			const { active } = core.buffers;
			const width = active.x < last ? null : core.unicodeService.wcwidth(data[at]!);
			// A wide character that does not fit is left out, and erases nothing.
			if (width === 2) at++;
			else {
				if (width === 1) active.x = last;
				// No character takes more than two columns.
				const fitting = Math.min(end, at + Math.max(1, Math.floor((core.cols - active.x) / 2)));
				print(data, at, fitting);
				at = fitting;
			}
		}
	};
}
