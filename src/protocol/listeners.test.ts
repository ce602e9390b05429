import { afterEach, expect, test } from "vitest";
import { Listeners, openSubscriptions, reportListenerErrors } from "./listeners.ts";

const reported: string[] = [];
const before = reportListenerErrors((error, event) => reported.push(`${event}: ${(error as Error).message}`));
afterEach(() => void reported.splice(0));

test("S9: a listener that throws is reported by the event's name and affects no other", () => {
	const listeners = new Listeners<number>("output");
	const received: number[] = [];
	listeners.add(() => {
		throw new Error("mine");
	});
	listeners.add((value) => received.push(value));
	listeners.emit(1);
	listeners.emit(2);
	expect(received).toEqual([1, 2]);
	expect(reported).toEqual(["output: mine", "output: mine"]);
	listeners.clear();
});

test("S9: a listener that has a name is reported by it, too", () => {
	const listeners = new Listeners<void>("ended");
	listeners.add(function tidyUp() {
		throw new Error("mine");
	});
	listeners.emit();
	expect(reported).toEqual(["ended: tidyUp: mine"]);
	listeners.clear();
});

test("a listener removed during an emit is not called, and every removal counts once", () => {
	const open = openSubscriptions();
	const listeners = new Listeners<void>("ended");
	let received = 0;
	const remove: (() => void)[] = [];
	remove.push(listeners.add(() => remove[1]?.()));
	remove.push(listeners.add(() => received++));
	expect(openSubscriptions()).toBe(open + 2);
	listeners.emit();
	expect(received).toBe(0);
	for (const each of [...remove, ...remove]) each();
	expect(openSubscriptions()).toBe(open);
	expect(listeners.size).toBe(0);
});

test("the handler before is given back", () => {
	expect(reportListenerErrors(reportListenerErrors(before))).toBeTypeOf("function");
});
