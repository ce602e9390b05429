// Changes of the files of rights, told to the audit log: whoever makes them, and also while no daemon runs.
// What was there when it was last looked at is in `noticed.json`.

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AUDIT_DIRECTORY, readRegular, replaceFile } from "../journal/audit-chain.ts";
import { type Checked, CheckedFile } from "../pty/checked-file.ts";
import { POLICY_FILE } from "../session/policy.ts";
import type { AuditTrail } from "./audit-trail.ts";

const NOTICED_FILE = "noticed.json";
const TOKENS_FILE = "tokens.json";

const token = z.object({
	id: z.string(),
	name: z.string(),
	role: z.string().default("agent"),
	session: z.string().nullable().default(null),
	/** One that was not opened yet. */
	link: z.boolean().default(false),
	expiresAt: z.number().nullable().default(null),
});
type KnownToken = z.infer<typeof token>;

const known = z.object({ policy: z.string(), tokens: z.array(token) });
type Known = z.infer<typeof known>;

const NONE = "none";

export class Noticed {
	readonly #path: string;
	readonly #audit: AuditTrail;
	readonly #policy: CheckedFile<string>;
	readonly #tokens: CheckedFile<readonly KnownToken[]>;
	#known: Known;
	#seen: { policy: unknown; tokens: unknown } = { policy: null, tokens: null };

	constructor(state: string, audit: AuditTrail) {
		this.#path = join(state, AUDIT_DIRECTORY, NOTICED_FILE);
		this.#audit = audit;
		const hash = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
		this.#policy = new CheckedFile(join(state, POLICY_FILE), { parse: hash, absent: NONE });
		this.#tokens = new CheckedFile(join(state, TOKENS_FILE), { parse: (all) => z.array(token).parse(all), absent: [] });
		this.#known = knownIn(this.#path);
	}

	/** Costs two lookups of a file's time where nothing has changed. */
	look(): void {
		const [policy, tokens] = [this.#policy.read(), this.#tokens.read()];
		const seen = { policy: contentOf(policy), tokens: contentOf(tokens) };
		if (seen.policy === this.#seen.policy && seen.tokens === this.#seen.tokens) return;
		this.#seen = seen;
		const before = this.#known;
		const now = {
			policy: "value" in policy ? policy.value : "invalid",
			// While they cannot be read, nothing says that they were revoked.
			tokens: "value" in tokens ? [...tokens.value] : before.tokens,
		};
		if (now.policy !== before.policy) this.#audit.noticed("policy", { was: before.policy, now: now.policy });
		const isIn = (all: readonly KnownToken[], one: KnownToken) => all.some(({ id }) => id === one.id);
		for (const one of now.tokens.filter((one) => !isIn(before.tokens, one))) this.#tell(madeAs(one), one);
		for (const one of before.tokens.filter((one) => !isIn(now.tokens, one))) this.#tell(endedAs(one), one);
		this.#known = now;
		try {
			mkdirSync(join(this.#path, ".."), { recursive: true, mode: 0o700 });
			replaceFile(this.#path, JSON.stringify(now));
		} catch {
			// The disk is full, which the log tells itself; the next daemon notices these changes once more.
		}
	}

	#tell(what: string, { id, name, role, session, expiresAt }: KnownToken): void {
		this.#audit.noticed("token", { what, token: name, id, role, ...(session && { session }), expiresAt });
	}
}

const contentOf = <T>(read: Checked<T>): unknown => ("value" in read ? read.value : read.cause);

const madeAs = ({ link, role, session }: KnownToken): string => {
	if (link) return session === null ? "login link" : "shared link";
	return role === "person" || role === "viewer" ? "login" : "created";
};

const endedAs = ({ link, expiresAt }: KnownToken): string => {
	if (expiresAt !== null && expiresAt <= Date.now()) return "expired";
	return link ? "link used" : "revoked";
};

function knownIn(path: string): Known {
	try {
		return known.parse(JSON.parse(readRegular(path)));
	} catch {
		return { policy: NONE, tokens: [] }; // the first daemon of this home, or a damaged file: all is told anew
	}
}
