// What each token is used for at the moment: requests and streams. They count against
// the token's limit and end when it is revoked or expires: a change of the file is an event.

import { type FSWatcher, unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";
import { guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import type { TokenRecord, Tokens } from "./tokens.ts";

/** A request or stream in progress. */
export interface TokenUse {
	/** Ends it, in words where that is possible: its token was revoked. */
	end: () => void;
	done(): void;
}

// Where the kernel has no watch left, the file is polled instead.
const POLL_EVERY_MS = 500;
// The most that a timer takes is 24 days.
const MAX_TIMER_MS = 24 * 3_600_000;

export const revoked = () => new Fault("not_allowed", { what: "This request (its token was revoked, or has expired)" });

export class TokenUses {
	readonly #tokens: Tokens;
	readonly #limit: number;
	readonly #onChange: (isValid: (tokenId: string) => boolean) => void;
	readonly #open = new Map<string, Set<TokenUse>>();
	readonly #unwatch: () => void;
	#expiry: NodeJS.Timeout | null = null;

	constructor(
		tokens: Tokens,
		{ limit, onChange }: { limit: number; onChange: (isValid: (tokenId: string) => boolean) => void },
	) {
		this.#tokens = tokens;
		this.#limit = limit;
		this.#onChange = onChange;
		this.#unwatch = onFileChange(
			tokens.file,
			guarded("tokens changed", () => this.#endRevoked()),
		);
		guarded("tokens opened", () => this.#awaitExpiry())();
	}

	/** Throws when the token has too many already. */
	begin(token: TokenRecord, end: () => void): TokenUse {
		const uses = this.#open.get(token.id) ?? new Set();
		if (uses.size >= this.#limit)
			throw new Fault("too_many_requests", { what: `${this.#limit} requests and streams of this token` });
		this.#open.set(token.id, uses);
		const use: TokenUse = {
			end,
			done: () => {
				uses.delete(use);
				if (uses.size === 0 && this.#open.get(token.id) === uses) this.#open.delete(token.id);
			},
		};
		uses.add(use);
		return use;
	}

	close(): void {
		this.#unwatch();
		if (this.#expiry !== null) clearTimeout(this.#expiry);
	}

	/** While the file cannot be read, what is open stays open: nothing says that it was revoked. */
	#endRevoked(): void {
		const valid = new Set(this.#tokens.list().map(({ id }) => id));
		const isValid = (id: string) => valid.has(id);
		for (const [id, uses] of [...this.#open]) if (!isValid(id)) for (const use of [...uses]) use.end();
		this.#onChange(isValid);
		this.#awaitExpiry();
	}

	/** What expires ends like what is revoked. */
	#awaitExpiry(): void {
		if (this.#expiry !== null) clearTimeout(this.#expiry);
		const next = Math.min(...this.#tokens.list().map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY));
		if (next === Number.POSITIVE_INFINITY) return;
		const expired = guarded("tokens expired", () => {
			this.#tokens.prune();
			this.#endRevoked();
		});
		this.#expiry = setTimeout(expired, Math.min(MAX_TIMER_MS, Math.max(0, next - Date.now()) + 1)).unref();
	}
}

/** The file is replaced, not written to, so its directory is watched. */
function onFileChange(file: string, changed: () => void): () => void {
	const poll = () => {
		watchFile(file, { interval: POLL_EVERY_MS, persistent: false }, changed);
	};
	let watcher: FSWatcher | null = null;
	try {
		watcher = watch(dirname(file), { persistent: false }, (_, name) => {
			if (name === null || name === basename(file)) changed();
		});
		watcher.on("error", () => {
			watcher?.close();
			poll();
		});
	} catch {
		poll(); // no watches left, or no directory yet
	}
	return () => {
		watcher?.close();
		unwatchFile(file, changed);
	};
}
