// What has arrived and waits, in pieces of some size: a million of one byte would weigh a hundred times as much.

/** Adds a piece at the end; those before it that are no larger, up to `upTo` bytes, are merged with it. */
export function holdPiece(held: Buffer[], piece: Buffer, upTo: number): void {
	let last = piece;
	for (let before = held.at(-1); before !== undefined; before = held.at(-1)) {
		if (before.length > Math.min(last.length, upTo)) break;
		last = Buffer.concat([before, last]);
		held.pop();
	}
	held.push(last);
}
