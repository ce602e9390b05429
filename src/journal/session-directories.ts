// The directory of all sessions: made, listed, taken out and cleaned. What is in a
// record is in records.ts.

import { lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** Makes a session's directory, which only its owner may enter. */
export async function makeSessionDirectory(sessions: string, id: string): Promise<string> {
	const directory = join(sessions, id);
	await mkdir(sessions, { recursive: true, mode: 0o700 });
	await mkdir(directory, { mode: 0o700 });
	return directory;
}

/** What may be session directories: all names but those of our own files beside them. */
export async function sessionIds(sessions: string): Promise<readonly string[]> {
	const names = await readdir(sessions).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return []; // no session was ever started here
		throw error;
	});
	return names.filter((name) => !name.includes("."));
}

/** True unless nothing of it can have run: a start that was cut off before its record has at most temporary files and those of a shell. */
export async function hasTraces(directory: string): Promise<boolean> {
	const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
		throw error;
	});
	return names.some((name) => name !== "shell" && !name.endsWith(".tmp"));
}

/** Under this name are the files of a session that was removed, until they are deleted. */
const REMOVED = ".removed";

/** Takes a session out of the directory of all, in one step; its files are still there. */
export async function takeOut(directory: string): Promise<void> {
	await rename(directory, directory + REMOVED).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error; // removed by another hand
	});
}

/** Deletes the files of a session that was taken out. */
export const deleteFiles = (directory: string): Promise<void> =>
	rm(directory + REMOVED, { recursive: true, force: true, maxRetries: 3 });

/** What was taken out and is not deleted yet, as session directories. */
export async function takenOut(sessions: string): Promise<readonly string[]> {
	const names = await readdir(sessions);
	return names.filter((name) => name.endsWith(REMOVED)).map((name) => join(sessions, name.slice(0, -REMOVED.length)));
}

/** Ours; the holder's are its own until it is gone. */
const TEMPORARY = /^(?:meta\.json\.[0-9a-f]+|meta\.copy\.json|seen\.json|asked\.json|keyframe\.json|text\.json)\.tmp$/;
const HOLDERS_TEMPORARY = /^exit(?:\.closed)?\.tmp$/;
/** Longer than any write takes. */
const TEMPORARY_MS = 60_000;

/** Deletes what a killed daemon left half written; `ended`: its holder, too. */
export async function deleteTemporaries(directory: string, { ended }: { readonly ended: boolean }): Promise<void> {
	for (const name of await readdir(directory)) {
		if (!TEMPORARY.test(name) && !(ended && HOLDERS_TEMPORARY.test(name))) continue;
		const path = join(directory, name);
		if ((await lstat(path)).mtimeMs < Date.now() - TEMPORARY_MS) await rm(path);
	}
}
