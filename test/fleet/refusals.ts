// What callers may be told in place of an answer: whether what they asked for was done then, and which harms can be the
// reason. A code that is not here is never an answer to a harm.

import { type Fault, type FaultCode, isFault } from "../../src/protocol/fault.ts";
import type { Harm, HarmKind } from "./harms.ts";

export type Typed = "yes" | "no" | "maybe";

interface Row {
	readonly done: (fault: Fault) => Typed;
	/** On the caller's machine, and on any that it asks; servers are everybody's. */
	readonly own: readonly HarmKind[];
	readonly any: readonly HarmKind[];
}

const DAEMON: readonly HarmKind[] = ["kill daemon", "pause daemon"];
const LINK: readonly HarmKind[] = ["cut link", "link down"];
const SERVERS: readonly HarmKind[] = ["kill one server", "kill two servers", "kill all servers", "cut server"];

/** What can make a machine, or all, unreachable to others. One that is slow or loses packets cannot. */
export const CUTS_OFF: readonly HarmKind[] = [...DAEMON, ...LINK, ...SERVERS];

const never = (): Typed => "no";

const ROWS: Partial<Readonly<Record<FaultCode, Row>>> = {
	fleet_unreachable: { done: never, own: [...DAEMON, ...LINK], any: SERVERS },
	host_unreachable: {
		done: (fault) => (isFault(fault, "host_unreachable") && fault.facts.maybeDone ? "maybe" : "no"),
		own: [],
		any: CUTS_OFF,
	},
	daemon_replaced: {
		done: (fault) => (isFault(fault, "daemon_replaced") && fault.facts.repeatable ? "no" : "maybe"),
		own: DAEMON,
		any: [],
	},
	taken_over: {
		done: (fault) => (isFault(fault, "taken_over") && fault.facts.maybeTyped ? "maybe" : "no"),
		own: DAEMON,
		any: [],
	},
	no_daemon: { done: never, own: DAEMON, any: [] },
	// Of a holder, while the daemon on its machine begins anew.
	unresponsive: {
		done: (fault) => (isFault(fault, "unresponsive") && fault.facts.maybeTyped ? "maybe" : "no"),
		own: [],
		any: DAEMON,
	},
	session_unreachable: { done: never, own: [], any: DAEMON },
	// A start that may be placed anywhere, while nowhere is reached.
	no_host_fits: { done: never, own: [], any: CUTS_OFF },
	// The command before it was cut off, and is not known to be over.
	shell_busy: { done: never, own: [], any: CUTS_OFF },
};

/** Null: such a refusal is wrong whatever was harmed. */
export function doneBy(fault: Fault): Typed | null {
	return ROWS[fault.code]?.done(fault) ?? null;
}

/** Whether one of these harms can be why a call by this machine was refused so. */
export function mayComeOf(code: FaultCode, by: string, harms: readonly Harm[]): boolean {
	const { own = [], any = [] } = ROWS[code] ?? {};
	return harms.some(({ kind, on }) => any.includes(kind) || (own.includes(kind) && on.includes(by)));
}
