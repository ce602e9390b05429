// The secrets that this process knows, in every spelling, and text without them.
//
// One list for the process: a secret that is typed in one session may be printed by another, and text
// is made in many places. With an empty list nothing is searched. What programs print is masked by their
// holders, before it is logged; here is the rest: what only a drawn screen shows in one piece, and our own words.

import { Listeners } from "./listeners.ts";

/** Shorter ones would be found in ordinary text. */
export const MIN_SECRET_CHARS = 6;
export const MAX_SECRET_CHARS = 1000;
const STAR = "*";

/** As much as a holder keeps (holder/mask.h), also where a character takes three bytes. The oldest are forgotten. */
const MAX_SPELLINGS = 256;
const MAX_CHARS = 20_000;

/** Stars behind the first half of a value that was printed slowly: fewer are not looked at. */
const STARS = STAR.repeat(3);
/** The last characters of what may have been shown of it. */
const SHOWN_CHARS = 2;

let known: readonly string[] = [];
/** Beginnings of what is known, by their last characters: the spelling, and how many of its characters. */
let beginnings: ReadonlyMap<string, readonly (readonly [spelling: string, chars: number])[]> = new Map();
const learning = new Listeners<readonly string[]>("known secrets");

export const knownSpellings = (): readonly string[] => known;
export const onLearnt = (listener: (spellings: readonly string[]) => void): (() => void) => learning.add(listener);

/** From now on these are masked. */
export function learn(spellings: readonly string[]): void {
	const news = spellings.filter((each) => each.length >= MIN_SECRET_CHARS && !known.includes(each));
	if (news.length === 0) return;
	const all = [...known, ...news].slice(-MAX_SPELLINGS);
	let chars = all.reduce((sum, { length }) => sum + length, 0);
	known = all.filter(({ length }, index) => {
		const fits = chars <= MAX_CHARS || index === all.length - 1;
		if (!fits) chars -= length;
		return fits;
	});
	beginnings = beginningsOf(known);
	learning.emit(news);
}

function beginningsOf(spellings: readonly string[]): typeof beginnings {
	const found = new Map<string, [string, number][]>();
	for (const spelling of spellings) {
		for (let chars = SHOWN_CHARS; chars <= spelling.length - STARS.length; chars++) {
			const end = spelling.slice(chars - SHOWN_CHARS, chars);
			const others = found.get(end);
			if (others === undefined) found.set(end, [[spelling, chars]]);
			else others.push([spelling, chars]);
		}
	}
	return found;
}

/** Where secrets are in a text: its first character, and the one after its last. */
export function secretsIn(text: string): readonly (readonly [from: number, to: number])[] {
	const found: [number, number][] = [];
	for (const spelling of known) {
		for (let at = text.indexOf(spelling); at >= 0; at = text.indexOf(spelling, at + 1))
			found.push([at, at + spelling.length]);
	}
	if (text.includes(STARS)) found.push(...halvesIn(text));
	return found;
}

/** Where beginnings are whose rest is stars: they had been shown when the rest was masked (docs/secrets.md). */
function* halvesIn(text: string): Generator<[number, number]> {
	for (let at = text.indexOf(STARS); at >= 0; ) {
		let end = at + STARS.length;
		while (text[end] === STAR) end++;
		for (const [spelling, chars] of beginnings.get(text.slice(Math.max(0, at - SHOWN_CHARS), at)) ?? []) {
			const isRest = spelling.length - chars <= end - at;
			if (isRest && text.startsWith(spelling.slice(0, chars), at - chars)) yield [at - chars, at];
		}
		at = text.indexOf(STARS, end);
	}
}

/** Text with a star for each character of a secret, also of one that is wrapped over several lines. */
export function masked(text: string): string {
	if (known.length === 0 || text.length < MIN_SECRET_CHARS) return text;
	const found = secretsIn(text.replaceAll("\n", ""));
	if (found.length === 0) return text;
	const isSecret = new Set<number>();
	for (const [from, to] of found) for (let at = from; at < to; at++) isSecret.add(at);
	let at = 0;
	return text.replace(/[^\n]/g, (character) => (isSecret.has(at++) ? STAR : character));
}
