// The listeners of one event. A listener that throws is reported under the
// event's name and harms neither the sender nor the other listeners.

/** `origin` is the event whose listener threw, or a short description of the place. */
type Report = (error: unknown, origin: string) => void;

// Without a handler an error must not vanish: it becomes an unhandled rejection, outside of the sender's stack.
let report: Report = (error, origin) => {
	void Promise.reject(new Error(`Error in "${origin}"`, { cause: error }));
};

let isDefault = true;

/** Sets where errors of listeners go: the daemon's log. Returns the previous handler. */
export function reportListenerErrors(handler: Report): Report {
	const before = report;
	report = handler;
	isDefault = false;
	return before;
}

/** The same for a library inside another program, unless that has set a handler. */
export function reportListenerErrorsByDefault(handler: Report): void {
	if (isDefault) reportListenerErrors(handler);
}

/** Reports an error that has no caller. */
export const reportError: Report = (error, origin) => report(error, origin);

let subscriptions = 0;

/** Active subscriptions in this process: tests check that none is left. */
export const openSubscriptions = (): number => subscriptions;

export class Listeners<T> {
	readonly #event: string;
	readonly #entries = new Set<{ readonly listener: (value: T) => void }>();

	constructor(event: string) {
		this.#event = event;
	}

	get size(): number {
		return this.#entries.size;
	}

	/** Returns the function that removes the listener; calling it twice is harmless. */
	add(listener: (value: T) => void): () => void {
		// An entry of its own: the same function may be added twice, and is then removed twice.
		const entry = { listener };
		this.#entries.add(entry);
		subscriptions++;
		return () => {
			if (this.#entries.delete(entry)) subscriptions--;
		};
	}

	emit(value: T): void {
		for (const entry of [...this.#entries]) {
			// Removed by an earlier listener: must not be called any more.
			if (!this.#entries.has(entry)) continue;
			try {
				entry.listener(value);
			} catch (error) {
				report(error, nameOf(this.#event, entry.listener));
			}
		}
	}

	clear(): void {
		subscriptions -= this.#entries.size;
		this.#entries.clear();
	}
}

const nameOf = (event: string, { name }: { readonly name: string }) => (name === "" ? event : `${event}: ${name}`);
