// A link that shows one session to one browser, until it ends.

import type { Tokens } from "./tokens.ts";

export interface Shared {
	readonly id: string;
	readonly name: string;
	readonly minutes: number;
	/** Where we listen. */
	readonly url: string;
}

/** `id`: of the link, to revoke it. */
export function sharedLink(
	tokens: Tokens,
	{ id: session, name, minutes, url }: Shared,
): { readonly id: string; readonly link: string; readonly expiresAt: number } {
	const until = Date.now() + Math.round(minutes * 60_000);
	const { id, code, expiresAt } = tokens.createLink({
		role: "view",
		name: `share:${name}`,
		session,
		expiresAt: until,
	});
	return { id, link: `${url}/login?code=${code}&to=${encodeURIComponent(name)}`, expiresAt };
}
