// Bytes → code points across any split: a split character waits for its rest, and invalid
// bytes become the replacement character, as on a real terminal.
//
// Replaces the emulator's own decoder, which drops invalid bytes silently and loses some
// characters that arrive byte by byte (U+10000, for one).

const REPLACEMENT = 0xfffd;
const BYTE_ORDER_MARK = 0xfeff;

export class Utf8Decoder {
	#codePoint = 0;
	/** Continuation bytes still to come, and the range in which the next one must lie. */
	#missing = 0;
	#lowest = 0x80;
	#highest = 0xbf;

	/** No character is incomplete. */
	get settled(): boolean {
		return this.#missing === 0;
	}

	/** Fills `target`, which has room for every byte and three more, and returns the count. */
	decode(bytes: Uint8Array, target: Uint32Array): number {
		const { length } = bytes;
		let at = 0;
		let count = 0;
		let byte = 0;
		while (at < length) {
			while (this.#missing === 0 && at < length) {
				byte = bytes[at++]!;
				if (byte < 0x80) target[count++] = byte;
				else if (!this.#begin(byte)) target[count++] = REPLACEMENT;
			}
			while (this.#missing > 0 && at < length) {
				byte = bytes[at]!;
				if (byte < this.#lowest || byte > this.#highest) {
					// The previous bytes were invalid; this one may start a character.
					this.#missing = 0;
					target[count++] = REPLACEMENT;
					break;
				}
				at++;
				this.#lowest = 0x80;
				this.#highest = 0xbf;
				this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f);
				if (--this.#missing === 0 && this.#codePoint !== BYTE_ORDER_MARK) target[count++] = this.#codePoint;
			}
		}
		return count;
	}

	/** The bounds of the second byte exclude overlong forms, surrogates and values above U+10FFFF. */
	#begin(byte: number): boolean {
		this.#lowest = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
		this.#highest = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
		if (byte < 0xc2 || byte > 0xf4) return false;
		this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
		this.#codePoint = byte & (0x3f >> this.#missing);
		return true;
	}
}
