// All sessions of a list. In a fleet an answer has a part of them, and says in `next` where the next one begins.

import { type ListFacts, noticesIn } from "../protocol/answer.ts";
import type { InputOf } from "./catalogue.ts";
import type { Answer, CallOptions, Client } from "./client.ts";

/** Asks for page after page; the text is that of the first one. */
export async function listAll(
	client: Pick<Client, "call">,
	input: InputOf<"list"> = {},
	options?: CallOptions,
): Promise<Answer<ListFacts>> {
	const first = await client.call("list", input, options);
	const { next, ...facts } = first.facts;
	const pages: ListFacts[] = [first.facts];
	for (let after = next; after !== undefined; after = pages.at(-1)!.next)
		pages.push((await client.call("list", { ...input, after }, options)).facts);
	const notices = [...new Set(pages.flatMap(noticesIn))];
	const sessions = pages.flatMap((page) => page.sessions);
	return { ...first, facts: { ...facts, sessions, ...(notices.length > 0 && { notices }) } };
}
