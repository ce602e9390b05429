/**
 * A table's entry for a word from outside. `table[word]` alone also finds what every
 * object inherits: `constructor`, `__proto__`.
 */
export function own<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
	return Object.hasOwn(table, word) ? table[word] : undefined;
}
