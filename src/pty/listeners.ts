// Those who want to know of one kind of happening.

export class Listeners<T> {
	readonly #all = new Set<{ readonly listener: (happening: T) => void }>();

	/** Returns its own undoing. */
	add(listener: (happening: T) => void): () => void {
		// An entry of its own: the same function may listen twice, and then leaves twice.
		const entry = { listener };
		this.#all.add(entry);
		return () => void this.#all.delete(entry);
	}

	emit(happening: T): void {
		for (const { listener } of [...this.#all]) listener(happening);
	}
}
