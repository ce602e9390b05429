// Whose turn it is in a terminal that a relay (script, sudo, tmux) holds within ours.

import type { InnerTerminal, ThreadFacts } from "../protocol/kernel-facts.ts";
import type { ScreenFacts } from "./attention.ts";
import { does, how, isBusy, readerAmong, who, withTimeouts } from "./evidence.ts";
import { inputKind } from "./input-kind.ts";
import { bytes, not, type Verdict, waiting } from "./verdict.ts";

/** Of several terminals the one that our last input woke somebody in; all of them where that is not one. */
export function addressed(terminals: readonly InnerTerminal[]): readonly InnerTerminal[] {
	const woken = terminals.filter(({ threads }) => threads.some((thread) => thread.fresh));
	return woken.length === 1 ? woken : terminals;
}

interface Relay {
	/** The full screen is its own. */
	readonly relayed: boolean;
	/** It has had the time to pass our input on: what nobody within woke up for was meant for the relay itself. */
	readonly rested: boolean;
}

/** The verdict for an inner terminal; null when unclear. Never certain: a relay is in between. */
export function within(terminal: InnerTerminal, screen: ScreenFacts, relay: Relay): Verdict | null {
	const threads = withTimeouts(terminal.threads, terminal);
	const reader = readerAmong(threads);
	if (reader === null) {
		const doer = threads.find(isBusy) ?? threads.find((thread) => thread.doing === "timer") ?? threads.at(-1);
		// Whoever passed this terminal on to a server knows no more of it.
		const unclear = (thread: ThreadFacts) => thread.doing === "opaque" || thread.local === true;
		if (doer === undefined || threads.some(unclear)) return null;
		return not("working", "likely", `${who(doer)} ${does(doer)}`);
	}
	const { thread, reading } = reader;
	if (terminal.unread)
		return not("working", "likely", `${who(thread)} has not read ${bytes(terminal.unread)} of input yet`);
	const deeper = thread.inner?.map((deepest) => within(deepest, screen, relay)) ?? [];
	if (deeper.length > 0) return deeper.length === 1 ? (deeper[0] ?? null) : null;
	if (reading !== "blocked" || !(thread.fresh || relay.rested)) return null;
	const { kind, because } = inputKind(terminal, screen, relay);
	return waiting(kind, "likely", `${who(thread)} is blocked in ${how(thread)}; ${because}`);
}
