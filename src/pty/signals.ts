// Signals by name: people and tools write SIGTERM or TERM, the kernel 15.

import { constants } from "node:os";

const BY_NUMBER = new Map<number, string>();
// Where two names share a number (SIGABRT, SIGIOT) the first is the usual one.
for (const [name, number] of Object.entries(constants.signals)) if (!BY_NUMBER.has(number)) BY_NUMBER.set(number, name);

/** Null for an unknown signal. */
export function signalNumber(name: string): number | null {
	const full = name.toUpperCase().startsWith("SIG") ? name.toUpperCase() : `SIG${name.toUpperCase()}`;
	return (constants.signals as Readonly<Record<string, number>>)[full] ?? null;
}

/** The exit code that a shell reports: 128 + n after signal n; null where it is unknown. */
export function exitStatus(
	exit: { readonly code: number | null; readonly signal: string | null } | null,
): number | null {
	if (exit === null || exit.code !== null) return exit?.code ?? null;
	const number = exit.signal === null ? null : signalNumber(exit.signal);
	return number === null ? null : 128 + number;
}

export function signalName(number: number): string {
	return BY_NUMBER.get(number) ?? `SIG${number}`;
}
