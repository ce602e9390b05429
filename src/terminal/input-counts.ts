// How much was typed, for recordings: keys and pasted lines as numbers, so that what was typed
// is known to have been typed and is itself kept nowhere.

export interface InputCounts {
	/** Keys and typed characters; an escape sequence is one key. */
	readonly keys: number;
	/** Lines that were pasted, or typed at once as several lines. */
	readonly lines: number;
}

const PASTE = /\x1b\[200~([\s\S]*?)(?:\x1b\[201~|$)/g;
/** What a keyboard sends for a key that is not a character. */
const KEY = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\x1b[O])/g;
/** Of the mouse, and of the window that got or lost the focus: nobody pressed them. */
const REPORT = /\x1b\[(?:<[\d;]*[Mm]|M[\s\S]{3}|[IO])/g;
const SEVERAL_LINES = /(?:\r(?!\n)|\n)[\s\S]/;
const LINE_END = /\r\n?|\n/;

/** What is in one write. */
export function countInput(bytes: Uint8Array): InputCounts {
	const text = new TextDecoder().decode(bytes).replace(REPORT, "");
	let lines = 0;
	const typed = text.replace(PASTE, (_, pasted: string) => {
		lines += linesIn(pasted);
		return "";
	});
	// Nobody types a line end and goes on in the same moment.
	if (!typed.includes("\x1b") && SEVERAL_LINES.test(typed)) return { keys: 0, lines: lines + linesIn(typed) };
	let keys = 0;
	for (const _ of typed.replace(/\r\n/g, "\r").replace(KEY, "k")) keys++;
	return { keys, lines };
}

/** As a person counts them: a line end at the end begins no other line. */
export function linesIn(text: string): number {
	const lines = text.split(LINE_END);
	return lines.at(-1) === "" ? lines.length - 1 : lines.length;
}

export const addCounts = (a: InputCounts, b: InputCounts): InputCounts => ({
	keys: a.keys + b.keys,
	lines: a.lines + b.lines,
});
