// Key names: one name each, the spellings that people and other tools use, and the
// nearest names for an unknown one.

import { Fault } from "../protocol/fault.ts";
import { distance } from "../protocol/nearest.ts";
import { own } from "../protocol/own.ts";

export interface Key {
	/** A name from `NAMED`, or one character. */
	readonly name: string;
	readonly shift: boolean;
	readonly alt: boolean;
	readonly ctrl: boolean;
	/** The logo key; only the kitty protocol can encode it. */
	readonly super: boolean;
}

const FUNCTION_KEYS = Array.from({ length: 20 }, (_, i) => `f${i + 1}`);

/** Every key that is not a character. */
export const NAMED: readonly string[] = [
	..."enter tab esc space backspace delete insert home end pageup pagedown up down left right".split(" "),
	...FUNCTION_KEYS,
];

const SPELLINGS: Record<string, string> = {
	return: "enter",
	cr: "enter",
	newline: "enter",
	escape: "esc",
	spc: "space",
	spacebar: "space",
	bs: "backspace",
	bspace: "backspace",
	del: "delete",
	dc: "delete",
	ins: "insert",
	ic: "insert",
	pgup: "pageup",
	ppage: "pageup",
	page_up: "pageup",
	"page-up": "pageup",
	prior: "pageup",
	pgdn: "pagedown",
	pgdown: "pagedown",
	npage: "pagedown",
	page_down: "pagedown",
	"page-down": "pagedown",
	next: "pagedown",
	arrowup: "up",
	arrowdown: "down",
	arrowleft: "left",
	arrowright: "right",
	plus: "+",
	minus: "-",
};

/** What a keyboard sends for these, for callers that write the bytes instead of the name. */
const SENT: ReadonlyMap<string, string> = new Map([
	["\n", "enter"],
	["\r", "enter"],
	["\r\n", "enter"],
	["\\n", "enter"],
	["\\r", "enter"],
	["\t", "tab"],
	["\\t", "tab"],
	["\x1b", "esc"],
	["\\e", "esc"],
	["\b", "backspace"],
	["\x7f", "backspace"],
	["\x1b[A", "up"],
	["\x1b[B", "down"],
	["\x1b[C", "right"],
	["\x1b[D", "left"],
	["\x1b[H", "home"],
	["\x1b[F", "end"],
	["\x1b[3~", "delete"],
	["\x1b[5~", "pageup"],
	["\x1b[6~", "pagedown"],
]);

const MODIFIERS: Record<string, "shift" | "alt" | "ctrl" | "super"> = {
	shift: "shift",
	s: "shift",
	alt: "alt",
	meta: "alt",
	option: "alt",
	opt: "alt",
	m: "alt",
	a: "alt",
	ctrl: "ctrl",
	control: "ctrl",
	ctl: "ctrl",
	c: "ctrl",
	super: "super",
	cmd: "super",
	command: "super",
	win: "super",
};

/** `ctrl+alt+x`, `C-M-x`, `^X`, `Up`, `x`, or the byte that a key sends → a key; anything else is refused with the nearest names. */
export function parseKey(name: string): Key {
	const held = { shift: false, alt: false, ctrl: false, super: false };
	// A caret before one character is Ctrl; the caret alone is itself.
	const caret = /^\^(.)$/u.exec(name);
	if (caret) return { name: lower(caret[1]!), ...held, ctrl: true };
	const letter = /^[\x01-\x1a]$/.test(name) && !SENT.has(name);
	if (letter) return { name: String.fromCharCode(name.charCodeAt(0) + 96), ...held, ctrl: true };
	let rest = SENT.get(name) ?? name.replace(/^(?:<(.{2,})>|\{(.{2,})\})$/, "$1$2");
	for (;;) {
		const match = /^([a-z]+)[+-](?=.)/i.exec(rest);
		const modifier = match && own(MODIFIERS, match[1]!.toLowerCase());
		if (!match || !modifier) break;
		held[modifier] = true;
		rest = rest.slice(match[0].length);
	}
	const key = nameOf(rest);
	if (key === "btab" || key === "backtab") return { ...held, name: "tab", shift: true };
	if (key === undefined) throw new Fault("unknown_key", { key: name, nearest: nearest(rest, name) });
	// Ctrl ignores case; Shift makes upper case.
	if ([...key].length === 1 && (held.ctrl || held.alt) && held.shift) return { name: lower(key), ...held };
	return { name: held.ctrl ? lower(key) : key, ...held };
}

/** With all its modifiers the longest has less. */
const MAX_NAME_CHARS = 64;

/** Whether there is such a key, by any of its names. */
export function isKey(name: string): boolean {
	if (name.length > MAX_NAME_CHARS) return false; // without looking through a megabyte of text
	try {
		parseKey(name);
		return true;
	} catch {
		return false; // the fault for it belongs to whoever presses it
	}
}

const lower = (text: string) => text.toLowerCase();

function nameOf(spelling: string): string | undefined {
	if ([...spelling].length === 1) return spelling === " " ? "space" : /\p{Cc}/u.test(spelling) ? undefined : spelling;
	const name = lower(spelling).replace(/^(?:<(.*)>|\{(.*)\})$/, "$1$2");
	if (name === "btab" || name === "backtab") return name;
	const known = own(SPELLINGS, name) ?? name;
	return NAMED.includes(known) || known === "+" || known === "-" ? known : undefined;
}

/** The names closest in spelling, with the modifiers that were meant. */
function nearest(rest: string, whole: string): string[] {
	// The code of a character is close to many a name by its length alone.
	if (/^\d+$/.test(rest)) return [];
	const prefix = whole.slice(0, whole.length - rest.length);
	const wanted = lower(rest);
	return [...NAMED, ...Object.keys(SPELLINGS)]
		.map((spelling) => ({ name: SPELLINGS[spelling] ?? spelling, distance: distance(wanted, spelling), spelling }))
		.filter(({ distance, spelling }) => distance <= Math.max(1, Math.floor(spelling.length / 3)))
		.sort((a, b) => a.distance - b.distance)
		.map(({ name }) => prefix + name)
		.filter((name, i, all) => all.indexOf(name) === i)
		.slice(0, 3);
}
