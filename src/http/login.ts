// `/login?code=…`: a link that was printed for a person becomes the cookie of their browser, once.
//
// The token is made at that moment and sent in the cookie alone: nothing that was printed, and no
// history, opens the page a second time.

import type { Fault } from "../protocol/fault.ts";
import type { AccessPolicy, AccessRequest } from "./guard.ts";
import { cookiesIn, isOfOurPage } from "./guard.ts";
import { badLink, loggedIn } from "./pages.ts";
import type { TokenRecord, Tokens } from "./tokens.ts";

/** What a fragment may have as it is: a name, with the machine before it, `@` and a time. */
const FRAGMENT = /^(?=.{1,200}$)[\w.@:~-]+(?:\/[\w.@:~-]+)?$/;

interface LoginParts {
	readonly query: URLSearchParams;
	readonly policy: AccessPolicy;
	readonly tokens: Tokens;
	/** A code that is none counts like a token. */
	readonly countBad: () => { readonly fault: Fault | null };
}

export function logIn(request: AccessRequest, { query, policy, tokens, countBad }: LoginParts): Response {
	const code = query.get("code") ?? "";
	// A browser may ask for the headers of a link, or load it before it is opened: it is not used up by that.
	const link = request.method === "GET" && request.headers["sec-purpose"] === undefined ? tokens.linkOf(code) : null;
	if (link === null) return badLink(code === "" ? null : countBad().fault);
	const to = fragmentOf(query.get("to"));
	// Whoever is logged in stays who they are: a person who opens what they have shared would see nothing else from then on.
	if (isOfOurPage(request, policy) && cookiesIn(request, policy).some((one) => isPerson(policy.verify(one)))) {
		if (link.role === "admin") tokens.revoke(link.id);
		return loggedIn(to, {});
	}
	const redeemed = tokens.redeem(code);
	if (redeemed === null) return badLink(null);
	return loggedIn(to, { "set-cookie": cookieOf(policy, redeemed.token, redeemed.record) });
}

const isPerson = (token: TokenRecord | null): boolean => token?.role === "admin";

const fragmentOf = (text: string | null) => (text !== null && FRAGMENT.test(text) ? `#${text}` : "");

function cookieOf({ cookie, secure }: AccessPolicy, token: string, { expiresAt }: TokenRecord): string {
	const seconds = Math.max(1, Math.floor(((expiresAt ?? Date.now()) - Date.now()) / 1000));
	return `${cookie}=${token};${secure ? " Secure;" : ""} HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`;
}
