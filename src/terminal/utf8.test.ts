import fc from "fast-check";
import { expect, test } from "vitest";
import { Utf8Decoder } from "./utf8.ts";

function decode(pieces: readonly Uint8Array[]): string {
	const decoder = new Utf8Decoder();
	let text = "";
	for (const piece of pieces) {
		const target = new Uint32Array(piece.length + 3);
		const count = decoder.decode(piece, target);
		for (let i = 0; i < count; i++) text += String.fromCodePoint(target[i]!);
	}
	return text;
}

test("any bytes, split anywhere, read as the platform's own decoder reads them", () => {
	const text = fc.string({ unit: "binary" }).map((it) => new TextEncoder().encode(it));
	const noise = fc.array(
		fc.constantFrom(0xe0, 0x80, 0xed, 0xa0, 0xf0, 0x90, 0xf4, 0x8f, 0xbf, 0xc1, 0xf8, 0xff, 0x41, 0xc3, 0xa9),
		{ maxLength: 30 },
	);
	fc.assert(
		fc.property(
			fc.oneof(
				text,
				fc.uint8Array({ maxLength: 60 }),
				noise.map((it) => Uint8Array.from(it)),
			),
			fc.array(fc.nat(7)),
			(bytes, sizes) => {
				const pieces: Uint8Array[] = [];
				for (let at = 0, i = 0; at < bytes.length; i++) {
					const end = at + 1 + (sizes[i] ?? 0);
					pieces.push(bytes.subarray(at, end));
					at = end;
				}
				// A character cut off by the end is still awaited; the platform's decoder is told to wait, too.
				const expected = new TextDecoder("utf-8", { ignoreBOM: true })
					.decode(bytes, { stream: true })
					.replaceAll("\ufeff", "");
				expect(decode(pieces)).toBe(expected);
			},
		),
		{ numRuns: 2000 },
	);
});

test("a text in Latin-1 shows that something is there", () => {
	expect(decode([Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x21)])).toBe("caf\ufffd!");
});
