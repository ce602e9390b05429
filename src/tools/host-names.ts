// How a caller on another host of the fleet calls the sessions of this one: `host/name` and `host/id`.
//
// Decided here, on the host that answers, and not where the answer arrives: the marks of what was cut and the
// words of a fence are made while the answer is rendered (session/own-words.ts), and a refusal that has the shape
// of a result is text when it leaves. An answer that was renamed afterwards would have the old names in both.

import { type CleanLine, isCleanLine, oneLine } from "../protocol/clean.ts";
import { Fault, type FaultCode, type FaultFacts } from "../protocol/fault.ts";
import { vocabularies } from "../protocol/vocabulary.ts";
import type { Caller } from "./tool.ts";

type From = Pick<Caller, "onHost">;

/** A name or id as this caller has to call it. */
export const onHost = ({ onHost: host }: From, reference: string): string =>
	host === undefined ? reference : `${host}/${reference}`;

/** A number that is small enough to be a session's own; above it are those of other hosts. */
const OWN_NUMBERS = 2 ** 24;
const HOST_NUMBERS = 2 ** 29;

/** A set whose sessions are numbers: the host is in the upper digits, so that it cannot mean one of the caller's own host. */
export const numberOnHost = ({ onHost: host }: From, number: number): number =>
	host === undefined || number >= OWN_NUMBERS ? number : numberOf(host) * OWN_NUMBERS + number;

/** Whether it can only be the number of a session of another host. */
export const isNumberElsewhere = (number: number): boolean => Number.isSafeInteger(number) && number >= OWN_NUMBERS;

/** Which of these hosts a number is of, and its number there; null where it is none's, or not certainly one's. */
export function hostOfNumber(number: number, hosts: Iterable<string>): { host: string; number: number } | null {
	if (!isNumberElsewhere(number)) return null;
	const upper = Math.floor(number / OWN_NUMBERS);
	const [host, ...others] = [...hosts].filter((one) => numberOf(one) === upper);
	return host === undefined || others.length > 0 ? null : { host, number: number % OWN_NUMBERS };
}

/** FNV-1a. Never 0. */
function numberOf(host: string): number {
	let hash = 0x811c9dc5;
	for (const byte of Buffer.from(host)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return (hash % (HOST_NUMBERS - 1)) + 1;
}

/** The fields of answers, of all sets, by which a session is called. */
const CALLED_BY: ReadonlySet<string> = new Set(["session", "name", "shell", "session_id", "terminal_id", "process_id"]);

/** The facts of any tool with the names that this caller knows. */
export function factsOnHost<F extends object>(facts: F, caller: From | undefined): F {
	if (caller?.onHost === undefined) return facts;
	if (Array.isArray(facts)) return facts.map((one) => renamed(one, caller)) as object as F;
	return renamed(facts, caller);
}

function renamed<F extends object>(facts: F, caller: From): F {
	const entries = Object.entries(facts).map(([field, value]) => {
		// The lists of sessions.
		if (field === "sessions" && Array.isArray(value)) return [field, value.map((one) => renamed(one, caller))];
		if (!CALLED_BY.has(field)) return [field, value];
		if (typeof value === "number") return [field, numberOnHost(caller, value)];
		return [field, typeof value === "string" && value !== "" ? called(value, caller) : value];
	});
	return Object.fromEntries(entries) as F;
}

/** What had passed the filter has passed it with the host before it, too. */
function called(value: string | CleanLine, caller: From): string {
	const name = onHost(caller, value);
	return isCleanLine(value) ? oneLine(name, Number.MAX_SAFE_INTEGER) : name;
}

/** The facts of faults by which sessions, or calls that wait for a person, are called. */
const IN_FAULTS: Partial<Record<FaultCode, readonly string[]>> = {
	session_not_found: ["id", "open", "ids"],
	session_ended: ["id", "sessionId"],
	unresponsive: ["name", "sessionId"],
	taken_over: ["name", "sessionId"],
	session_unreachable: ["id", "sessionId"],
	disk_stalled: ["id", "sessionId"],
	name_taken: ["name"],
	still_running: ["id", "sessionId"],
	not_removed: ["id", "sessionId"],
	too_many_sessions: ["open", "ids"],
	shell_busy: ["shell", "session"],
	not_a_shell: ["name"],
	driven_by_human: ["id", "sessionId"],
	typed_by_human: ["id", "sessionId"],
	not_driving: ["id", "sessionId"],
	not_asked: ["id", "sessionId"],
	approval_pending: ["id"],
	approval_not_found: ["id", "open"],
};

/** The same of a refusal in the words of its set: they are made of its facts. */
export function faultOnHost(fault: Fault, caller: From | undefined): Fault {
	const fields = IN_FAULTS[fault.code];
	if (caller?.onHost === undefined || fields === undefined) return fault;
	const isNumber = (value: string) => fault.words === "codex" && vocabularies.codex.names.test(value);
	const each = (value: unknown): unknown => {
		if (Array.isArray(value)) return value.map(each);
		if (typeof value !== "string") return value;
		return isNumber(value) ? String(numberOnHost(caller, Number(value))) : onHost(caller, value);
	};
	const facts: Record<string, unknown> = { ...fault.facts };
	for (const field of fields) if (facts[field] !== undefined) facts[field] = each(facts[field]);
	if (Array.isArray(facts.others)) facts.others = facts.others.map((one) => ({ ...one, id: each(one.id) }));
	const { cause, words } = fault;
	return new Fault(fault.code, facts as FaultFacts<FaultCode>, { cause, words });
}
