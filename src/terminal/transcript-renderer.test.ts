import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Emulator } from "./emulator.ts";
import { joinRows, lineStarts } from "./rows.ts";
import type { TextKeyframe } from "./text-keyframe.ts";
import { type LineSink, type TextLine, TranscriptRenderer } from "./transcript-renderer.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** Output with a change of size between its parts. */
interface Part {
	readonly text: string;
	readonly resize?: { readonly cols: number; readonly rows: number };
}

class Lines implements LineSink {
	readonly all: string[] = [];
	line({ text }: TextLine): void {
		this.all.push(text);
	}
	notice(words: string): void {
		this.all.push(words);
	}
	lines(text: Uint8Array, count: number): void {
		const lines = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text).split("\n");
		expect(lines.pop()).toBe("");
		expect(lines).toHaveLength(count);
		this.all.push(...lines);
	}
}

const withoutEnd = (lines: readonly string[]) => {
	const kept = [...lines];
	while (kept.at(-1) === "") kept.pop();
	return kept;
};

interface How {
	readonly chunks?: (text: Uint8Array) => Uint8Array[];
	readonly drawAll?: boolean;
	/** Saves and restores it between chunks, this often at the most: each takes milliseconds. */
	readonly restarts?: number;
}

function transcript(parts: readonly Part[], { chunks = (bytes) => [bytes], drawAll = false, restarts = 0 }: How = {}) {
	const sink = new Lines();
	let left = restarts;
	let renderer = new TranscriptRenderer({ cols: 40, rows: 10, sink, drawAll });
	for (const { text, resize } of parts) {
		for (const chunk of chunks(encode(text))) {
			for (let at = 0; at < chunk.length; ) at += renderer.feed(chunk.subarray(at));
			const state: TextKeyframe | null = left > 0 ? renderer.serialize() : null;
			if (state === null) continue;
			left--;
			renderer.dispose();
			renderer = TranscriptRenderer.restore(JSON.parse(JSON.stringify(state)) as TextKeyframe, { sink, drawAll });
		}
		if (resize) renderer.resize(resize.cols, resize.rows);
	}
	const tail = renderer.tail().map(({ text }) => text);
	renderer.dispose();
	return withoutEnd([...sink.all, ...tail]);
}

/** The same in one pass, by an emulator that forgets nothing; what is cleared scrolls away first. */
function reference(parts: readonly Part[]): string[] {
	const emulator = new Emulator({ cols: 40, rows: 10, scrollback: 100_000, keepsRegionRows: true });
	const done: string[] = [];
	const used = () => {
		let row = emulator.normal.lines.length;
		while (row > 0 && emulator.normal.lines.get(row - 1)?.getTrimmedLength() === 0) row--;
		return row;
	};
	const keep = (rows: number) => {
		const grid = emulator.normal;
		const starts = lineStarts(grid).filter((start) => start < rows);
		done.push(...starts.map((start, i) => joinRows(grid, start, starts[i + 1] ?? rows)));
	};
	emulator.beforeErase = (how) => {
		if (emulator.alternate) return;
		const { x, y, ybase } = emulator.normal;
		if (how === 2 || (how === 0 && x === 0 && y === 0)) emulator.scrollAway(used() - ybase);
		else if (how === 3) keep(ybase);
	};
	emulator.beforeReset = () => keep(Math.max(used(), emulator.normal.ybase));
	for (const { text, resize } of parts) {
		emulator.open();
		emulator.write(encode(text));
		if (resize) emulator.resize(resize.cols, resize.rows);
	}
	keep(used());
	emulator.dispose();
	return withoutEnd(done);
}

const narrow = ["alpha", "b", "the quick brown fox", "x".repeat(57), "  indented", "naïve café", "✓ done", "│ ── │"];
const wide = ["漢字かな", "👍", "한국어 텍스트"];
const repeated = (times: number, text: (i: number) => string) =>
	Array.from({ length: times }, (_, i) => text(i)).join("");

