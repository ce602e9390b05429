// Removes terminal queries from the output to a person's own terminal while they are
// attached. The session's emulator answers them already; a second answer would
// reach the program as keystrokes.

const ESC = 0x1b;
// A sequence that has not ended after this many bytes is not a query: let it through.
const MAX_HELD_BYTES = 256;

// Device attributes, status reports, mode requests, colour and window queries, XTVERSION, XTGETTCAP, DECRQSS, kitty.
const QUERY =
	/\x1b\[[>=]?[0-9]*c|\x1b\[\??[0-9;]*n|\x1b\[\??[0-9;]*\$p|\x1b\[>[0-9]*q|\x1b\[\?u|\x1b\[(?:1[1-9]|2[01])t|\x1b\](?:4;[0-9]+|1[0-9]|52;[a-z]*);\?(?:\x07|\x1b\\)|\x1bP(?:\+q|\$q)[^\x1b]*\x1b\\|\x05/g;

/** The beginning of a sequence at the end of a chunk, whose rest is still to come. */
const UNFINISHED = /\x1b(?:\[[0-9;?>=<$!]*|\][^\x07\x1b]*\x1b?|P[^\x1b]*\x1b?)?$/;

/** A filter for a stream of output: give it each chunk, show what it returns. */
export function withoutQueries(): (bytes: Uint8Array) => Uint8Array {
	let held = Buffer.alloc(0);
	return (bytes) => {
		if (held.length === 0 && !bytes.includes(ESC) && !bytes.includes(0x05)) return bytes;
		// latin1 maps bytes one to one, so that a regular expression can work on them.
		const text = Buffer.concat([held, bytes]).toString("latin1").replace(QUERY, "");
		const open = UNFINISHED.exec(text.slice(-MAX_HELD_BYTES));
		const cut = text.length - (open?.[0].length ?? 0);
		held = Buffer.from(text.slice(cut), "latin1");
		return Buffer.from(text.slice(0, cut), "latin1");
	};
}
