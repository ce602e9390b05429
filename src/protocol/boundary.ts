// The boundary to the outside. Whatever a connection, an upgrade, a message, a
// timer or a file makes our code throw is reported with its origin, answered where
// someone listens, and ends nothing else.

import { Fault } from "./fault.ts";
import { reportError } from "./listeners.ts";

/**
 * A handler for something from outside. What it throws, or its promise rejects with, is reported under `origin`;
 * `refuse` then answers or disconnects the other side.
 */
export function guarded<A extends readonly unknown[]>(
	origin: string,
	handler: (...args: A) => unknown,
	refuse?: (fault: Fault, ...args: A) => void,
): (...args: A) => void {
	const failed = (error: unknown, args: A) => {
		const fault = faultAt(origin, error);
		if (refuse === undefined) return;
		try {
			refuse(fault, ...args);
		} catch (second) {
			reportError(second, origin); // the other side is gone, or refusing is what fails
		}
	};
	return (...args) => {
		try {
			const result = handler(...args);
			if (result instanceof Promise) result.catch((error: unknown) => failed(error, args));
		} catch (error) {
			failed(error, args);
		}
	};
}

/** The error as a fault for the caller; one that is not a fault already, nor an abort, is reported. */
export function faultAt(origin: string, error: unknown): Fault {
	if (error instanceof Fault) return error;
	if (!isAbort(error)) reportError(error, origin);
	return new Fault("internal", { problem: error instanceof Error ? error.message : String(error) }, { cause: error });
}

const isAbort = (error: unknown) => error instanceof Error && error.name === "AbortError";
