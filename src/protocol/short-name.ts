// A session's name where each token counts, in the first line of every answer. Calls take the short form, too.

/** In the place of what is left out; no name has it. */
const CUT = "…";
/** A few words; a longer name costs more than all that the line has to say. */
const SHOWN_CHARS = 16;
/** So many characters of the beginning and of the end. */
const ENDS = [3, 2, 1] as const;

/** The forms of a name, the best one first: whole, or its two ends. Of `host/name`, the host stays. */
export function nameForms(name: string): readonly string[] {
	const at = name.indexOf("/") + 1;
	return formsOf(name.slice(at)).map((form) => `${name.slice(0, at)}${form}`);
}

/** Without the host that it may begin with. */
export const nameOnHost = (name: string): string => name.slice(name.indexOf("/") + 1);

const formsOf = (name: string): readonly string[] => [
	...(name.length > SHOWN_CHARS ? [] : [name]),
	...ENDS.filter((chars) => name.length > 2 * chars + 1).map(
		(chars) => `${name.slice(0, chars)}${CUT}${name.slice(-chars)}`,
	),
	...(name.length <= 2 * ENDS[2] + 1 ? [name] : []),
];

/** Whether a call may mean this name by a short form. */
export function isFormOf(form: string, name: string): boolean {
	const [head = "", tail, ...more] = form.split(CUT);
	if (tail === undefined || more.length > 0) return false;
	return name.length > head.length + tail.length && name.startsWith(head) && name.endsWith(tail);
}

const RUNS = /\d{1,3}|[a-z]+|[A-Za-z]+|./gsu;
/** Consonants and vowels as in a word, which has longer tokens than a row of letters. */
const WORD = /^(?:[^aeiou]{0,3}[aeiou]{1,3})+[^aeiou]{0,3}$/;
const RARE = /[jqxz]/;

function costOf(run: string): number {
	if (/^\d/.test(run)) return 1;
	if (/^[a-z]+$/.test(run)) return Math.ceil(run.length * (WORD.test(run) && !RARE.test(run) ? 0.5 : 0.75));
	return /^[A-Za-z]+$/.test(run) ? run.length : run.codePointAt(0)! < 0x80 || run === CUT ? 1 : 2;
}

/** About how many tokens a name has, rather too many: without a tokenizer. */
export const nameTokens = (name: string): number => name.match(RUNS)?.reduce((sum, run) => sum + costOf(run), 0) ?? 0;
