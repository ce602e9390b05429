// Which of two versions of Dialtone is the newer one.

/** By the three numbers of a version. */
export function isNewer(ours: string, theirs: string): boolean {
	const numbers = (version: string) => version.split(/[.-]/, 3).map((part) => Number(part) || 0);
	const [mine, other] = [numbers(ours), numbers(theirs)];
	const index = mine.findIndex((number, at) => number !== (other[at] ?? 0));
	return index !== -1 && mine[index]! > (other[index] ?? 0);
}
