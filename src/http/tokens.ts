// Access over HTTP: tokens, of which only the hashes are kept, in a file
// that only its owner can read. A revoked token is refused from the next request on.
//
// A token is its id: names are labels and may repeat. A file that is not as we write it is
// refused, never repaired or overwritten.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
	closeSync,
	constants,
	fchmodSync,
	fstatSync,
	fsyncSync,
	lstatSync,
	mkdirSync,
	openSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { withFileLock } from "./file-lock.ts";

const MAX_NAME_CHARS = 100;
const MAX_FILE_BYTES = 1 << 20;

const record = z.strictObject({
	id: z.string().regex(/^[0-9a-f]{8,64}$/),
	name: z.string().max(MAX_NAME_CHARS),
	/** sha256 in hex. Enough for 256 random bits: a slow hash protects only guessable secrets. */
	hash: z.string().regex(/^[0-9a-f]{64}$/),
	/** May read, but not type, start or end. */
	readOnly: z.boolean(),
	createdAt: z.number(),
});

/** What is stored of a token, never the token itself. */
export type TokenRecord = Readonly<z.infer<typeof record>>;

const tokenFile = z
	.array(record)
	.refine((all) => new Set(all.map(({ id }) => id)).size === all.length, "two tokens have the same id");

const hashOf = (token: string) => createHash("sha256").update(token).digest();

export class Tokens {
	readonly file: string;
	#records: readonly TokenRecord[] = [];
	/** Why the current version of the file is refused. */
	#problem: Fault | null = null;
	#readAs = "";

	constructor(file: string) {
		this.file = file;
	}

	create({ name, readOnly }: { name: string; readOnly: boolean }): { id: string; token: string } {
		if (name.length > MAX_NAME_CHARS)
			throw new Fault("bad_input", { problems: [`a token's name has at most ${MAX_NAME_CHARS} characters`] });
		return this.#change((records) => {
			for (;;) {
				const token = `dt_${randomBytes(32).toString("base64url")}`;
				const hash = hashOf(token).toString("hex");
				const id = hash.slice(0, 8);
				if (records.some((one) => one.id === id)) continue;
				return [[...records, { id, name, hash, readOnly, createdAt: Date.now() }], { id, token }];
			}
		});
	}

	list(): readonly TokenRecord[] {
		return this.#read();
	}

	/** Takes an id, or a name that one or more tokens have; returns the ids of those it revoked. */
	revoke(idOrName: string): readonly string[] {
		return this.#change((records) => {
			const exact = records.filter(({ id }) => id === idOrName);
			const revoked = exact.length > 0 ? exact : records.filter(({ name }) => name === idOrName);
			return [records.filter((one) => !revoked.includes(one)), revoked.map(({ id }) => id)];
		});
	}

	/** Whose token this is. Every record is compared, each in constant time: the timing reveals nothing. */
	verify(token: string): TokenRecord | null {
		const hash = hashOf(token);
		let found: TokenRecord | null = null;
		for (const record of this.#read()) if (timingSafeEqual(hash, Buffer.from(record.hash, "hex"))) found = record;
		return found;
	}

	/** Reads, changes and writes the file while no other process does. */
	#change<T>(change: (records: readonly TokenRecord[]) => readonly [readonly TokenRecord[], T]): T {
		mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
		return withFileLock(`${this.file}.lock`, () => {
			const before = this.#read();
			const [after, result] = change(before);
			if (after.length !== before.length) this.#write(after);
			return result;
		});
	}

	/** Read again only when another process has written it. The same version is refused with the same fault. */
	#read(): readonly TokenRecord[] {
		let version: string;
		try {
			const { mtimeNs, ctimeNs, ino, size } = lstatSync(this.file, { bigint: true });
			version = `${ino}:${mtimeNs}:${ctimeNs}:${size}`;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
			version = String(error);
		}
		if (version !== this.#readAs) {
			this.#problem = null;
			try {
				this.#records = readChecked(this.file);
			} catch (error) {
				this.#problem = new Fault("tokens_invalid", { problem: `${this.file} ${problemOf(error)}` }, { cause: error });
			}
			this.#readAs = version;
		}
		if (this.#problem !== null) throw this.#problem;
		return this.#records;
	}

	/** Under the lock, so the draft is ours alone: what is there was left by a process that died. */
	#write(records: readonly TokenRecord[]): void {
		const draft = `${this.file}.draft`;
		rmSync(draft, { force: true });
		const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
		try {
			fchmodSync(fd, 0o600); // whatever the umask is
			writeFileSync(fd, `${JSON.stringify(records, null, "\t")}\n`);
			fsyncSync(fd); // a crash must not revive a revoked token
		} finally {
			closeSync(fd);
		}
		renameSync(draft, this.file);
	}
}

/** Throws where another user could have written or read the file, and where its content is not ours. */
function readChecked(file: string): readonly TokenRecord[] {
	const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const { uid, mode, size } = fstatSync(fd);
		if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error("is not a regular file");
		if (uid !== process.getuid?.()) throw new Error("belongs to another user");
		if ((mode & 0o077) !== 0) throw new Error("is open to other users (chmod 600)");
		if (size > MAX_FILE_BYTES) throw new Error("is too large");
		return tokenFile.parse(JSON.parse(readFileSync(fd, "utf8")));
	} finally {
		closeSync(fd);
	}
}

function problemOf(error: unknown): string {
	if (error instanceof z.ZodError) {
		const { path, message } = error.issues[0]!;
		return `is not a list of tokens (${[...path, message].join(": ")})`;
	}
	if (error instanceof SyntaxError) return `is not JSON (${error.message})`;
	const { code, message } = error as NodeJS.ErrnoException;
	return code === "ELOOP" ? "is a symbolic link" : code === undefined ? message : `cannot be read (${code})`;
}
