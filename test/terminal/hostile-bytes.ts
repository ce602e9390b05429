// Streams that nobody honest would send, made from a seed: escape sequences with odd
// parameters, cut off, nested in each other, between ordinary text and raw noise.

import fc from "fast-check";

const finals = [..."@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstu{}|~"];
const number = fc.oneof(
	fc.integer({ min: 0, max: 300 }),
	fc.constantFrom(0, 1, 2, 3, 25, 47, 1000, 1003, 1006, 1047, 1048, 1049, 2004, 2026, 65535, 2147483647, 99999999999),
);
const params = fc
	.array(
		fc.oneof(
			number.map(String),
			fc.constant(""),
			fc.array(number, { minLength: 2, maxLength: 5 }).map((n) => n.join(":")),
		),
		{ maxLength: 6 },
	)
	.map((parts) => parts.join(";"));
const csi = fc
	.tuple(
		fc.constantFrom("", "", "", "?", ">", "<", "="),
		params,
		fc.constantFrom("", "", "", " ", "!", '"', "$", "'"),
		fc.constantFrom(...finals),
	)
	.map(([prefix, middle, intermediate, final]) => `\x1b[${prefix}${middle}${intermediate}${final}`);
const text = fc.oneof(
	fc.string({ maxLength: 40 }),
	fc.string({ unit: "binary", maxLength: 20 }),
	fc.constantFrom("漢字かな交じり", "🦀✅👩‍👩‍👧", "e\u0301\u0302\u0303", "\u0301", "\u{e0041}\u202e", "x".repeat(300)),
);
const payload = fc.oneof(
	text,
	fc.constantFrom(
		"0;title",
		"8;;https://a",
		"8;;",
		"133;A",
		"4;1;?",
		"10;?",
		"7;file://h/%zz",
		"777;notify;a;b",
		"9;4;1;50",
	),
);
const strings = fc
	.tuple(
		fc.constantFrom("]", "P", "X", "^", "_", "P$q", "P+q"),
		payload,
		fc.constantFrom("\x07", "\x1b\\", "", "\x18", "\x9c"),
	)
	.map(([open, body, close]) => `\x1b${open}${body}${close}`);
const escapes = fc.constantFrom(
	"\x1b7",
	"\x1b8",
	"\x1bc",
	"\x1bD",
	"\x1bE",
	"\x1bM",
	"\x1bH",
	"\x1b#8",
	"\x1b=",
	"\x1b>",
	"\x1b(0",
	"\x1b(B",
	"\x1b%G",
	"\x1b",
	"\x1b[",
	"\x1b]",
);
const control = fc.constantFrom(
	"\r\n",
	"\n",
	"\r",
	"\b",
	"\t",
	"\x0b",
	"\x0c",
	"\x0e",
	"\x0f",
	"\x05",
	"\x7f",
	"\x84",
	"\x85",
	"\x90",
	"\x9b",
);
const piece = fc.oneof(
	{ weight: 4, arbitrary: csi },
	{ weight: 4, arbitrary: text },
	{ weight: 2, arbitrary: control },
	{ weight: 1, arbitrary: escapes },
	{ weight: 1, arbitrary: strings },
);

const utf8 = new TextEncoder();

/** A stretch of hostile output. */
export const hostileBytes = fc.oneof(
	{ weight: 9, arbitrary: fc.array(piece, { maxLength: 40 }).map((parts) => utf8.encode(parts.join(""))) },
	{ weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
);

export const size = fc.record({ cols: fc.integer({ min: 1, max: 140 }), rows: fc.integer({ min: 1, max: 60 }) });

/** What befalls a screen: output, and people who resize and look. */
export const happenings = fc.array(
	fc.oneof(
		{ weight: 6, arbitrary: hostileBytes.map((bytes) => ({ bytes }) as const) },
		{ weight: 2, arbitrary: size.map((resize) => ({ resize }) as const) },
		{ weight: 1, arbitrary: fc.constant({ look: true } as const) },
	),
	{ minLength: 1, maxLength: 12 },
);
