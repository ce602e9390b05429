// Encodes a caller's input as the bytes that a keyboard would send in the current
// terminal modes. Throws before anything is written.

import { Fault } from "../protocol/fault.ts";
import { encodeKeys, encodeText } from "../terminal/keys.ts";
import type { Modes } from "../terminal/modes.ts";
import { encodePaste } from "../terminal/paste.ts";

export interface Typing {
	readonly text?: string | undefined;
	readonly paste?: string | undefined;
	readonly keys?: readonly string[] | undefined;
	/** Presses Enter after text and paste, before keys. */
	readonly submit?: boolean | undefined;
	/** Pastes many lines even where the program did not ask for bracketed paste. */
	readonly force?: boolean | undefined;
}

/** The bytes to write, in the order text, paste, Enter, keys. */
export function compose(typing: Typing, modes: Modes): Uint8Array {
	const parts: Uint8Array[] = [];
	if (typing.text !== undefined && typing.paste !== undefined) {
		throw new Fault("bad_input", { problems: ["give `text` or `paste`, not both"] });
	}
	if (typing.text !== undefined) parts.push(encodeText(typing.text, modes));
	if (typing.paste !== undefined) parts.push(encodePaste(typing.paste, modes, { force: typing.force ?? false }));
	if (typing.submit === true) parts.push(encodeKeys(["enter"], modes));
	if (typing.keys !== undefined && typing.keys.length > 0) parts.push(encodeKeys(typing.keys, modes));
	const bytes = Buffer.concat(parts);
	if (bytes.length === 0) {
		throw new Fault("bad_input", { problems: ["nothing to type: give `text`, `keys`, `paste` or `submit`"] });
	}
	return bytes;
}
