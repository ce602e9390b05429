// The screen's part in a verdict, for tests: line output, the cursor after the last line.

import type { ScreenFacts } from "../src/session/attention.ts";

export function screenFacts({ lastLine = "", ...more }: Partial<ScreenFacts> = {}): ScreenFacts {
	return {
		alternate: false,
		cursorVisible: true,
		cursorColumn: lastLine.length,
		lastLine,
		bracketedPaste: false,
		applicationKeys: false,
		footerBelow: 0,
		endsAtCursor: false,
		blank: false,
		drawnCursor: false,
		...more,
	};
}
