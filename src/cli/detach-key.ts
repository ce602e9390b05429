// Ctrl+\ twice detaches. Once still reaches the program: it is SIGQUIT, which people
// need, and no key should become impossible to type.

const DETACH = 0x1c;
// The longest pause between the two: longer than a hesitant double press, short enough not to hold back a single one.
const WITHIN_MS = 400;

export function detachKey(on: { type(bytes: Uint8Array): void; detach(): void }): (bytes: Uint8Array) => void {
	let pending: NodeJS.Timeout | null = null;
	const release = () => {
		if (pending === null) return;
		clearTimeout(pending);
		pending = null;
		on.type(Uint8Array.of(DETACH));
	};
	return (bytes) => {
		let from = 0;
		for (let at = bytes.indexOf(DETACH); at !== -1; at = bytes.indexOf(DETACH, from)) {
			if (at > from) {
				release();
				on.type(bytes.slice(from, at));
			}
			from = at + 1;
			if (pending !== null) {
				clearTimeout(pending);
				pending = null;
				on.detach();
				return;
			}
			pending = setTimeout(release, WITHIN_MS);
		}
		if (from < bytes.length) {
			release();
			on.type(bytes.slice(from));
		}
	};
}
