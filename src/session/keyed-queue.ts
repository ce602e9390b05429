/** Runs tasks of one key one after the other, and those of different keys side by side. */
export class KeyedQueue {
	readonly #last = new Map<string, Promise<unknown>>();

	run<T>(key: string, task: () => Promise<T>): Promise<T> {
		const before = this.#last.get(key) ?? Promise.resolve();
		const result = before.then(task);
		const settled = result
			.catch(() => {}) // its caller is told; the next task does not depend on it
			.finally(() => {
				if (this.#last.get(key) === settled) this.#last.delete(key);
			});
		this.#last.set(key, settled);
		return result;
	}
}
