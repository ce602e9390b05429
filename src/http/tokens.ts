// Access over HTTP: tokens, of which only the hashes are kept, in a file
// that only its owner can read. A revoked token is refused from the next request on.
//
// A token is its id: names are labels and may repeat. A login link is kept beside them: a code
// that is exchanged for a token once. Both may have an end. A file that is not as we write it is
// refused, never repaired or overwritten.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
	closeSync,
	constants,
	fchmodSync,
	fsyncSync,
	mkdirSync,
	openSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { CheckedFile } from "../pty/checked-file.ts";
import type { Scope } from "../session/scope.ts";
import { ROLES, type Role } from "../tools/client.ts";
import { withFileLock } from "./file-lock.ts";

const MAX_NAME_CHARS = 100;

/** Long enough to change to the browser, short enough that a link in an old terminal is of no use. */
const LOGIN_MS = 10 * 60_000;
/** How long a browser stays logged in: renewed by nothing, so a forgotten one ends. */
const PERSON_MS = 30 * 24 * 3_600_000;

/** Logged in at a time: who logs in with a new profile each day must not fill the file. */
const MAX_BROWSERS = 50;

const common = {
	id: z.string().regex(/^[0-9a-f]{8,64}$/),
	name: z.string().max(MAX_NAME_CHARS),
	/** sha256 in hex. Enough for 256 random bits: a slow hash protects only guessable secrets. */
	hash: z.string().regex(/^[0-9a-f]{64}$/),
	createdAt: z.number(),
	/** Milliseconds since 1970; null: it does not end. */
	expiresAt: z.number().nullable().default(null),
	/** A login link: its code is exchanged for a token like this, and is none itself. */
	link: z.boolean().default(false),
};

const text = z.string().min(1).max(1000);
const record = z.strictObject({
	...common,
	role: z.enum(ROLES),
	/** Null: it is limited to nothing. */
	scope: z
		.union([z.strictObject({ session: text }), z.strictObject({ owner: text }), z.strictObject({ parent: text })])
		.nullable()
		.default(null),
	/** It is the cookie of a browser, or becomes one. */
	browser: z.boolean().default(false),
});

/** As older versions wrote them: `agent` called tools, `person` was a browser, `viewer` one that saw one session. */
const older = z
	.strictObject({
		...common,
		readOnly: z.boolean(),
		role: z.enum(["agent", "person", "viewer"]).default("agent"),
		session: z.string().nullable().default(null),
	})
	.transform(({ readOnly, role, session, ...same }) => ({
		...same,
		role:
			readOnly || role === "viewer" ? ("view" as const) : role === "person" ? ("admin" as const) : ("drive" as const),
		// A viewer without a session saw none.
		scope: session === null && role !== "viewer" ? null : { session: session ?? "-" },
		browser: role !== "agent",
	}));

/** What is left out of the file. */
const DEFAULTS = { expiresAt: null, scope: null, link: false, browser: false } as const;

/** What is stored of a token, never the token itself. */
export type TokenRecord = Readonly<z.infer<typeof record>>;

export interface NewToken {
	readonly name: string;
	readonly role: Role;
	readonly scope?: Scope | null;
	readonly expiresAt?: number | null;
}

/** A link for a person, or for one who sees one session until then. */
export type NewLink =
	| { readonly role: "admin" }
	| { readonly role: "view"; readonly name: string; readonly session: string; readonly expiresAt: number };

const tokenFile = z
	.array(z.union([record, older]))
	.refine((all) => new Set(all.map(({ id }) => id)).size === all.length, "two tokens have the same id");

const hashOf = (token: string) => createHash("sha256").update(token).digest();

export class Tokens {
	readonly file: string;
	readonly #stored: CheckedFile<readonly TokenRecord[]>;
	/** Why the current version of the file is refused. */
	#problem: Fault | null = null;

	constructor(file: string) {
		this.file = file;
		this.#stored = new CheckedFile(file, { parse: (value) => tokenFile.parse(value), absent: [] });
	}

