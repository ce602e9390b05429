// Access over HTTP: tokens, of which only the hashes are kept, in a file
// that only its owner can read. A revoked token is refused from the next request on.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readPrivate } from "../journal/private-file.ts";

/** What is stored of a token, never the token itself. */
export interface TokenRecord {
	readonly id: string;
	readonly name: string;
	/** sha256 in hex. Enough for 256 random bits: a slow hash protects only guessable secrets. */
	readonly hash: string;
	/** May read, but not type, start or end. */
	readonly readOnly: boolean;
	readonly createdAt: number;
}

/** About 5,000 tokens. */
const MAX_BYTES = 1 << 20;

const hashOf = (token: string) => createHash("sha256").update(token).digest();

export class Tokens {
	readonly file: string;
	#records: readonly TokenRecord[] = [];
	#readAs = "";

	constructor(file: string) {
		this.file = file;
	}

	create({ name, readOnly }: { name: string; readOnly: boolean }): { id: string; token: string } {
		const token = `dt_${randomBytes(32).toString("base64url")}`;
		const hash = hashOf(token).toString("hex");
		const id = hash.slice(0, 8);
		this.#write([...this.#read(), { id, name, hash, readOnly, createdAt: Date.now() }]);
		return { id, token };
	}

	list(): readonly TokenRecord[] {
		return this.#read();
	}

	/** Takes an id or a name; false where there is none. */
	revoke(idOrName: string): boolean {
		const records = this.#read();
		const remaining = records.filter(({ id, name }) => id !== idOrName && name !== idOrName);
		if (remaining.length === records.length) return false;
		this.#write(remaining);
		return true;
	}

	/** Whose token this is. Every record is compared, each in constant time: the timing reveals nothing. */
	verify(token: string): TokenRecord | null {
		const hash = hashOf(token);
		let found: TokenRecord | null = null;
		for (const record of this.#read()) if (timingSafeEqual(hash, Buffer.from(record.hash, "hex"))) found = record;
		return found;
	}

	/** Read again only when another process has written it. */
	#read(): readonly TokenRecord[] {
		let version: string;
		try {
			const { mtimeNs, ino, size } = statSync(this.file, { bigint: true });
			version = `${ino}:${mtimeNs}:${size}`;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			return [];
		}
		if (version !== this.#readAs) {
			this.#records = JSON.parse(readPrivate(this.file, MAX_BYTES)) as TokenRecord[];
			this.#readAs = version;
		}
		return this.#records;
	}

	#write(records: readonly TokenRecord[]): void {
		mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
		const draft = `${this.file}.${process.pid}`;
		writeFileSync(draft, `${JSON.stringify(records, null, "\t")}\n`, { mode: 0o600 });
		chmodSync(draft, 0o600); // a left-over draft keeps its old mode otherwise
		renameSync(draft, this.file);
	}
}
