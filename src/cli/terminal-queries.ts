// What does not reach a person's own terminal while it shows a session. Queries: the
// session's emulator answers them already, and a second answer would reach the
// program as keystrokes. The clipboard and the window: they are the person's. Switches between the screens, resets, and clearing what
// scrolled away: the person's own screen and lines are theirs.

const ESC = 0x1b;
// A sequence that has not ended after this many bytes is not a query: let it through.
const MAX_HELD_BYTES = 256;

// Device attributes, status reports, mode requests, colour queries, window operations, the clipboard, XTVERSION, XTGETTCAP, DECRQSS, kitty.
const QUERY =
	/\x1b\[[>=]?[0-9]*c|\x1b\[\??[0-9;]*n|\x1b\[\??[0-9;]*\$p|\x1b\[>[0-9]*q|\x1b\[\?u|\x1b\[[0-9;]*t|\x1b\](?:4;[0-9]+|1[0-9]);\?(?:\x07|\x1b\\)|\x1b\]52;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP(?:\+q|\$q)[^\x1b]*\x1b\\|\x05/g;

/** The beginning of a sequence at the end of a chunk, whose rest is still to come. */
const UNFINISHED = /\x1b(?:\[[0-9;?>=<$!]*|\][^\x07\x1b]*\x1b?|P[^\x1b]*\x1b?)?$/;

/** … of the clipboard. */
const CLIPBOARD = /\x1b\]52;[^\x07\x1b]*(\x1b?)$/;

const FOREIGN = /\x1b\[\?([\d;]+)([hl])|\x1bc|\x1b\[3J/g;
const SCREENS = ["47", "1047", "1048", "1049"];
/** In place of a switch: the other screen is empty until it is drawn. */
const CLEAR = "\x1b[0m\x1b[2J\x1b[H";

export interface Shown {
	readonly bytes: Uint8Array;
	/** The program switched screens or reset the terminal: what is on its screen now has to be drawn anew. */
	readonly switched: boolean;
}

/** A filter for a stream of output: give it each chunk, show what it returns. */
export function forPerson(): (bytes: Uint8Array) => Shown {
	let held = Buffer.alloc(0);
	return (bytes) => {
		if (held.length === 0 && !bytes.includes(ESC) && !bytes.includes(0x05)) return { bytes, switched: false };
		let switched = false;
		// latin1 maps bytes one to one, so that a regular expression can work on them.
		const text = Buffer.concat([held, bytes])
			.toString("latin1")
			.replace(QUERY, "")
			.replace(FOREIGN, (sequence: string, modes?: string, way?: string) => {
				if (sequence === "\x1b[3J") return "";
				const others = modes?.split(";").filter((mode) => !SCREENS.includes(mode)) ?? [];
				if (modes !== undefined && others.join(";") === modes) return sequence;
				switched = true;
				return others.length > 0 ? `${CLEAR}\x1b[?${others.join(";")}${way}` : CLEAR;
			});
		const clipboard = CLIPBOARD.exec(text);
		if (clipboard !== null) {
			// However long it is, none of it is shown.
			held = Buffer.from(`\x1b]52;${clipboard[1]}`, "latin1");
			return { bytes: Buffer.from(text.slice(0, clipboard.index), "latin1"), switched };
		}
		const open = UNFINISHED.exec(text.slice(-MAX_HELD_BYTES));
		const cut = text.length - (open?.[0].length ?? 0);
		held = Buffer.from(text.slice(cut), "latin1");
		return { bytes: Buffer.from(text.slice(0, cut), "latin1"), switched };
	};
}
