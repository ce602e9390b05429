// Pasted text: bracketed where the program enabled bracketed paste, so that it is taken as
// text. Nothing in it may close the bracket or press a key.

import { Fault } from "../protocol/fault.ts";
import type { Modes } from "./modes.ts";

/** The brackets themselves, in the spellings that terminals understand (7-bit and 8-bit CSI). */
const BRACKETS = /(?:\u001b\[|\u009b)20[01]~/g;
/** Every control character but tab and line ends. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export interface PasteOptions {
	/** Paste several lines even though each will be taken as typed and entered. */
	readonly force?: boolean;
}

export function encodePaste(text: string, modes: Modes, { force = false }: PasteOptions = {}): Uint8Array {
	const safe = removeBrackets(text)
		.replace(CONTROLS, "")
		.replace(/\r\n?|\n/g, "\r");
	const utf8 = new TextEncoder();
	if (modes.bracketedPaste) return utf8.encode(`\x1b[200~${safe}\x1b[201~`);
	const lines = safe.replace(/\r$/, "").split("\r").length;
	if (safe.includes("\r") && !force) throw new Fault("paste_refused", { lines });
	return utf8.encode(safe);
}

// Removing one may join the halves of another. Nested deeper than this they are an attack, which would take a pass for
// each level: what is left of them is shown as text, because the escape characters are removed in any case.
const MAX_PASSES = 8;

function removeBrackets(text: string): string {
	let rest = text;
	for (let pass = 0; pass < MAX_PASSES; pass++) {
		const before = rest;
		rest = before.replace(BRACKETS, "");
		if (rest === before) break;
	}
	return rest;
}