/** Anything that a program may print. */
function output(words: readonly string[]): fc.Arbitrary<string> {
	const word = fc.constantFrom(...words);
	const piece = fc.oneof(
		{ weight: 6, arbitrary: word },
		fc.constantFrom("\x1b[31m", "\x1b[m", "\x1b[1;38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[K", "\x1b[0K"),
		fc.constantFrom("\t", " ", "\u00a0", "e\u0301"),
	);
	const line = fc.array(piece, { maxLength: 6 }).map((pieces) => `${pieces.join("")}\r\n`);
	const block = fc.oneof(
		{ weight: 6, arbitrary: line },
		{
			weight: 3,
			arbitrary: fc.tuple(line, fc.integer({ min: 2, max: 700 })).map(([text, times]) => text.repeat(times)),
		},
		{ weight: 3, arbitrary: fc.integer({ min: 1, max: 2000 }).map((to) => repeated(to, (i) => `line ${i}\r\n`)) },
		{ weight: 2, arbitrary: fc.integer({ min: 1, max: 30 }).map((to) => repeated(to, (i) => `\r${i} %`)) },
		// Rewrites what is on the screen.
		fc.tuple(fc.integer({ min: 1, max: 12 }), word).map(([up, text]) => `\x1b[${up}A\r\x1b[2K${text}\x1b[${up}B\r`),
		fc
			.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 14 }), word)
			.map(([x, y, text]) => `\x1b[${y};${x}H${text}`),
		fc.constantFrom("\x1b[H\x1b[2J", "\x1b[H\x1b[J", "\x1b[2J", "\x1b[H\x1b[2J\x1b[3J", "\x1b[3J", "\x1b[J", "\x1bc"),
		fc.constantFrom("\x1b[?1049h\x1b[Hfull\r\nscreen", "\x1b[?1049hX\x1b[2Jdrawn\r\n\r\n\x1b[?1049l"),
		fc.constantFrom("\x1b[2;8r\x1b[8;1H", "\x1b[1;9r\x1b[9;1H", "\x1b[r", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l"),
		fc.constantFrom(
			"\x1b(0lqqk\x1b(B",
			"\x1b[2L",
			"\x1b[2M",
			"\x1b[3S",
			"\x1b[1J",
			"\x1bM",
			"\n\n",
			"\b\b",
			// A saved cursor is restored at once: what it means after the buffer was trimmed or reflowed is up to the emulator.
			"\x1b7kept\x1b8",
			"partial",
		),
	);
	return fc.array(block, { maxLength: 8 }).map((blocks) => blocks.join(""));
}

const rows = fc.integer({ min: 3, max: 30 });
const parts = fc.oneof(
	fc.array(
		fc.record(
			{ text: output(narrow), resize: fc.record({ cols: fc.integer({ min: 10, max: 70 }), rows }) },
			{ requiredKeys: ["text"] },
		),
		{ maxLength: 4 },
	),
	// The emulator's reflow moves wide characters about, so the width stays.
	fc.array(
		fc.record(
			{ text: output([...narrow, ...wide]), resize: fc.record({ cols: fc.constant(40), rows }) },
			{ requiredKeys: ["text"] },
		),
		{ maxLength: 4 },
	),
);

const inPieces = (size: number) => (bytes: Uint8Array) =>
	Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

/** Splits at random places, also inside characters and sequences. */
const splits = fc
	.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 12 })
	.map((sizes) => (bytes: Uint8Array) => {
		const chunks: Uint8Array[] = [];
		for (let at = 0, i = 0; at < bytes.length; i++) {
			const size = sizes[i % sizes.length]!;
			chunks.push(bytes.subarray(at, at + size));
			at += size;
		}
		return chunks;
	});

// What is not finished in time is enough: a run is a dozen outputs of thousands of lines.
const seed = { numRuns: 40, interruptAfterTimeLimit: 10_000 } as const;

