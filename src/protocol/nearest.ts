// Which known words a misspelt one may have meant.

const MAX_WORD_CHARS = 32;
const MOST = 3;

/** What a word must have in common with one that it contains, or is part of. */
const MIN_PART_CHARS = 3;

/** The known words within a third of their length of `word`, then those that contain it or are part of it. */
export function nearest(word: string, known: readonly string[]): string[] {
	const wanted = word.toLowerCase();
	const close = known
		.map((candidate) => ({ candidate, edits: distance(wanted, candidate.toLowerCase()) }))
		.filter(({ candidate, edits }) => edits <= Math.max(1, Math.floor(candidate.length / 3)))
		.sort((a, b) => a.edits - b.edits)
		.map(({ candidate }) => candidate);
	const related = known.filter((candidate) => !close.includes(candidate) && sharesAll(wanted, candidate.toLowerCase()));
	return [...close, ...related].slice(0, MOST);
}

function sharesAll(a: string, b: string): boolean {
	return Math.min(a.length, b.length) >= MIN_PART_CHARS && (a.includes(b) || b.includes(a));
}

/** Edits from one word to the other, two neighbours swapped being one edit. */
export function distance(a: string, b: string): number {
	if (a.length > MAX_WORD_CHARS) return a.length;
	const table = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array<number>(b.length).fill(0)]);
	for (let j = 0; j <= b.length; j++) table[0]![j] = j;
	for (let i = 1; i <= a.length; i++)
		for (let j = 1; j <= b.length; j++) {
			const same = a[i - 1] === b[j - 1] ? 0 : 1;
			let best = Math.min(table[i - 1]![j]! + 1, table[i]![j - 1]! + 1, table[i - 1]![j - 1]! + same);
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
				best = Math.min(best, table[i - 2]![j - 2]! + 1);
			table[i]![j] = best;
		}
	return table[a.length]![b.length]!;
}
