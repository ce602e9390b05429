// Whether the mouse belongs to the program or to the person. While somebody only watches,
// it selects text: the program's requests for mouse reports are remembered, not applied.
// Who takes over gives the program its mouse, and handing back takes it away again.

import type { IParser } from "@xterm/xterm";

/** X10, VT200, button events, any event: the last one that was set is in effect. */
const PROTOCOLS = [9, 1000, 1002, 1003];

/** Beside a mode that is set from here: means nothing to a terminal, and tells it from the program's own. */
const BY_US = 77_001;

type Parameters = (number | number[])[];

export class MouseModes {
	#wanted: number | null = null;
	#isOurs = false;
	readonly #write: (data: string) => void;

	constructor(parser: IParser, write: (data: string) => void) {
		this.#write = write;
		parser.registerCsiHandler({ prefix: "?", final: "h" }, (parameters) => this.#set(parameters, true));
		parser.registerCsiHandler({ prefix: "?", final: "l" }, (parameters) => this.#set(parameters, false));
	}

	/** Called with each new screen: it states its modes itself. */
	reset(): void {
		this.#wanted = null;
	}

	drive(isOurs: boolean): void {
		if (isOurs === this.#isOurs) return;
		this.#isOurs = isOurs;
		if (this.#wanted !== null) this.#write(`\x1b[?${this.#wanted};${BY_US}${isOurs ? "h" : "l"}`);
	}

	// True: it goes no further. A request that mixes other modes in is rare and goes through as it is.
	#set(parameters: Parameters, on: boolean): boolean {
		const protocols = parameters.flat().filter((mode) => PROTOCOLS.includes(mode));
		if (protocols.length === 0 || parameters.includes(BY_US)) return false;
		this.#wanted = on ? protocols.at(-1)! : null;
		return !this.#isOurs && on && protocols.length === parameters.length;
	}
}