describe("T2 the transcript of any output", () => {
	test("is what an emulator that forgets nothing shows, however the output is split", () => {
		fc.assert(
			fc.property(parts, splits, (all, chunks) => {
				expect(transcript(all, { chunks })).toEqual(reference(all));
			}),
			seed,
		);
	});

	test("is the same whether plain lines are drawn or taken as they are", () => {
		fc.assert(
			fc.property(parts, (all) => {
				expect(transcript(all)).toEqual(transcript(all, { drawAll: true }));
			}),
			seed,
		);
	});

	test("is the same whether a line without an end, or one that ends in CR CR LF, is drawn or taken as it is", () => {
		const letters = fc.integer({ min: 1, max: 120_000 }).map((length) => {
			return repeated(Math.ceil(length / 7), (i) => `${i} abcdefg`.slice(0, 7)).slice(0, length);
		});
		const after = fc.constantFrom(
			"",
			"\r\n",
			"\rover",
			"\x1b[31m",
			"漢字",
			"\x1b[2;8r",
			"\x1b[2J",
			"\b\bx",
			"\x1b[?1049h",
		);
		const lines = fc.integer({ min: 1, max: 2000 }).map((to) => repeated(to, (i) => `line ${i}\r\r\n`));
		const text = fc
			.array(fc.tuple(fc.oneof({ weight: 3, arbitrary: letters }, lines), after), { maxLength: 4 })
			.map((pairs) => pairs.flat().join(""));
		const resize = fc.record({ cols: fc.integer({ min: 10, max: 70 }), rows });
		const all = fc.array(fc.record({ text, resize }, { requiredKeys: ["text"] }), { maxLength: 3 });
		fc.assert(
			fc.property(all, splits, fc.constantFrom(0, 3), (all, chunks, restarts) => {
				expect(transcript(all, { chunks, restarts })).toEqual(transcript(all, { drawAll: true }));
				expect(transcript(all)).toEqual(transcript(all, { drawAll: true }));
			}),
			seed,
		);
	});

	test("is the same when it is saved and restored at any place", () => {
		fc.assert(
			fc.property(parts, splits, (all, chunks) => {
				expect(transcript(all, { chunks, restarts: 20 })).toEqual(reference(all));
			}),
			seed,
		);
	});

	test("has wide characters at the edge of a terminal that does not wrap whole or not at all, however the output is split", () => {
		const of = (text: string) => {
			const all = [{ text: `\x1b[?7l\x1b[37G${text}` }];
			const whole = transcript(all);
			for (const size of [1, 2, 5]) expect(transcript(all, { chunks: inPieces(size), restarts: 9 })).toEqual(whole);
			expect(reference(all)).toEqual(whole);
			return whole.map((line) => line.trim());
		};
		expect(of("漢字")).toEqual(["漢字"]);
		expect(of("漢字x")).toEqual(["漢 x"]);
		expect(of("漢字xyz")).toEqual(["漢 z"]);
		// What does not fit overwrites nothing.
		expect(of("漢字語")).toEqual(["漢字"]);
		expect(of("漢字語語\u0301")).toEqual(["漢字\u0301"]);
		expect(of("漢字語x")).toEqual(["漢 x"]);
		expect(of("x漢字")).toEqual(["x漢"]);
		expect(of("漢字\x1b[4hx")).toEqual(["漢 x"]);
		expect(of("漢字 텍스트 한국어\r\n漢")).toEqual(["漢", "漢"]);
	});

	test("has no blanks after a long line, however many rows were trimmed before", () => {
		for (const [length, ...sizes] of [
			[292_896, 19_393, 16_353, 19_201, 11_585, 5_473],
			[298_976, 8_513, 1_921, 13_185, 3_041, 9_313],
			[290_272, 11_073, 10_881, 17_249],
		] as const) {
			const text = `${"x".repeat(length)}漢字`;
			const chunks = (bytes: Uint8Array) => {
				const pieces: Uint8Array[] = [];
				for (let at = 0; at < bytes.length; ) {
					pieces.push(bytes.subarray(at, at + sizes[pieces.length % sizes.length]!));
					at += pieces.at(-1)!.length;
				}
				return pieces;
			};
			expect(transcript([{ text }], { chunks }).join("")).toBe(text);
		}
	});

	test("has the blanks of an erased row that another continues, also after a resize", () => {
		const erased = `${"x".repeat(57)}\r\n\x1b[2A\r\x1b[2K  indented\x1b[2B\r`;
		const expected = `  indented${" ".repeat(30)}${"x".repeat(17)}`;
		for (const resize of [undefined, { cols: 11, rows: 7 }, { cols: 70, rows: 7 }])
			expect(transcript([{ text: erased, ...(resize && { resize }) }])).toEqual([expected]);
		// One that a wide character would not have fitted into is a blank, too.
		const cut = `${"x".repeat(57)}\x1b[1;40H\x1b[K\x1b[5H`;
		for (const cols of [40, 39, 11, 70])
			expect(transcript([{ text: cut, resize: { cols, rows: 7 } }])).toEqual([`${"x".repeat(39)} ${"x".repeat(17)}`]);
		// Where the rest of the line is kept apart, they are at its end.
		const scrolled = [{ text: `${"x".repeat(57)}\x1b[H\x1b[2Kalpha\x1b[10H\n\x1b[3J` }];
		expect(transcript(scrolled)).toEqual(reference(scrolled));
		expect(transcript(scrolled)[0]).toBe("alpha");
		const wrapped = `${"x".repeat(39)}漢字`;
		expect(transcript([{ text: wrapped }])).toEqual([wrapped]);
	});

	test("has the lines that scrolled by below rows that stay, and these once, where they end up", () => {
		const header = "\x1b[H\x1b[2Jheader\r\n\x1b[2;6r\x1b[2;1H";
		const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
		const text = `before\r\n${header}${lines.join("\r\n")}\x1b[r\x1b[10;1Hfooter`;
		expect(transcript([{ text }])).toEqual([
			"before",
			...lines.slice(0, 25),
			"header",
			...lines.slice(25),
			"",
			"",
			"",
			"footer",
		]);
	});

	test("has them as whole lines where they were wrapped", () => {
		const long = Array.from({ length: 12 }, (_, i) => `${i} ${"x".repeat(50 + 7 * i)}`);
		const text = `\x1b[Hheader\r\n\x1b[2;6r\x1b[2;1H${long.join("\r\n")}\r\nend`;
		const all = transcript([{ text }]);
		expect(all.slice(0, 9)).toEqual(long.slice(0, 9));
		expect(all).toContain("end");
	});

	test("has what was scrolled away without a line end", () => {
		const text = "one\r\ntwo\r\nthree\x1b[2S\x1b[H four";
		expect(transcript([{ text }])).toEqual(["one", "two", " four"]);
	});

	test("keeps a combining mark that comes after a restart", () => {
		const bytewise = (bytes: Uint8Array) => Array.from(bytes, (byte) => Uint8Array.of(byte));
		expect(transcript([{ text: "cafe\u0301\r\n漢\u0301" }], { chunks: bytewise, restarts: 99 })).toEqual([
			"cafe\u0301",
			"漢\u0301",
		]);
	});

	test("goes on where the cursor was saved, also when lines were committed since", () => {
		const all = [{ text: `${"\r\n".repeat(510)}\x1b[Halpha\x1b[?1049h` }, { text: "drawn\x1b[?1049lbeta" }];
		expect(transcript(all)).toEqual(reference(all));
		expect(transcript(all).at(-1)).toBe("alphabeta");
	});

	test("has every line of a terminal that was made narrow, however many scroll by at once", () => {
		// The bell is not plain, so each is drawn.
		const lines = (name: string) => repeated(8000, (i) => `${name} ${i}\x07\r\n`);
		const sink = new Lines();
		const renderer = new TranscriptRenderer({ cols: 1000, rows: 30, sink });
		const feed = (text: string) => {
			const bytes = encode(text);
			for (let at = 0; at < bytes.length; ) at += renderer.feed(bytes.subarray(at));
		};
		feed(`${"w".repeat(900)}\r\n`.repeat(200));
		renderer.resize(100, 30);
		renderer.resize(10, 30);
		feed(lines("n"));
		const expected = [...Array<string>(200).fill("w".repeat(900)), ...Array.from({ length: 8000 }, (_, i) => `n ${i}`)];
		renderer.resize(2, 30);
		feed("ab\r\nc");
		expect([...sink.all, ...renderer.tail().map(({ text }) => text)]).toEqual([...expected, "ab", "c"]);
		renderer.dispose();
	});
});
