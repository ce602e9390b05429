// The screen of a moment of the past, in place of the live one.

import type { Terminal } from "@xterm/xterm";
import type { Moment } from "../live/daemon-client.ts";
import type { Pane } from "./fit.ts";
import {
	drawScreen,
	fitLetters,
	inertTerminal,
	openIn,
	rowsOf,
	type TerminalActions,
	takeKeys,
} from "./inert-terminal.ts";

export class MomentScreen {
	readonly #terminal: Terminal;
	#pane: Pane = { width: 0, height: 0, showsAll: false };

	constructor(element: HTMLElement, actions: TerminalActions) {
		this.#terminal = inertTerminal({ cols: 80, rows: 24 }, actions, { cursorInactiveStyle: "outline" });
		// Nothing can be typed into the past: keys are the page's shortcuts, and the browser's own.
		takeKeys(this.#terminal, actions, () => false);
		openIn(element, this.#terminal);
	}

	/** Resolves when it is drawn. */
	show({ cols, rows, content }: Moment): Promise<void> {
		return new Promise((resolve) => {
			drawScreen(this.#terminal, { cols, rows }, content, () => {
				this.layOut(this.#pane);
				resolve();
			});
		});
	}

	layOut(pane: Pane): void {
		this.#pane = pane;
		fitLetters(this.#terminal, pane);
	}

	screenText(): string {
		return rowsOf(this.#terminal).join("\n");
	}

	selection(): string {
		return this.#terminal.getSelection();
	}

	dispose(): void {
		this.#terminal.dispose();
	}
}
