// A key that is held while the focus comes into the terminal was pressed for something else: the Enter that sent a
// secret, the `t` that took over. Its repetitions must not be typed.

/** The part of a keyboard event that is used. */
interface KeyEvent {
	readonly code: string;
	readonly repeat: boolean;
	preventDefault(): void;
	stopImmediatePropagation(): void;
}

/** The part of an element that is used. */
interface KeySurface {
	addEventListener(type: string, listener: (event: KeyEvent) => void, options: { readonly capture: true }): void;
}

/** To be called before others listen to the element. */
export function ignoreHeldElsewhere(element: KeySurface): void {
	const pressedHere = new Set<string>();
	const listen = (type: string, listener: (event: KeyEvent) => void) =>
		element.addEventListener(type, listener, { capture: true });
	listen("keydown", (event) => {
		if (!event.repeat) pressedHere.add(event.code);
		if (pressedHere.has(event.code)) return;
		event.preventDefault();
		event.stopImmediatePropagation();
	});
	listen("keyup", ({ code }) => pressedHere.delete(code));
	listen("focusout", () => pressedHere.clear());
}
