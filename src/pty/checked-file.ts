// A file of rights (tokens, policy), read again only when it has changed. One that another user
// could have written or read, or whose content is not as expected, is refused, never repaired.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";

const MAX_BYTES = 1 << 20;

export type Checked<T> = { readonly value: T } | { readonly problem: string; readonly cause: unknown };

interface Content<T> {
	/** Throws where it is not as expected. */
	parse(value: unknown): T;
	/** Where there is no file. */
	readonly absent: T;
}

export class CheckedFile<T> {
	readonly path: string;
	readonly #content: Content<T>;
	#read: Checked<T> | null = null;
	#version = "";

	constructor(path: string, content: Content<T>) {
		this.path = path;
		this.#content = content;
	}

	/** The same version gives the same result, also where it is refused. */
	read(): Checked<T> {
		const version = this.#versionNow();
		if (version === null) return { value: this.#content.absent };
		if (this.#read === null || version !== this.#version) {
			this.#read = this.#readAnew();
			this.#version = version;
		}
		return this.#read;
	}

	/** Null where there is none. */
	#versionNow(): string | null {
		try {
			const { mtimeNs, ctimeNs, ino, size } = lstatSync(this.path, { bigint: true });
			return `${ino}:${mtimeNs}:${ctimeNs}:${size}`;
		} catch (error) {
			return (error as NodeJS.ErrnoException).code === "ENOENT" ? null : String(error);
		}
	}

	#readAnew(): Checked<T> {
		try {
			return { value: this.#content.parse(JSON.parse(readPrivately(this.path))) };
		} catch (cause) {
			return { problem: `${this.path} ${problemOf(cause)}`, cause };
		}
	}
}

/** Throws where another user could have written or read the file. */
export function readPrivately(path: string): string {
	const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const { uid, mode, size } = fstatSync(fd);
		if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error("is not a regular file");
		if (uid !== process.getuid?.()) throw new Error("belongs to another user");
		if ((mode & 0o077) !== 0) throw new Error("is open to other users (chmod 600)");
		if (size > MAX_BYTES) throw new Error("is too large");
		return readFileSync(fd, "utf8");
	} finally {
		closeSync(fd);
	}
}

export function problemOf(error: unknown): string {
	if (hasIssues(error)) {
		const { path, message } = error.issues[0]!;
		return `is not as it should be (${[path.join("."), message].filter((part) => part !== "").join(": ")})`;
	}
	if (error instanceof SyntaxError) return `is not JSON (${error.message})`;
	const { code, message } = error as NodeJS.ErrnoException;
	return code === "ELOOP" ? "is a symbolic link" : code === undefined ? message : `cannot be read (${code})`;
}

/** A schema's error, of whatever library. */
function hasIssues(error: unknown): error is { issues: readonly { path: readonly PropertyKey[]; message: string }[] } {
	return error instanceof Error && Array.isArray((error as { issues?: unknown }).issues);
}
