import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { detachKey } from "./detach-key.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function keyboard() {
	const typed: string[] = [];
	let detached = 0;
	const press = detachKey({ type: (bytes) => typed.push(Buffer.from(bytes).toString()), detach: () => detached++ });
	return { typed, detached: () => detached, press: (text: string) => press(Buffer.from(text)) };
}

test("Ctrl+\\ twice leaves, and none of it reaches the program", () => {
	const keys = keyboard();
	keys.press("\x1c");
	keys.press("\x1c");
	expect(keys.detached()).toBe(1);
	expect(keys.typed).toEqual([]);
});

test("Ctrl+\\ once reaches the program after a moment", () => {
	const keys = keyboard();
	keys.press("\x1c");
	expect(keys.typed).toEqual([]);
	vi.advanceTimersByTime(500);
	expect(keys.typed).toEqual(["\x1c"]);
	expect(keys.detached()).toBe(0);
});

test("Ctrl+\\ followed by another key keeps its place before it", () => {
	const keys = keyboard();
	keys.press("a\x1cb");
	expect(keys.typed.join("")).toBe("a\x1cb");
	vi.advanceTimersByTime(500);
	expect(keys.typed.join("")).toBe("a\x1cb");
});

test("the two may arrive in one read together with other keys", () => {
	const keys = keyboard();
	keys.press("ls\x1c\x1c");
	expect(keys.typed).toEqual(["ls"]);
	expect(keys.detached()).toBe(1);
});
