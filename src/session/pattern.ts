// Looking for a caller's text or pattern without letting it stop the daemon:
// V8 needs 54 s for /(a+)+$/ on 29 characters, so every match runs with a limit.

import { createContext, Script } from "node:vm";
import { Fault } from "../protocol/fault.ts";

// 64 KiB of new text and 512 characters of pattern bound an honest match to well below a millisecond.
const WINDOW = 64 * 1024;
const MAX_PATTERN_LENGTH = 512;
const MATCH_LIMIT_MS = 50;
const MOST_TRIES = 5;

const context = createContext(Object.create(null));
const script = new Script("expression.test(text)");

/** Whether the text holds it. */
export type Matcher = (text: string) => boolean;

/** A matcher for a literal text. */
export function literal(text: string): Matcher {
	return (candidate) => candidate.includes(text);
}

/** A matcher for a regular expression; a catastrophic one is a fault, told within 100 ms. */
export function expression(pattern: string): Matcher {
	if (pattern.length > MAX_PATTERN_LENGTH) {
		throw new Fault("bad_pattern", {
			pattern: `${pattern.slice(0, 40)}…`,
			problem: `it is longer than ${MAX_PATTERN_LENGTH} characters`,
		});
	}
	let compiled: RegExp;
	try {
		compiled = new RegExp(pattern, "m");
	} catch (cause) {
		throw new Fault("bad_pattern", { pattern, problem: (cause as Error).message }, { cause });
	}
	return (candidate) => {
		Object.assign(context, { expression: compiled, text: candidate.slice(-WINDOW) });
		for (let tries = 1; ; tries++) {
			const before = process.cpuUsage();
			try {
				return script.runInContext(context, { timeout: MATCH_LIMIT_MS }) === true;
			} catch (cause) {
				// The limit is by the clock: on a busy machine an honest match may only have waited for its turn.
				const { user, system } = process.cpuUsage(before);
				if ((user + system) / 1000 < MATCH_LIMIT_MS / 2 && tries < MOST_TRIES) continue;
				throw new Fault("bad_pattern", { pattern, problem: `it took longer than ${MATCH_LIMIT_MS} ms` }, { cause });
			}
		}
	};
}

/** New text as it grows, bounded: the window that patterns are tried on. */
export class NewText {
	readonly #typed: string;
	#text = "";

	/** The echo of what was typed is not an answer, so its first appearance does not count. */
	constructor(typed = "") {
		this.#typed = typed.trim();
	}

	add(text: string): void {
		this.#text = (this.#text + text).slice(-WINDOW);
	}

	get text(): string {
		return this.withoutEcho(this.#text);
	}

	withoutEcho(text: string): string {
		const typed = this.#typed;
		if (typed === "") return text;
		if (text.includes(typed)) return text.replace(typed, () => "");
		// Half of the echo is not an answer either.
		for (let length = typed.length - 1; length > 0; length--) {
			if (text.endsWith(typed.slice(0, length))) return text.slice(0, -length);
		}
		return text;
	}
}
