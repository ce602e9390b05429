// Encodes a caller's input as the bytes that a keyboard would send in the current
// terminal modes.

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

/**
 * What to write: text, paste and Enter at once, then each key by itself, encoded for the modes of its moment. The first
 * one throws where any of them cannot be encoded.
 */
export function compose(typing: Typing, modes: () => Modes): readonly [() => Uint8Array, ...(() => Uint8Array)[]] {
	const { text = "", paste, submit = false, keys = [], force = false } = typing;
	if (typing.text !== undefined && paste !== undefined) {
		throw new Fault("bad_input", { problems: ["give `text` or `paste`, not both"] });
	}
	const line = () =>
		Buffer.concat([
			encodeText(text, modes()),
			...(paste === undefined ? [] : [encodePaste(paste, modes(), { force })]),
			...(submit ? [encodeKeys(["enter"], modes())] : []),
		]);
	const hasLine = text !== "" || paste !== undefined || submit;
	const presses = runsOf(keys).map((run) => () => encodeKeys(run, modes()));
	const [first = line, ...rest] = hasLine ? [line, ...presses] : presses;
	const checked = () => {
		const bytes = first();
		if (bytes.length + rest.reduce((sum, part) => sum + part().length, 0) === 0)
			throw new Fault("bad_input", { problems: ["nothing to type: give `text`, `keys`, `paste` or `submit`"] });
		return bytes;
	};
	return [checked, ...rest];
}

/** Each key by itself, but Escape twice is one thing to press: programs know it as such, within their timer. */
function runsOf(keys: readonly string[]): readonly (readonly string[])[] {
	const isEscape = (key: string | undefined) => /^esc(?:ape)?$/i.test(key ?? "");
	const runs: string[][] = [];
	for (const key of keys) {
		const last = runs.at(-1);
		if (isEscape(key) && isEscape(last?.[0])) last?.push(key);
		else runs.push([key]);
	}
	return runs;
}
