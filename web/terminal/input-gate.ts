// Lets keystrokes through only while a person is doing something: xterm.js reports its
// own replies by the same event as keys. The queries are swallowed before (inert-queries.ts);
// this holds even for one that nobody has thought of.

const EVENTS = [
	"keydown",
	"keypress",
	"beforeinput",
	"input",
	"compositionend",
	"mousedown",
	"mouseup",
	"mousemove",
	"wheel",
];

/** The part of an element that is used. */
interface EventSurface {
	addEventListener(type: string, listener: (event: { readonly isTrusted: boolean }) => void, options: object): void;
}

export class InputGate {
	#open = 0;

	constructor(element: EventSurface) {
		// Capturing: before xterm.js sees the event.
		for (const type of EVENTS)
			element.addEventListener(type, ({ isTrusted }) => isTrusted && this.#openForTask(), {
				capture: true,
				passive: true,
			});
	}

	get isOpen(): boolean {
		return this.#open > 0;
	}

	/** What the page itself does for a person, such as a key of the bar on a phone. */
	through(action: () => void): void {
		this.#open++;
		try {
			action();
		} finally {
			this.#open--;
		}
	}

	// Composed input is reported by a timer that xterm.js sets in its own handler, after this one: hence two turns.
	#openForTask(): void {
		this.#open++;
		setTimeout(() => setTimeout(() => this.#open--));
	}
}
