/** Rejects when the promise takes too long; the work itself is not interrupted. */
export function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
		promise.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}
