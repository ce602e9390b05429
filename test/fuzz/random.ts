// Chance from a seed, and what it does to bytes and JSON values.

export class Random {
	#state: number;

	constructor(seed: number) {
		this.#state = seed >>> 0;
		for (let i = 0; i < 4; i++) this.#next(); // neighbouring seeds must not begin alike
	}

	/** mulberry32: 32 bits of state are enough to tell cases apart. */
	#next(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return (mixed ^ (mixed >>> 14)) >>> 0;
	}

	/** From 0 to `below` - 1. */
	int(below: number): number {
		return below <= 1 ? 0 : this.#next() % below;
	}

	chance(share: number): boolean {
		return this.#next() / 2 ** 32 < share;
	}

	pick<T>(from: readonly T[]): T {
		return from[this.int(from.length)]!;
	}

	bytes(length: number): Buffer {
		return Buffer.from(Array.from({ length }, () => this.int(256)));
	}
}

type Json = unknown;

const NASTY: readonly (() => Json)[] = [
	...[null, true, false, 0, -0, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 64],
	...["", " ", "\0", "\n", "\u202e\u{e0041}", "\ud800", "../../etc/passwd", "/", "%00", "__proto__", "constructor"],
	...["toString", "[object Object]", "NaN", "1e999", "-1", "0x10", "é".repeat(300), "\x1b[2J\x1b]0;x\x07"],
].map((value) => () => value);
const BIG: readonly (() => Json)[] = [
	() => "x".repeat(5000),
	() => "\n".repeat(100_000),
	() => Array.from({ length: 2000 }, (_, i) => i),
	() => Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i])),
	() => nested(500, []),
	() => nested(500, {}),
];

function nested(depth: number, kind: [] | object): Json {
	let value: Json = 1;
	for (let i = 0; i < depth; i++) value = Array.isArray(kind) ? [value] : { a: value };
	return value;
}

export function nasty(random: Random): Json {
	const kind = random.int(20);
	if (kind === 0) return random.pick(BIG)();
	if (kind < 3)
		return random.pick<Json>([
			[],
			{},
			[[]],
			[null],
			{ a: {} },
			JSON.parse('{"then":1}'),
			{ toString: 1 },
			{ length: -1 },
		]);
	return random.pick(NASTY)();
}

/** A nasty text, for a name or a part of an address. */
export function nastyText(random: Random): string {
	const value = nasty(random);
	return typeof value === "string" ? value.slice(0, 300) : (JSON.stringify(value) ?? "").slice(0, 100);
}

/** The value with one to three of its parts changed; what it was made of stays as it was. */
export function mutateJson(value: Json, random: Random): Json {
	let changed = value;
	for (let i = 0; i <= random.int(3); i++) changed = changePart(changed, random);
	return changed;
}

function changePart(value: Json, random: Random): Json {
	if (typeof value !== "object" || value === null || random.chance(0.1)) return changeLeaf(value, random);
	const entries: [string, Json][] = Object.entries(value);
	const at = random.int(entries.length);
	const [key, part] = entries[at] ?? ["x", nasty(random)];
	switch (random.int(8)) {
		case 0:
			entries.splice(at, 1);
			break;
		case 1:
			entries.splice(at, 1, [nastyText(random), part]);
			break;
		case 2:
			entries.push([random.pick(["__proto__", "constructor", "extra", "then", key]), nasty(random)]);
			break;
		default:
			entries.splice(at, 1, [key, changePart(part, random)]);
	}
	if (Array.isArray(value)) return entries.map(([, item]) => item);
	// A literal, or "__proto__" would set the prototype instead of a field.
	return Object.fromEntries(entries);
}

function changeLeaf(value: Json, random: Random): Json {
	if (random.chance(0.6)) return nasty(random);
	if (typeof value === "number") return random.pick([value + 1, -value, value * 2 ** random.int(60), String(value)]);
	if (typeof value === "string") return mutateBytes(Buffer.from(value), random).toString("utf8");
	return [value];
}

/** The bytes with one to four changes: flips, cuts, repetitions, noise. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
	let changed: Buffer = Buffer.from(bytes);
	for (let i = 0; i <= random.int(4); i++) {
		const at = random.int(changed.length + 1);
		const length = random.int(Math.min(64, changed.length - at + 1));
		const [before, part, after] = [
			changed.subarray(0, at),
			changed.subarray(at, at + length),
			changed.subarray(at + length),
		];
		switch (random.int(7)) {
			case 0:
				if (at < changed.length) changed[at]! ^= 1 << random.int(8);
				break;
			case 1:
				changed = Buffer.concat([before, after]);
				break;
			case 2:
				changed = Buffer.concat([before, ...Array.from({ length: 1 + random.int(20) }, () => part), after]);
				break;
			case 3:
				changed = Buffer.concat([before, random.bytes(length), after]);
				break;
			case 4:
				changed = Buffer.concat([before, Buffer.from(nastyText(random)), after]);
				break;
			case 5:
				changed = Buffer.concat([after, before]);
				break;
			default:
				if (random.chance(0.3)) changed = Buffer.from(before);
		}
	}
	return changed;
}
