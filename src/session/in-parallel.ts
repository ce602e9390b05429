/** Acts on every item, at most `count` at a time. */
export async function inParallel<T>(
	count: number,
	items: readonly T[],
	act: (item: T) => Promise<unknown>,
): Promise<void> {
	const rest = items.values();
	await Promise.all(
		Array.from({ length: count }, async () => {
			for (const item of rest) await act(item);
		}),
	);
}
