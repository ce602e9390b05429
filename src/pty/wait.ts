// One wait: a list of conditions, of which the first to come true ends it.
//
// Everything that a condition subscribes to or sets up lives in the scope of the
// wait and is disposed when the wait ends, also during set-up and where the caller has
// aborted before. Callers' conditions are in session/conditions.ts.

/** Something that can end a wait. The order in the list is the precedence. */
export interface Condition<T> {
	/** Subscribes; may settle at once. */
	start(scope: WaitScope<T>): void;
	/** Checked when a later condition is about to end the wait: the outcome if this one is now true. */
	test?(): T | null;
}

export interface WaitScope<T> {
	/** Ends the wait; only the first call counts. */
	settle(outcome: T): void;
	/** Fails the wait, unless it is over. */
	fail(error: unknown): void;
	/** Runs `dispose` when the wait is over: at once if it already is. */
	own(dispose: () => void): void;
	/** A listener that does nothing once the wait is over, and fails it where it throws. */
	guard<V>(listener: (value: V) => void): (value: V) => void;
	/** Calls `act` later unless the wait is over by then. An error in `act` fails the wait. */
	after(ms: number, act: () => void): void;
}

/** Ends with the outcome of the first condition that comes true; rejects when the caller aborts or a condition fails. */
export function wait<T>(
	conditions: readonly Condition<T>[],
	{ signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
	return new Promise<T>((resolve, reject) => {
		const disposers: (() => void)[] = [];
		const timers = new Set<NodeJS.Timeout>();
		let settled = false;

		const end = (deliver: () => void) => {
			if (settled) return;
			settled = true;
			deliver();
			for (const timer of timers) clearTimeout(timer);
			for (const dispose of disposers) dispose();
		};
		const own = (dispose: () => void) => {
			if (settled) dispose();
			else disposers.push(dispose);
		};
		const guard = (act: () => void) => {
			try {
				if (!settled) act();
			} catch (error) {
				// After the end nothing awaits the error: it is a bug in a disposer, reported by the sender.
				if (settled) throw error;
				end(() => reject(error));
			}
		};
		const scopeOf = (index: number): WaitScope<T> => ({
			settle: (outcome) =>
				guard(() => {
					const earlier = firstHolding(conditions.slice(0, index));
					end(() => resolve(earlier ?? outcome));
				}),
			fail: (error) => end(() => reject(error)),
			own,
			guard: (listener) => (value) => guard(() => listener(value)),
			after: (ms, act) => {
				if (settled) return;
				const timer = setTimeout(() => {
					timers.delete(timer);
					guard(act);
				}, ms);
				timers.add(timer);
			},
		});

		if (signal !== undefined) {
			const abort = () => end(() => reject(signal.reason));
			if (signal.aborted) abort();
			else own(onAbort(signal)(abort));
		}
		for (const [index, condition] of conditions.entries()) {
			if (settled) return;
			guard(() => condition.start(scopeOf(index)));
		}
	});
}

/** Settles as soon as `holds` does: looked at now and at each change. */
export function until(holds: () => boolean, ...changes: readonly Subscribe[]): Promise<void> {
	const start = (scope: WaitScope<void>) => {
		if (holds()) return scope.settle();
		const check = scope.guard<void>(() => {
			if (holds()) scope.settle();
		});
		for (const subscribe of changes) scope.own(subscribe(check));
	};
	return wait([{ start }]);
}

/** Calls the listener at each change until the function that it returns is called. */
export type Subscribe = (listener: () => void) => () => void;

export const onAbort =
	(signal: AbortSignal): Subscribe =>
	(listener) => {
		signal.addEventListener("abort", listener);
		return () => signal.removeEventListener("abort", listener);
	};

/** Settles or fails with the promise; the work behind it is not interrupted. */
export function settled<T>(promise: PromiseLike<T>): Condition<T> {
	return { start: ({ settle, fail }) => void promise.then(settle, fail) };
}

/** Rejects when the promise takes too long; the work itself is not interrupted. */
export function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
	const late: Condition<T> = {
		start: ({ after, fail }) => after(ms, () => fail(new Error(`${what} took longer than ${ms} ms`))),
	};
	return wait([settled(promise), late]);
}

function firstHolding<T>(conditions: readonly Condition<T>[]): T | null {
	for (const condition of conditions) {
		const outcome = condition.test?.() ?? null;
		if (outcome !== null) return outcome;
	}
	return null;
}
