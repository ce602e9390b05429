// What a recording may do to the person's own terminal when it is shown there as it was printed: draw. Everything else a
// program can say to a terminal is left out: queries, whose answers would be typed into their shell, the clipboard, the title,
// modes of keyboard and mouse, files. Only complete sequences from the tables below pass, whatever else there is.

const [ESC, CAN, SUB, BEL] = [0x1b, 0x18, 0x1a, 0x07];
/** Backspace to carriage return, and the two shifts between character sets. */
const DRAWS_ALONE = new Set([0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f]);
/** Cursor, erasing, inserting, scrolling, colours, margins; without a prefix, which makes most of them something else. */
const DRAWS = /^\x1b\[(?:[\d;:]*[@ABCDEFGHILMPSTXZ`abdefgmr]|[0-2]?[JK]|[su])$/;
/** Autowrap and the cursor's visibility. */
const DRAWING_MODES = /^\x1b\[\?(?:7|25)[hl]$/;
const SCREENS = /^\x1b\[\?(?:47|1047|1049)[hl]$/;
/** Save and restore the cursor, index, next line, reverse index, character sets. */
const DRAWS_SHORT = /^\x1b(?:[78DEM]|[()*+][0AB])$/;
const MAX_SEQUENCE_BYTES = 256;

/** Undoes what may be left of it: margins, colours, character sets, a hidden cursor. */
export const RESET_DRAWING = "\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\x1b[?7h\x1b[?25h";

type State = "text" | "escape" | "sequence" | "string" | "string end";

/** A filter for a stream of output: give it each chunk, show what it returns. `screens`: it may switch between the screens. */
export function drawingOnly({ screens = false } = {}): (bytes: Uint8Array) => Uint8Array {
	let state: State = "text";
	let sequence: number[] = [];
	/** The first byte of what may be a control character in UTF-8 (U+0080 to U+009F), as which some terminals take it. */
	let pair = false;
	const isShown = () => {
		const text = String.fromCharCode(...sequence);
		const table = [DRAWS, DRAWING_MODES, DRAWS_SHORT, ...(screens ? [SCREENS] : [])];
		return table.some((row) => row.test(text));
	};
	return (bytes) => {
		const shown: number[] = [];
		const finish = () => {
			if (isShown()) shown.push(...sequence);
			state = "text";
		};
		for (const byte of bytes) {
			if (byte === ESC) {
				if (pair) shown.push(0xc2);
				[state, sequence, pair] = [state === "string" ? "string end" : "escape", [ESC], false];
			} else if (state === "text") {
				if (pair && byte >= 0x80 && byte <= 0x9f) pair = false;
				else {
					if (pair) shown.push(0xc2);
					pair = byte === 0xc2;
					if (!pair && (DRAWS_ALONE.has(byte) || (byte >= 0x20 && byte !== 0x7f))) shown.push(byte);
				}
			} else if (byte === CAN || byte === SUB) state = "text";
			else if (state === "string") state = byte === BEL ? "text" : "string";
			else if (state === "string end" && byte === 0x5c) state = "text";
			else {
				sequence.push(byte);
				const isFirst = sequence.length === 2;
				// OSC, DCS, APC, PM and SOS: a text that ends with BEL or ESC \.
				if (isFirst && [0x5d, 0x50, 0x5f, 0x5e, 0x58].includes(byte)) state = "string";
				else if (isFirst && byte === 0x5b) state = "sequence";
				else if (sequence.length > MAX_SEQUENCE_BYTES) state = "text";
				else if (state === "sequence" ? byte >= 0x40 : byte >= 0x30) finish();
			}
		}
		return Uint8Array.from(shown);
	};
}
