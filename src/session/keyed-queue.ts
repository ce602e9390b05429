/** Runs tasks of one key in sequence, and those of different keys in parallel. */
export class KeyedQueue {
	readonly #last = new Map<string, Promise<unknown>>();

	run<T>(key: string, task: () => Promise<T>): Promise<T> {
		const before = this.#last.get(key) ?? Promise.resolve();
		const result = before.then(task);
		const settled = result
			.catch(() => {}) // reported to its caller; the next task does not depend on it
			.finally(() => {
				if (this.#last.get(key) === settled) this.#last.delete(key);
			});
		this.#last.set(key, settled);
		return result;
	}
}
