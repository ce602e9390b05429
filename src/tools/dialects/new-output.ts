// Output since the caller's last read, as the dialects count it: about
// four characters to a token, a visible mark where it was cut.

import { type Clean, clean } from "../../protocol/clean.ts";
import type { Session } from "../../session/session.ts";
import { fit } from "../../terminal/budget.ts";
import { fitNew, headAndTail } from "../excerpt.ts";
import { truncatedMark } from "../recall.ts";

export interface NewOutput<T extends string = string> {
	readonly text: T;
	readonly truncated: boolean;
	/** Before it was cut. */
	readonly tokens: number;
}

const CHARS_PER_TOKEN = 4;
const tokensOf = (text: string) => Math.ceil(text.length / CHARS_PER_TOKEN);

/** As a person would have seen it; advances the caller's position. */
export async function seenOutput(session: Session, owner: string, maxTokens: number): Promise<NewOutput<Clean>> {
	const budget = { maxTokens, charsPerToken: CHARS_PER_TOKEN, mark: truncatedMark };
	const { text, truncated, chars } = await fitNew(session, session.takeNew(owner), budget);
	return { text: clean(text).text, truncated, tokens: Math.ceil(chars / CHARS_PER_TOKEN) };
}

/** As it came, escapes and all (R2.8); keeps a position of its own. */
export async function rawOutput(session: Session, owner: string, maxTokens: number): Promise<NewOutput> {
	const { from, to } = session.takeRaw(owner);
	const part = await headAndTail(session.journal, from, to);
	const news = cut(new TextDecoder().decode(part.bytes), maxTokens, part.cut);
	return { ...news, tokens: Math.max(news.tokens, Math.ceil((part.cut ? to - from : 0) / 4)) };
}

export function cut(text: string, maxTokens: number, incomplete = false): NewOutput {
	const fitted = fit(text, maxTokens, { count: tokensOf, mark: (what) => truncatedMark({ what, call: {} }) });
	return { text: fitted.text, truncated: fitted.truncated || incomplete, tokens: tokensOf(text) };
}
