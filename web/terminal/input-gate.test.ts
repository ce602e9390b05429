import { expect, test, vi } from "vitest";
import { InputGate } from "./input-gate.ts";

class FakeElement {
	readonly #listeners = new Map<string, (event: { isTrusted: boolean }) => void>();

	addEventListener(type: string, listener: (event: { isTrusted: boolean }) => void): void {
		this.#listeners.set(type, listener);
	}

	happen(type: string, isTrusted: boolean): void {
		this.#listeners.get(type)?.({ isTrusted });
	}
}

test("keys go through while a person presses them, and for composed text a moment longer", () => {
	vi.useFakeTimers();
	const element = new FakeElement();
	const gate = new InputGate(element);
	expect(gate.isOpen).toBe(false);
	element.happen("keydown", true);
	expect(gate.isOpen).toBe(true);
	let wasOpenLater = false;
	setTimeout(() => {
		wasOpenLater = gate.isOpen;
	});
	vi.runAllTimers();
	expect([wasOpenLater, gate.isOpen]).toEqual([true, false]);
	vi.useRealTimers();
});

test("an event that a script made opens nothing", () => {
	const element = new FakeElement();
	const gate = new InputGate(element);
	element.happen("keydown", false);
	expect(gate.isOpen).toBe(false);
});

test("what the page does for a person goes through, and nothing after it", () => {
	const gate = new InputGate(new FakeElement());
	let wasOpen = false;
	gate.through(() => {
		wasOpen = gate.isOpen;
	});
	expect([wasOpen, gate.isOpen]).toEqual([true, false]);
});
