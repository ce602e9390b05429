// Key names → the bytes that a terminal in these modes would send.
//
// The modes matter: arrow keys sent in the wrong one made dialog exit. Where the
// program enabled the kitty keyboard protocol, keys that the old encoding cannot
// distinguish (shift+enter, ctrl+i) get distinct sequences.

import { Fault } from "../protocol/fault.ts";
import { type Key, parseKey } from "./key-names.ts";
import { KITTY } from "./kitty-keyboard.ts";
import type { Modes } from "./modes.ts";

const utf8 = new TextEncoder();

/** One key, by name. Throws `unknown_key` for a key that does not exist or that this encoding cannot express. */
export function encodeKey(name: string, modes: Modes): Uint8Array {
	const key = parseKey(name);
	const text = modes.kittyKeyboard > 0 ? kitty(key, modes.kittyKeyboard) : legacy(key, modes);
	if (text === null) throw new Fault("unknown_key", { key: name, nearest: [] });
	return utf8.encode(text);
}

/** Several keys, all of them or, if one is unknown, none. */
export function encodeKeys(names: readonly string[], modes: Modes): Uint8Array {
	const parts = names.map((name) => encodeKey(name, modes));
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.length;
	}
	return bytes;
}

/** Text as typed: a line end is the Enter key. */
export function encodeText(text: string, modes: Modes): Uint8Array {
	const typed = text.replace(/\r\n?|\n/g, "\r");
	if ((modes.kittyKeyboard & KITTY.allKeys) === 0) return utf8.encode(typed);
	const named: Record<string, string> = { "\r": "enter", "\t": "tab", "\x1b": "esc", "\x7f": "backspace" };
	const held = { shift: false, alt: false, ctrl: false, super: false };
	return utf8.encode(
		[...typed].map((char) => kitty({ name: named[char] ?? char, ...held }, modes.kittyKeyboard)).join(""),
	);
}

/** Keys whose sequence ends in a letter, and those with a number and a tilde. */
const LETTERED: Record<string, string> = {
	up: "A",
	down: "B",
	right: "C",
	left: "D",
	home: "H",
	end: "F",
	f1: "P",
	f2: "Q",
	f3: "R",
	f4: "S",
};
const NUMBERED: Record<string, number> = {
	insert: 2,
	delete: 3,
	pageup: 5,
	pagedown: 6,
	...Object.fromEntries(
		[15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34].map((n, i) => [`f${i + 5}`, n]),
	),
};
const PLAIN: Record<string, string> = { enter: "\r", tab: "\t", esc: "\x1b", space: " ", backspace: "\x7f" };

/** Shifted symbols on the US keyboard, which most programs assume. */
const SHIFTED = new Map("1!2@3#4$5%6^7&8*9(0)-_=+[{]}\\|;:'\",<.>/?`~".match(/../g)!.map((pair) => [pair[0], pair[1]]));
const shifted = (char: string) => SHIFTED.get(char) ?? char.toUpperCase();

/** Ctrl with a character, where there is a byte for it. */
const CONTROL = new Map([
	..."abcdefghijklmnopqrstuvwxyz".split("").map((char, i) => [char, i + 1] as const),
	...(["@", "2", "space"] as const).map((char) => [char, 0] as const),
	...["[3", "\\4", "]5", "^6", "_7/-"].flatMap((chars, i) => [...chars].map((char) => [char, 27 + i] as const)),
	["?", 127],
	["8", 127],
]);

const modifierOf = (key: Key) => 1 + (key.shift ? 1 : 0) + (key.alt ? 2 : 0) + (key.ctrl ? 4 : 0) + (key.super ? 8 : 0);

function legacy(key: Key, modes: Modes): string | null {
	if (key.super) return null;
	const modifier = modifierOf(key);
	const letter = LETTERED[key.name];
	if (letter) {
		if (modifier > 1) return `\x1b[1;${modifier}${letter}`;
		return key.name.startsWith("f") || modes.applicationCursor ? `\x1bO${letter}` : `\x1b[${letter}`;
	}
	const number = NUMBERED[key.name];
	if (number) return modifier > 1 ? `\x1b[${number};${modifier}~` : `\x1b[${number}~`;
	const meta = key.alt ? "\x1b" : "";
	if (key.name === "tab" && key.shift) return `${meta}\x1b[Z`;
	if (key.name === "backspace" && key.ctrl) return `${meta}\x08`;
	if (key.ctrl && (key.name === "space" || PLAIN[key.name] === undefined)) {
		const code = CONTROL.get(key.name);
		return code === undefined ? null : meta + String.fromCharCode(code);
	}
	return meta + (PLAIN[key.name] ?? (key.shift ? shifted(key.name) : key.name));
}

const KITTY_CODES: Record<string, number> = {
	enter: 13,
	tab: 9,
	esc: 27,
	space: 32,
	backspace: 127,
	// F13 and later have codes of their own in this protocol.
	...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i + 13}`, 57376 + i])),
};

function kitty(key: Key, flags: number): string | null {
	const modifier = modifierOf(key);
	const all = (flags & KITTY.allKeys) !== 0;
	const named = KITTY_CODES[key.name];
	// F3 would be CSI R, which is also the answer to "where is the cursor".
	const number = key.name === "f3" ? 13 : named === undefined ? NUMBERED[key.name] : undefined;
	if (number) return `\x1b[${number}${modifier > 1 ? `;${modifier}` : ""}~`;
	const letter = LETTERED[key.name];
	if (letter) return modifier > 1 ? `\x1b[1;${modifier}${letter}` : `\x1b[${letter}`;
	if (!all && !key.ctrl && !key.alt && !key.super) {
		// Text stays text, and Enter, Tab and Backspace stay what they were, so that `reset` can be typed after a crash.
		if (named === undefined) return key.shift ? shifted(key.name) : key.name;
		if (key.name === "space" || (PLAIN[key.name] && key.name !== "esc" && !key.shift)) return PLAIN[key.name]!;
	}
	// The code is that of the key without Shift; a capital letter means that Shift is held.
	const base = named === undefined ? key.name.toLowerCase() : key.name;
	const shift = key.shift || base !== key.name;
	const held = modifierOf({ ...key, shift });
	const text = named === undefined ? (shift ? shifted(base) : base) : key.name === "space" ? " " : "";
	const alternate = flags & KITTY.alternates && shift && text !== "" ? `:${text.codePointAt(0)}` : "";
	const carriesText = all && flags & KITTY.text && text !== "" && !key.ctrl && !key.alt && !key.super;
	const tail = carriesText ? `;${held > 1 ? held : ""};${text.codePointAt(0)}` : held > 1 ? `;${held}` : "";
	return `\x1b[${named ?? base.codePointAt(0)}${alternate}${tail}u`;
}
