// Lists of sessions, within what an answer has room for.

import { z } from "zod";
import { limits } from "../../session/options.ts";
import { estimateTokens } from "../../terminal/budget.ts";

/** In the facts of an answer. */
export const leftOut = z
	.exactOptional(z.int().min(1))
	.describe("How many more there are that are not listed; of a list of cards, on the last one");

/** The same of a list, where some are not shown. */
export const leftOutOf = (all: readonly object[], shown: readonly object[]): { readonly left_out?: number } =>
	shown.length < all.length ? { left_out: all.length - shown.length } : {};

/** As many cards as an answer has room for, the first ones, and at least one. */
export function cardsWithin<C extends object>(cards: readonly C[]): readonly C[] {
	let tokens = 0;
	const most = cards.findIndex((card, at) => {
		tokens += estimateTokens(JSON.stringify(card));
		return tokens > limits.answerTokens && at > 0;
	});
	return most < 0 ? cards : cards.slice(0, most);
}
