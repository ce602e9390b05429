// How a state file is read: as if another program had written it. It must be a regular file of a bounded size, its
// content must have the right shape, and a format that is newer than ours is left alone.
//
// What is none of that is set aside: renamed to `<file>.corrupt-<reason>`, so that it does no more harm, can be looked
// at, and is shown by `dialtone doctor`. The reason is a warning, which the daemon logs.

import { constants, readdirSync } from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasAtMostValues } from "../protocol/json-size.ts";

/** Of every state file that has one; files of 0.1.0 have none, or `version: 1`. */
export const FORMAT = 1;

const MIB = 1 << 20;
/** Well above what we write ourselves, well below what would hurt to read. */
export const MAX_BYTES = {
	record: 8 * MIB,
	exit: MIB,
	seen: 16 * MIB,
	asked: 64 * 1024,
	driver: MIB,
	keyframe: 8 * MIB,
	index: 64 * MIB,
	learnt: MIB,
	shell: MIB,
	fleet: MIB,
	transcript: 16 * MIB,
} as const;

/** A text of a few megabytes can describe an object of a gigabyte. The index is parsed line by line. */
const MAX_VALUES = 200_000;

const MARK = ".corrupt-";

/** Not what we wrote: `reason` becomes part of a file name. */
export class CorruptState extends Error {
	override readonly name = "CorruptState";
	readonly reason: string;

	constructor(reason: "not-a-file" | "too-large" | "not-json" | "bad-content", message: string, cause?: unknown) {
		super(message, { cause });
		this.reason = reason;
	}
}

/** Written by a newer version: kept for it. */
class NewerState extends Error {
	override readonly name = "NewerState";
}

export interface StateFile<T> {
	readonly path: string;
	readonly maxBytes: number;
	/** Throws a CorruptState or NewerState. */
	readonly parse: (text: string) => T;
}

/** The content; null where there is no such file. A corrupt one is set aside, and its CorruptState is thrown. */
export async function readState<T>({ path, maxBytes, parse }: StateFile<T>): Promise<T | null> {
	try {
		const text = await readBounded(path, maxBytes);
		return text === null ? null : parse(text);
	} catch (error) {
		if (error instanceof CorruptState) await setAside(path, error);
		throw error;
	}
}

/** The same for what is only a cache: whatever is wrong with it, there is none. */
export async function readCache<T>(file: StateFile<T>): Promise<T | null> {
	return readState(file).catch(() => null);
}

/** Replaces a state file: a reader or a killed daemon leaves the old one or the new one. For one writer at a time. */
export async function replaceState(path: string, text: string): Promise<void> {
	const temporary = `${path}.tmp`;
	try {
		await writeFile(temporary, text, { mode: 0o600 });
		await rename(temporary, path);
	} catch (error) {
		await rm(temporary, { force: true }).catch(() => {}); // on a disk that cannot be written it is left
		throw error;
	}
}

/** Opens a regular file without following a link or waiting for a pipe; null where there is none. */
export function openRegular(path: string): Promise<FileHandle | null> {
	return opened(path, constants.O_RDONLY);
}

/** The same for a file of our own to write to, which is made where there is none. */
export async function openOwn(path: string): Promise<FileHandle> {
	return (await opened(path, constants.O_RDWR | constants.O_CREAT))!;
}

/** The same for one to append to. */
export async function openToAppend(path: string): Promise<FileHandle> {
	return (await opened(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT))!;
}

async function opened(path: string, flags: number): Promise<FileHandle | null> {
	let file: FileHandle;
	try {
		file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if ((code === "ENOENT" || code === "ENOTDIR") && !(flags & constants.O_CREAT)) return null;
		if (code === "ELOOP" || code === "ENXIO") throw new CorruptState("not-a-file", `${path} is not a file`, error);
		throw error;
	}
	try {
		if ((await file.stat()).isFile()) return file;
		throw new CorruptState("not-a-file", `${path} is not a file`);
	} catch (error) {
		await file.close();
		throw error;
	}
}

async function readBounded(path: string, maxBytes: number): Promise<string | null> {
	const file = await openRegular(path);
	if (file === null) return null;
	try {
		const { size } = await file.stat();
		if (size > maxBytes) throw new CorruptState("too-large", `${path} has ${size} bytes, more than ${maxBytes}`);
		const content = await file.readFile();
		if (maxBytes < MAX_BYTES.index && !hasAtMostValues(content, MAX_VALUES)) {
			throw new CorruptState("too-large", `${path} has more than ${MAX_VALUES} values`);
		}
		return content.toString("utf8");
	} finally {
		await file.close();
	}
}

export async function setAside(path: string, { reason, message }: CorruptState): Promise<void> {
	process.emitWarning(`set aside ${path}: ${message}`, "StateWarning");
	await rename(path, `${path}${MARK}${reason}`).catch(() => {}); // gone already, or a disk that cannot be written
}

/** A JSON object of our format. */
export function parseJson(text: string): Readonly<Record<string, unknown>> {
	const value = parseObject(text);
	const { format, version } = value;
	const written = format ?? version ?? FORMAT;
	if (typeof written === "number" && Number.isInteger(written) && written > FORMAT) {
		throw new NewerState(`its format ${written} is newer than ${FORMAT}`);
	}
	if (written !== FORMAT) throw new CorruptState("bad-content", "its format is not a number");
	return value;
}

/** A JSON object, whatever its format. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (error) {
		throw new CorruptState("not-json", "it is not JSON", error);
	}
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		throw new CorruptState("bad-content", "it is not an object");
	}
	return value as Readonly<Record<string, unknown>>;
}

/** The checked value, or a CorruptState that names what is wrong. */
export function checked<T>(
	schema: {
		safeParse(value: unknown):
			| { readonly success: true; readonly data: T }
			| {
					readonly success: false;
					readonly error: { readonly issues: readonly { path: PropertyKey[]; message: string }[] };
			  };
	},
	value: unknown,
): T {
	const result = schema.safeParse(value);
	if (result.success) return result.data;
	const { path = [], message = "invalid" } = result.error.issues[0] ?? {};
	throw new CorruptState("bad-content", `"${path.join(".")}": ${message}`);
}

/** What was set aside in a directory of sessions: the newest findings of `dialtone doctor`. */
export function setAsideIn(sessions: string): readonly string[] {
	const list = (directory: string) => {
		try {
			return readdirSync(directory, { withFileTypes: true });
		} catch {
			return []; // no session was ever started, or it is just being removed
		}
	};
	return list(sessions).flatMap((entry) => {
		if (entry.name.includes(MARK)) return [join(sessions, entry.name)];
		if (!entry.isDirectory()) return [];
		const directory = join(sessions, entry.name);
		return list(directory)
			.filter(({ name }) => name.includes(MARK))
			.map(({ name }) => join(directory, name));
	});
}
