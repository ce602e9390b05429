// Keys that a phone's keyboard lacks, or hides behind others.

/** What each sends; `cursor`: a final byte that follows the mode of the cursor keys. */
const KEYS = {
	Esc: { text: "\x1b" },
	Tab: { text: "\t" },
	Ctrl: { text: "" }, // held for the next key
	"Ctrl+C": { text: "\x03" },
	Left: { cursor: "D" },
	Up: { cursor: "A" },
	Down: { cursor: "B" },
	Right: { cursor: "C" },
	"|": { text: "|" },
	"/": { text: "/" },
	"~": { text: "~" },
	Home: { cursor: "H" },
	End: { cursor: "F" },
	PgUp: { text: "\x1b[5~" },
	PgDn: { text: "\x1b[6~" },
} as const;
export type BarKey = keyof typeof KEYS;
export const BAR_KEYS = Object.keys(KEYS) as readonly BarKey[];

export function keySequence(name: Exclude<BarKey, "Ctrl">, applicationCursor: boolean): string {
	const key = KEYS[name];
	return "text" in key ? key.text : `\x1b${applicationCursor ? "O" : "["}${key.cursor}`;
}

/** A letter as the key with Ctrl; what has no such key stays. */
export function withControl(text: string): string {
	if (text === " ") return "\0";
	return /^[@-_a-z]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f) : text;
}