	create(wanted: NewToken): { id: string; token: string } {
		if (wanted.name.length > MAX_NAME_CHARS)
			throw new Fault("bad_input", { problems: [`a token's name has at most ${MAX_NAME_CHARS} characters`] });
		return this.#change((records) => {
			const { secret, record } = made(records, newToken, { ...DEFAULTS, ...wanted });
			return [[...records, record], { id: record.id, token: secret }];
		});
	}

	/** A code that `redeem` takes once. One to view is good for as long as what it shows. */
	createLink(wanted: NewLink): { id: string; code: string; expiresAt: number } {
		const { role } = wanted;
		const expiresAt = role === "view" ? wanted.expiresAt : Date.now() + LOGIN_MS;
		const of =
			role === "view"
				? { name: wanted.name.slice(0, MAX_NAME_CHARS), scope: { session: wanted.session } }
				: { name: "person", scope: null };
		const fields = { ...of, role, browser: true, link: true };
		return this.#change((records) => {
			const { secret, record } = made(records, newCode, { ...fields, expiresAt });
			return [[...records, record], { id: record.id, code: secret, expiresAt }];
		});
	}

	/** Whose link this is, while it can be used. */
	linkOf(code: string): TokenRecord | null {
		return findSecret(this.list(), code, true);
	}

	/** Exchanges a code for a token, in one write: of two who try, one gets it. Null where it is no code, or not any more. */
	redeem(code: string): { readonly token: string; readonly record: TokenRecord } | null {
		if (this.linkOf(code) === null) return null; // strangers do not make us wait for the lock
		return this.#change((records) => {
			const link = findSecret(records, code, true);
			if (link === null) return [records, null];
			const { id: _, hash: __, createdAt: ___, ...fields } = link;
			const expiresAt = link.role === "admin" ? Date.now() + PERSON_MS : link.expiresAt;
			const { secret: token, record } = made(records, newToken, { ...fields, expiresAt, link: false });
			const people = records.filter((one) => one.role === "admin" && one.browser && !one.link);
			const oldest = link.role === "admin" ? people.slice(0, Math.max(0, people.length + 1 - MAX_BROWSERS)) : [];
			const rest = records.filter((one) => one !== link && !oldest.includes(one));
			return [[...rest, record], { token, record }];
		});
	}

	/** Tokens and unused links that have not expired. */
	list(): readonly TokenRecord[] {
		return this.#read().filter(isCurrent);
	}

	/** Removes what has expired from the file. */
	prune(): void {
		if (this.#read().some((one) => !isCurrent(one))) this.#change((records) => [records, undefined]);
	}

	/** Takes an id, or a name that one or more tokens have; returns the ids of those it revoked. */
	revoke(idOrName: string): readonly string[] {
		return this.#change((records) => {
			const exact = records.filter(({ id }) => id === idOrName);
			const revoked = exact.length > 0 ? exact : records.filter(({ name }) => name === idOrName);
			return [records.filter((one) => !revoked.includes(one)), revoked.map(({ id }) => id)];
		});
	}

	/** Whose token this is. */
	verify(token: string): TokenRecord | null {
		return findSecret(this.list(), token, false);
	}

	/** Reads, changes and writes the file while no other process does; what has expired is removed with it. */
	#change<T>(change: (records: readonly TokenRecord[]) => readonly [readonly TokenRecord[], T]): T {
		mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
		return withFileLock(`${this.file}.lock`, () => {
			const before = this.#read();
			const [after, result] = change(before.filter(isCurrent));
			if (after.length !== before.length || after.some((one, at) => one !== before[at])) this.#write(after);
			return result;
		});
	}

	/** The same version of the file is refused with the same fault. */
	#read(): readonly TokenRecord[] {
		const read = this.#stored.read();
		if ("value" in read) return read.value;
		if (this.#problem?.cause !== read.cause)
			this.#problem = new Fault("tokens_invalid", { problem: read.problem }, { cause: read.cause });
		throw this.#problem!;
	}

	/** Under the lock, so the draft is ours alone: what is there was left by a process that died. */
	#write(records: readonly TokenRecord[]): void {
		const draft = `${this.file}.draft`;
		rmSync(draft, { force: true });
		const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
		try {
			fchmodSync(fd, 0o600); // whatever the umask is
			writeFileSync(fd, `${JSON.stringify(records.map(withoutDefaults), null, "\t")}\n`);
			fsyncSync(fd); // a crash must not revive a revoked token
		} finally {
			closeSync(fd);
		}
		renameSync(draft, this.file);
	}
}

const newToken = () => `dt_${randomBytes(32).toString("base64url")}`;
/** Short enough to be copied from a terminal; it is good for minutes. */
const newCode = () => randomBytes(16).toString("hex");

const isCurrent = ({ expiresAt }: TokenRecord): boolean => expiresAt === null || expiresAt > Date.now();

/** Every record is compared, each in constant time: the timing reveals nothing. */
function findSecret(records: readonly TokenRecord[], secret: string, link: boolean): TokenRecord | null {
	const hash = hashOf(secret);
	let found: TokenRecord | null = null;
	for (const one of records) if (timingSafeEqual(hash, Buffer.from(one.hash, "hex")) && one.link === link) found = one;
	return found;
}

/** A new secret, and its record with an id that none of the others has. */
function made(
	records: readonly TokenRecord[],
	secretOf: () => string,
	fields: Omit<TokenRecord, "id" | "hash" | "createdAt">,
): { readonly secret: string; readonly record: TokenRecord } {
	for (;;) {
		const secret = secretOf();
		const hash = hashOf(secret).toString("hex");
		const id = hash.slice(0, 8);
		if (!records.some((one) => one.id === id))
			return { secret, record: { id, hash, createdAt: Date.now(), ...fields } };
	}
}

const withoutDefaults = (one: TokenRecord) =>
	Object.fromEntries(Object.entries(one).filter(([key, value]) => DEFAULTS[key as keyof typeof DEFAULTS] !== value));
