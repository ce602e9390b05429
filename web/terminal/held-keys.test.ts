import { expect, test } from "vitest";
import { ignoreHeldElsewhere } from "./held-keys.ts";

type Listener = Parameters<Parameters<typeof ignoreHeldElsewhere>[0]["addEventListener"]>[1];

class FakeElement {
	readonly #listeners = new Map<string, Listener>();

	addEventListener(type: string, listener: Listener): void {
		this.#listeners.set(type, listener);
	}

	/** Whether it reaches who listens after. */
	happen(type: string, code: string, repeat = false): boolean {
		let reaches = true;
		const stopImmediatePropagation = () => {
			reaches = false;
		};
		this.#listeners.get(type)?.({ code, repeat, preventDefault: () => {}, stopImmediatePropagation });
		return reaches;
	}
}

test("a key repeats where it was pressed, and not where the focus went while it was held", () => {
	const element = new FakeElement();
	ignoreHeldElsewhere(element);
	expect(element.happen("keydown", "Enter", true)).toBe(false);
	expect(element.happen("keydown", "KeyA")).toBe(true);
	expect(element.happen("keydown", "KeyA", true)).toBe(true);
	expect(element.happen("keydown", "Enter", true)).toBe(false);
	element.happen("keyup", "Enter");
	expect(element.happen("keydown", "Enter")).toBe(true);
	expect(element.happen("keydown", "Enter", true)).toBe(true);
	element.happen("focusout", "");
	expect(element.happen("keydown", "Enter", true)).toBe(false);
});
