// Finds the sequences that change how later output is drawn (modes, colours,
// margins, title, directory) in output that is not drawn itself.

const ESC = 0x1b;
const BEL = 0x07;
const BACKSLASH = 0x5c;
/** A longer sequence is not a mode. Bounds what is carried over between feeds. */
const MAX_SEQUENCE = 4096;
/** h l: modes · m: colours · r: margins · u: kitty keyboard. `!p` is the soft reset. */
const CSI_FINALS = new Set([..."hlmru"].map((final) => final.charCodeAt(0)));
/** Title and directory. */
const OSC_KEPT = /^(?:0|2|7);/;

export class ControlFilter {
	/** The incomplete sequence at the end of the last feed. */
	#begun: Uint8Array = new Uint8Array(0);

	/** The sequences in these bytes that matter to what follows them. */
	feed(bytes: Uint8Array): Uint8Array {
		const all = this.#begun.length === 0 ? bytes : joined(this.#begun, bytes);
		this.#begun = new Uint8Array(0);
		const kept: number[] = [];
		for (let at = all.indexOf(ESC); at >= 0; ) {
			const end = endOfSequence(all, at);
			if (end < 0) {
				if (all.length - at <= MAX_SEQUENCE) this.#begun = all.slice(at);
				break;
			}
			if (matters(all, at, end)) for (let i = at; i < end; i++) kept.push(all[i]!);
			at = all.indexOf(ESC, end);
		}
		return Uint8Array.from(kept);
	}
}

/** The offset after the sequence that begins here; -1 when it is incomplete. */
function endOfSequence(bytes: Uint8Array, from: number): number {
	const kind = bytes[from + 1];
	if (kind === undefined) return -1;
	// CSI: parameters and intermediates, then a final.
	if (kind === 0x5b) {
		for (let at = from + 2; at < bytes.length; at++) {
			if (bytes[at]! >= 0x40) return at + 1;
			if (bytes[at]! < 0x20) return at;
		}
		return -1;
	}
	// OSC, DCS, SOS, PM, APC: up to BEL or ST.
	if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f) {
		for (let at = from + 2; at < bytes.length; at++) {
			if (bytes[at] === BEL) return at + 1;
			if (bytes[at] === ESC) return bytes[at + 1] === undefined ? -1 : bytes[at + 1] === BACKSLASH ? at + 2 : at;
		}
		return -1;
	}
	// Intermediates (character sets), then a final.
	for (let at = from + 1; at < bytes.length; at++) if (bytes[at]! >= 0x30 || bytes[at]! < 0x20) return at + 1;
	return -1;
}

function matters(bytes: Uint8Array, from: number, end: number): boolean {
	const kind = bytes[from + 1]!;
	const final = bytes[end - 1]!;
	if (kind === 0x5b) return CSI_FINALS.has(final) || (final === 0x70 && bytes[end - 2] === 0x21);
	if (kind === 0x5d) return OSC_KEPT.test(String.fromCharCode(...bytes.subarray(from + 2, from + 4)));
	// c: reset · = and >: keypad · with an intermediate: character set.
	return kind === 0x63 || kind === 0x3d || kind === 0x3e || (kind >= 0x28 && kind <= 0x2b);
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
	const all = new Uint8Array(a.length + b.length);
	all.set(a);
	all.set(b, a.length);
	return all;
}
