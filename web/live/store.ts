// A value that views follow: set it, and those that use it are drawn again.

import { useEffect, useState } from "preact/hooks";

export class Store<T> {
	readonly #listeners = new Set<() => void>();
	#value: T;

	constructor(value: T) {
		this.#value = value;
	}

	get value(): T {
		return this.#value;
	}

	set(value: T): void {
		if (Object.is(value, this.#value)) return;
		this.#value = value;
		for (const listener of [...this.#listeners]) listener();
	}

	/** Calls the listener after each change; returns its undoing. */
	onChange(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => void this.#listeners.delete(listener);
	}
}

export function useStore<T>(store: Store<T>): T {
	const [, redraw] = useState(0);
	const { value } = store;
	useEffect(() => {
		const changed = () => redraw((count) => count + 1);
		// It may have changed between that drawing and now.
		if (!Object.is(store.value, value)) changed();
		return store.onChange(changed);
	}, [store]);
	return value;
}
